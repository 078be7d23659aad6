"""Where an id lives in a cluster that can be asked; the part of `graphsvc id show` that needs a service."""

from dataclasses import dataclass

from graphsvc.cli.exits import exit_of
from graphsvc.cli.options import MapIds
from graphsvc.cli.session import open_session, type_code
from graphsvc.client.errors import CallError
from graphsvc.model.errors import InvalidArgument
from graphsvc.model.ids import TypeCodes
from graphsvc.model.placement import PlacementName, placement_of
from graphsvc.v1 import admin_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class IdAndHome:
    """An id, and what a cluster says about where it lives."""

    object_id: int
    home: dict[str, object]
    """cluster, placement and instance; or the problem."""

    @classmethod
    def find(cls, text: str, target: str, timeout_s: float, map_ids: MapIds | None) -> "IdAndHome":
        """Read an id and ask a service for its instance.

        Raises:
            InvalidArgument: the text is no id.
            CallError: --map-ids needs the cluster's type codes, and no service answers.
        """
        with open_session(target, timeout_s, map_ids) as session:
            object_id = session.ids.read(text, "id")
            try:
                return cls(object_id, home_of(object_id, session.cluster))
            except CallError as error:
                return cls(object_id, {"problem": exit_of(error)[1]})


def home_of(object_id: int, cluster: pb.GetClusterInfoResponse) -> dict[str, object]:
    """The instance that everything about a user lives on; None for what is no user's id in this cluster."""
    codes = TypeCodes(user=type_code(cluster, "user"))
    placement = placement_of(PlacementName(cluster.placement), codes)
    home: dict[str, object] = {"cluster": cluster.cluster, "placement": cluster.placement}
    try:
        shard = placement.user_shard(object_id, "id")
    except InvalidArgument as error:
        return home | {"instance": None, "problem": error.problem}
    instances = (each for each in cluster.instances if each.first_shard <= shard <= each.last_shard)
    return home | {"instance": next(each.name for each in instances)}
