"""Real nodes for tests: where their programs are, how they are claimed, which topology they make."""

import asyncio
import shutil
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from graphsvc.backends.redis.identity import IDENTITY_DATABASE, IDENTITY_KEY, identity_record
from graphsvc.backends.redis.node_config import LOCK_FILE
from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.backends.redis.server_binary import embedded_binary
from graphsvc.cli.dev.plan import INSTANCES
from graphsvc.model.ids import SHARDS
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Instance, Node, Topology

FAMILIES = ("valkey", "redis")
"""Every family is tested: the embedded Valkey and the machine's redis-server."""


def server_binary(family: str) -> Path:
    """The server program of a family; a missing one fails the test, it never skips it."""
    if family == "valkey":
        return embedded_binary()
    found = shutil.which("redis-server")
    assert found, "redis-server is not in PATH: install it (Debian: apt-get install redis-server)"
    return Path(found)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def start_nodes(family: str, folder: Path, count: int = 2) -> list[NodeProcess]:
    """Start nodes in folders of their own under `folder`; unclaimed."""
    binary = server_binary(family)
    return [await NodeProcess.start(binary, folder / f"node-{i}", free_port()) for i in range(count)]


def kill_nodes_under(folder: Path) -> None:
    """End at once whatever node still runs on a folder anywhere below, whoever started it."""
    ends = time.monotonic() + 10
    for lock in folder.rglob(LOCK_FILE):
        while (node := NodeProcess._holder(lock.parent)) is not None:
            node.kill()  # in vain while it has just begun and its process id is not known
            time.sleep(0.01)
            assert time.monotonic() < ends, f"the node on {lock.parent} cannot be ended"


async def until(condition: Callable[[], Awaitable[bool]], timeout_s: float = 30.0) -> None:
    """Return once the condition holds; fail if it never does."""
    async with asyncio.timeout(timeout_s):
        while not await condition():
            await asyncio.sleep(0.02)


def cluster_of(family: str, placement: PlacementName = PlacementName.ID) -> ClusterSettings:
    """A test cluster's settings."""
    return ClusterSettings(cluster="test", id="c" * 32, placement=placement, family=family)


async def claim(node: Node, cluster: ClusterSettings, instance: str) -> None:
    """Write the identity record into a node that has none; fails where another stands."""
    record = identity_record(cluster, instance)
    async with admin_client(node) as client:
        claimed = await client.set(IDENTITY_KEY, record, nx=True)
        assert IDENTITY_DATABASE == 0
        assert claimed or await client.get(IDENTITY_KEY) == record


async def claim_all(nodes: Sequence[NodeProcess], cluster: ClusterSettings) -> None:
    """Claim the nodes of `two_instance_topology`."""
    for node, instance in zip(nodes, INSTANCES, strict=True):
        await claim(node.node, cluster, instance)


async def empty_and_claim_all(nodes: Sequence[NodeProcess], cluster: ClusterSettings) -> None:
    """Remove everything from these nodes and claim them again."""
    for node in nodes:
        async with admin_client(node.node) as client:
            await client.flushall()
    await claim_all(nodes, cluster)


def two_instance_topology(nodes: Sequence[NodeProcess | Node]) -> Topology:
    """The map of `graphsvc dev`: instance-0 has the lower half of the shards, instance-1 the upper."""
    first, second = (each.node if isinstance(each, NodeProcess) else each for each in nodes)
    middle = SHARDS // 2
    return Topology(
        version=1,
        instances=(
            Instance(name=INSTANCES[0], first_shard=0, last_shard=middle - 1, primary=first),
            Instance(name=INSTANCES[1], first_shard=middle, last_shard=SHARDS - 1, primary=second),
        ),
    )
