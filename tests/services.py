"""The whole service in this process, on real nodes, behind a real port; and its stubs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from graphsvc.backends.local.coordinator import LocalFileCoordinator
from graphsvc.cli.wiring import RunningService, start_service
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import LimitSettings, RedisSettings, ServiceSettings, Settings
from graphsvc.v1.admin_service_pb2_grpc import AdminServiceStub
from graphsvc.v1.follower_graph_service_pb2_grpc import FollowerGraphServiceStub

if TYPE_CHECKING:  # these two exist for type checkers only
    from graphsvc.v1.admin_service_pb2_grpc import AdminServiceAsyncStub
    from graphsvc.v1.follower_graph_service_pb2_grpc import FollowerGraphServiceAsyncStub


@dataclass(frozen=True)
class Service:
    """A running service and what calls it."""

    running: RunningService
    graph: "FollowerGraphServiceAsyncStub"
    admin: "AdminServiceAsyncStub"
    channel: grpc.aio.Channel
    coordinator: LocalFileCoordinator

    @property
    def target(self) -> str:
        """HOST:PORT."""
        return f"{self.running.host}:{self.running.port}"


@asynccontextmanager
async def running_service(
    folder: Path,
    cluster: ClusterSettings,
    topology: Topology,
    *,
    limits: LimitSettings | None = None,
    redis: RedisSettings | None = None,
) -> AsyncIterator[Service]:
    """Start the service of this cluster on free ports."""
    coordinator = LocalFileCoordinator(folder / "cluster.json")
    await coordinator.create(cluster, topology)
    settings = Settings(
        service=ServiceSettings(port=0, metrics_port=0),
        limits=limits or LimitSettings(),
        redis=redis or RedisSettings(),
    )
    running = await start_service(settings, coordinator, Metrics())
    try:
        async with grpc.aio.insecure_channel(f"{running.host}:{running.port}") as channel:
            yield Service(
                running, FollowerGraphServiceStub(channel), AdminServiceStub(channel), channel, coordinator
            )
    finally:
        await running.stop()
