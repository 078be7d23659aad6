"""Wiring: which driver stands behind which Protocol, and the order in which things start and stop."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

import structlog

from graphsvc.backends.coordinator import Coordinator, CoordinatorDamaged
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.graph.follows import Follows
from graphsvc.graph.inspections import Inspections
from graphsvc.graph.instances import Instances
from graphsvc.graph.queries import Queries
from graphsvc.model.placement import placement_of
from graphsvc.model.topology import Node
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import Settings
from graphsvc.service.admin_servicer import AdminServicer
from graphsvc.service.follower_graph_servicer import FollowerGraphServicer
from graphsvc.service.server import Server

MAP_RETRY_S = 5.0

log = structlog.get_logger()


class NoCluster(Exception):
    """The coordinator knows no cluster yet."""


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that answers on `host:port`, with metrics on `metrics_port`."""

    host: str
    port: int
    metrics_port: int
    _started: AsyncExitStack

    @property
    def target(self) -> str:
        """Where clients reach it."""
        return str(Node(host=self.host, port=self.port))

    async def stop(self) -> None:
        """Let calls in flight finish, then close everything, the last started first."""
        await self._started.aclose()


async def start_service(settings: Settings, coordinator: Coordinator, metrics: Metrics) -> RunningService:
    """Start the service of the cluster that the coordinator knows; it follows changes of the map.

    Raises:
        NoCluster: the coordinator knows none.
        PortTaken: the gRPC address cannot be listened on.
        OSError: the metrics port cannot be listened on.
    """
    cluster, topology = await coordinator.settings(), await coordinator.topology()
    if cluster is None or topology is None:
        raise NoCluster("the coordinator knows no cluster; create one first")
    placement = placement_of(cluster.placement, cluster.type_codes.codes())
    instances = Instances(
        topology,
        lambda instance: PackedEdgeLists(instance, cluster, settings.redis, metrics),
        read_timeout_s=settings.redis.read_timeout_ms / 1_000,
        write_timeout_s=settings.redis.write_timeout_ms / 1_000,
    )
    limit = settings.limits.max_followed_users
    follows = Follows(instances, placement, limit, metrics)
    server = Server(
        settings.service,
        metrics,
        FollowerGraphServicer(follows, Queries(instances, placement)),
        AdminServicer(follows, Inspections(instances, placement), instances, cluster, limit),
    )
    async with AsyncExitStack() as starting:
        metrics_port = starting.enter_context(
            metrics.serve(settings.service.host, settings.service.metrics_port)
        )
        starting.push_async_callback(instances.close)
        starting.push_async_callback(follows.finish)
        starting.push_async_callback(
            _cancel, asyncio.create_task(_follow_map(coordinator, instances, metrics))
        )
        port = await server.start()
        starting.push_async_callback(server.stop)
        running = RunningService(settings.service.host, port, metrics_port, starting.pop_all())
        log.info("serving", address=running.target, cluster=cluster.cluster)
        return running


async def _follow_map(coordinator: Coordinator, instances: Instances, metrics: Metrics) -> None:
    while True:
        try:
            async for topology in coordinator.watch():
                instances.follow(topology)
                metrics.map_version.set(instances.topology.version)
        except (CoordinatorDamaged, OSError) as error:
            log.error("the map cannot be read; going on with the one in use", problem=str(error))  # noqa: TRY400
            await asyncio.sleep(MAP_RETRY_S)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
