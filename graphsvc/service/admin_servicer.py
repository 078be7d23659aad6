"""AdminService: imports, what the cluster is, and how lists are stored."""

from graphsvc import __version__
from graphsvc.graph.follows import Follows
from graphsvc.graph.import_columns import ImportColumns
from graphsvc.graph.inspections import Inspections
from graphsvc.graph.instances import InstanceAccess, Instances, gather_calls
from graphsvc.model.errors import GraphError, InvalidArgument, NotOffered, Reason
from graphsvc.model.ids import SHARDS
from graphsvc.model.topology import ClusterSettings
from graphsvc.runtime.deadline import Deadline
from graphsvc.service.wire import errors_to_wire, inspection_to_wire
from graphsvc.v1 import admin_service_pb2 as pb

_KINDS = pb.BatchImportEdgesRequest.Kind


class AdminServicer:
    """The calls that are offered; each raises what the data plane raises."""

    def __init__(
        self,
        follows: Follows,
        inspections: Inspections,
        instances: Instances,
        cluster: ClusterSettings,
        max_followed_users: int,
    ) -> None:
        self._follows = follows
        self._inspections = inspections
        self._instances = instances
        self._cluster = cluster
        self._max_followed_users = max_followed_users

    async def BatchImportEdges(
        self, request: pb.BatchImportEdgesRequest, _: Deadline
    ) -> pb.BatchImportEdgesResponse:
        """See admin_service.proto, as for all of these."""
        _check_kind(request)
        columns = ImportColumns(request.follower_ids, request.target_ids, request.followed_at_us)
        imported = await self._follows.import_edges(columns)
        return pb.BatchImportEdgesResponse(
            changed=imported.changed,
            errors=errors_to_wire(imported.errors),
            inverse_pending=imported.inverse_pending,
        )

    async def GetClusterInfo(
        self, _: pb.GetClusterInfoRequest, deadline: Deadline
    ) -> pb.GetClusterInfoResponse:
        """Placement, limits, versions, the map, and which primaries answer."""
        accesses = self._instances.all()
        pings = await gather_calls(access.read(lambda lists: lists.ping(), deadline) for access in accesses)
        codes = self._cluster.type_codes
        return pb.GetClusterInfoResponse(
            cluster=self._cluster.cluster,
            cluster_id=self._cluster.id,
            placement=self._cluster.placement,
            shards=SHARDS,
            map_version=self._instances.topology.version,
            server_version=__version__,
            instances=[
                _instance(access, reachable=not isinstance(ping, GraphError))
                for access, ping in zip(accesses, pings, strict=True)
            ],
            max_followed_users=self._max_followed_users,
            object_types=[pb.ObjectType(name=name, code=code) for name, code in codes],
        )

    async def InspectUser(self, request: pb.InspectUserRequest, deadline: Deadline) -> pb.InspectUserResponse:
        """Both lists of a user."""
        found = await self._inspections.of_user(request.user_id, deadline, check=request.check)
        return pb.InspectUserResponse(
            shard=found.shard, instance=found.instance, lists=map(inspection_to_wire, found.lists)
        )


def _check_kind(request: pb.BatchImportEdgesRequest) -> None:
    if request.kind in (_KINDS.KIND_FOLLOW_BOARD, _KINDS.KIND_UNFOLLOW_BOARD):
        raise NotOffered("boards are not offered yet; import follows of users (KIND_FOLLOW_USER)")
    if request.kind != _KINDS.KIND_FOLLOW_USER:
        raise InvalidArgument(
            "kind", Reason.VALUE_UNKNOWN, f"{request.kind} is not a Kind; use KIND_FOLLOW_USER"
        )
    if request.owner_ids:
        raise InvalidArgument(
            "owner_ids", Reason.LENGTHS_DIFFER, "belongs to boards; leave it empty for users"
        )


def _instance(access: InstanceAccess, *, reachable: bool) -> pb.Instance:
    instance = access.instance
    return pb.Instance(
        name=instance.name,
        first_shard=instance.first_shard,
        last_shard=instance.last_shard,
        primary=str(instance.primary or ""),
        replicas=map(str, instance.replicas),
        in_sync=[str(member.node) for member in instance.in_sync],
        epoch=instance.epoch,
        reachable=reachable,
    )
