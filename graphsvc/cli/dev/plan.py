"""What `graphsvc dev` does with what it finds on disk and on ports: decisions only, no I/O."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pydantic import ValidationError

from graphsvc.backends.redis.identity import identity_problem, read_identity, settings_problem
from graphsvc.backends.redis.node_config import AOF_FOLDER
from graphsvc.backends.redis.server_binary import ServerBinary
from graphsvc.model.ids import SHARDS
from graphsvc.model.topology import ClusterSettings, Instance, Node, Topology, TypeCodesRecord
from graphsvc.runtime.settings import ClusterChoices

INSTANCES = ("instance-0", "instance-1")
"""Their names, and those of their folders; each serves an equal part of the shards, in this order."""

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
SETTLED_S = 30.0
"""A node that lived so long is started again at once when it ends."""

_UNREADABLE_AOF = re.compile(r"Bad file format reading the append only file (\S+?):")


class Refused(Exception):
    """`graphsvc dev` cannot serve as it was asked to; the message says why and what to do."""


class Start(Enum):
    """How an instance's node comes to be."""

    ADOPT = "take over the node that still runs on the instance's folder"
    AS_RECORDED = "start one on the port that the map names"
    ELSEWHERE = "start one on a free port: the map names none, or a stranger has it"


class Claim(Enum):
    """What the identity record of a node asks for."""

    NOTHING = "it is this cluster's"
    WRITE = "the cluster is just being created, and the node holds nothing"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a node was found to hold."""

    record: bytes | None
    """Its identity record."""
    keys: int
    """Keys in all databases but for that record."""


def wanted_cluster(choices: ClusterChoices, family: str, new_id: str) -> ClusterSettings:
    """What a new cluster would store, and an old one must have stored, but for its id.

    Raises:
        Refused: two type codes are the same.
    """
    try:
        codes = TypeCodesRecord(pin=choices.pin_type, board=choices.board_type, user=choices.user_type)
    except ValidationError as error:
        raise Refused(
            "cluster.pin_type, cluster.board_type and cluster.user_type must differ from each other"
        ) from error
    return ClusterSettings(
        cluster=choices.name,
        id=new_id,
        placement=choices.placement,
        type_codes=codes,
        family=family,
    )


def check_choices(stored: ClusterSettings, wanted: ClusterSettings) -> None:
    """Hold what is asked for against what the cluster chose when it was created.

    Raises:
        Refused: they differ; names every difference.
    """
    problem = settings_problem(stored.model_copy(update={"id": wanted.id}), wanted)
    if problem:
        raise Refused(
            f"the graph stored here was created with other choices: {problem}. They hold for ever, and a "
            "server family cannot read another's files: start it as it was created, or begin a new graph "
            "with another --data"
        )


def claimed_cluster(contents: Sequence[Contents], wanted: ClusterSettings) -> ClusterSettings:
    """The cluster whose map is missing: the one that claimed these nodes, or the wanted one where none did.

    A node claimed for another one makes the wanted one, which `claims` then refuses or claims it for.
    """
    records = [read_identity(each.record) for each in contents if each.record is not None]
    clusters = [record.cluster if record else None for record in records]
    first = clusters[0] if clusters else None
    if first is None or any(other != first for other in clusters):
        return wanted
    return first if first.model_copy(update={"id": wanted.id}) == wanted else wanted


def check_map(stored: Topology) -> None:
    """Refuse a map that is not one of `graphsvc dev`.

    Raises:
        Refused: its instances or their ranges are others.
    """
    if tuple((each.name, each.first_shard, each.last_shard) for each in stored.instances) != _ranges():
        names = ", ".join(each.name for each in stored.instances)
        raise Refused(
            f"the map stored here is not one of graphsvc dev, which serves {' and '.join(INSTANCES)} "
            f"with half of the shards each: it names {names}. Use another --data"
        )


def how_to_start(*, still_runs: bool, recorded: bool, recorded_port_free: bool) -> Start:
    """How an instance's node comes to be.

    Args:
        still_runs: a node runs on the instance's folder (wherever it listens).
        recorded: the map names a port.
        recorded_port_free: nobody listens there.
    """
    if still_runs:
        return Start.ADOPT
    return Start.AS_RECORDED if recorded and recorded_port_free else Start.ELSEWHERE


def claims(created: bool, contents: Sequence[Contents], cluster: ClusterSettings) -> list[Claim]:
    """What to do about each instance's identity record, before any is served.

    A cluster is created by writing its map, after all its nodes were claimed. So a start that was
    interrupted earlier leaves nodes without keys and no map, and is simply done again; but where there
    is a map, or any key, a node without the record has lost what it held.

    Args:
        created: there is a map.
        contents: of each instance's node, in the order of INSTANCES.

    Raises:
        Refused: a node is not the cluster's, or lost its data; names it.
    """
    served = created or any(each.keys for each in contents)
    return [claim_of(name, served, each, cluster) for name, each in zip(INSTANCES, contents, strict=True)]


def claim_of(name: str, served: bool, found: Contents, cluster: ClusterSettings) -> Claim:
    """The same for one instance; `served`: the cluster was created before, and may have served.

    Raises:
        Refused: its node is not the cluster's, or lost its data.
    """
    problem = identity_problem(found.record, cluster, name)
    if problem is None:
        return Claim.NOTHING
    if not served:
        return Claim.WRITE
    if found.record is None and not found.keys:
        raise Refused(
            f"{name} came up empty, but this cluster was created before: its data is gone. Put the folder "
            f"{name} back from a copy, or remove the whole --data folder to begin an empty graph"
        )
    record = read_identity(found.record) if found.record is not None else None
    if record is not None and record.cluster == cluster:
        raise Refused(f"{name}'s folder holds {record.instance}'s data: put the folders back in their places")
    raise Refused(
        f"{name} holds data that is not this cluster's: {problem}. Start it as it was created, "
        "or use another --data"
    )


def repair_advice(log: str, folder: Path, binary: ServerBinary) -> str | None:
    """What to do about a node that ended with this log, where its file of writes cannot be read; else None.

    The server program is the tool as well, wherever it is called by the tool's name.
    """
    unreadable = _UNREADABLE_AOF.search(log)
    if unreadable is None:
        return None
    if ".incr." not in unreadable[1]:
        return f"{unreadable[1]} itself is damaged, which no tool mends: put {folder} back from a copy"
    tool = folder / f"{binary.family}-check-aof"
    link = shlex.join(["ln", "-sf", str(binary.path), str(tool)])
    # The file by its name: over the manifest, the tool of Valkey 9 stops at a base file of its own server.
    check = shlex.join([str(tool), "--fix", str(folder / AOF_FOLDER / unreadable[1])])
    return (
        f"To cut off what cannot be read at the end of {unreadable[1]}, copy {folder}, then run this, "
        f"look at how much it would cut, and answer y:\n{link} && {check}"
    )


def next_map(stored: Topology | None, nodes: Sequence[Node]) -> Topology | None:
    """The map to store now that the instances' nodes are these; None if the stored one says so already."""
    if stored is None:
        return Topology(
            version=1,
            instances=tuple(
                Instance(name=name, first_shard=first, last_shard=last, primary=node)
                for (name, first, last), node in zip(_ranges(), nodes, strict=True)
            ),
        )
    instances = tuple(
        instance
        if instance.primary == node
        else instance.model_copy(update={"primary": node, "epoch": instance.epoch + 1})
        for instance, node in zip(stored.instances, nodes, strict=True)
    )
    if instances == stored.instances:
        return None
    return Topology(version=stored.version + 1, instances=instances)


def pause_before_restart_s(last_pause_s: float, lived_s: float) -> float:
    """Seconds to wait before a node that ended after `lived_s` is started again: longer each time."""
    if lived_s >= SETTLED_S or not last_pause_s:
        return FIRST_PAUSE_S
    return min(LONGEST_PAUSE_S, 2 * last_pause_s)


def _ranges() -> tuple[tuple[str, int, int], ...]:
    share = SHARDS // len(INSTANCES)
    return tuple((name, i * share, (i + 1) * share - 1) for i, name in enumerate(INSTANCES))
