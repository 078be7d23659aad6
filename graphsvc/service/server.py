"""The gRPC server: services, health and reflection on one port."""

import asyncio
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from graphsvc.runtime.deadline import Deadline
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import ServiceSettings
from graphsvc.service.admin_servicer import AdminServicer
from graphsvc.service.boundary import Boundary
from graphsvc.service.follower_graph_servicer import FollowerGraphServicer
from graphsvc.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    directory_service_pb2,
    directory_service_pb2_grpc,
    follower_graph_service_pb2,
    follower_graph_service_pb2_grpc,
)

_GRAPH = follower_graph_service_pb2.DESCRIPTOR.services_by_name["FollowerGraphService"]
_DIRECTORY = directory_service_pb2.DESCRIPTOR.services_by_name["DirectoryService"]
_ADMIN = admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"]
SERVICES = (_GRAPH.full_name, _DIRECTORY.full_name, _ADMIN.full_name)


INSPECTION_DEADLINE_S = 60.0
"""Of inspections without one; to check a list of ten million edges takes a good part of it."""
LAST_SERVED_S = 0.5
"""After a stop was asked for, calls are still served so long, or until none comes: they were sent before."""
LAST_REFUSED_S = 0.5
"""Then calls are told so long, or until none comes, that the service is stopping."""
_QUIET_S = 0.05
_POLL_S = 0.02


class PortTaken(Exception):
    """The address cannot be listened on; the message names it."""


class Server:
    """A server that is listening once `start` returned."""

    def __init__(
        self, settings: ServiceSettings, metrics: Metrics, graph: FollowerGraphServicer, admin: AdminServicer
    ) -> None:
        self._settings = settings
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(
            maximum_concurrent_rpcs=settings.max_concurrent_calls,
            options=[
                # Without this a second server could take the same port, and half of its calls.
                ("grpc.so_reuseport", 0),
                # What gRPC itself lets wait must not be less than what we take: it refuses without a reason.
                ("grpc.server.max_pending_requests", settings.max_concurrent_calls),
                ("grpc.server.max_pending_requests_hard_limit", 2 * settings.max_concurrent_calls),
            ],
        )
        boundary = self._boundary = Boundary(
            metrics,
            settings.default_deadline_ms / 1_000,
            {
                f"{_ADMIN.name}/BatchImportEdges": settings.import_deadline_ms / 1_000,
                f"{_ADMIN.name}/InspectUser": INSPECTION_DEADLINE_S,
            },
        )
        follower_graph_service_pb2_grpc.add_FollowerGraphServiceServicer_to_server(
            boundary.serve(_GRAPH, graph), self._server
        )
        directory_service_pb2_grpc.add_DirectoryServiceServicer_to_server(
            boundary.serve(_DIRECTORY, object()), self._server
        )
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(boundary.serve(_ADMIN, admin), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        if settings.reflection:
            names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)

    async def start(self) -> int:
        """Listen and serve; gives the port in use.

        Raises:
            PortTaken: the address cannot be listened on.
        """
        host, asked = self._settings.host, self._settings.port
        address = f"[{host}]:{asked}" if ":" in host else f"{host}:{asked}"
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise PortTaken(f"cannot listen on {address}") from error
        await self._server.start()
        await self._report(health_pb2.HealthCheckResponse.SERVING)
        return port

    async def stop(self) -> None:
        """Report NOT_SERVING, and let calls that were received finish within the grace time.

        Calls that wait in gRPC and have not begun would be cancelled without a word by its own stop: they
        are served first; later ones are told to go elsewhere.
        """
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)
        deadline = Deadline.after(self._settings.stop_grace_ms / 1_000)
        await self._until_quiet(LAST_SERVED_S)
        self._boundary.refuse_new_calls()
        await self._until_quiet(LAST_REFUSED_S)
        while self._boundary.in_flight and deadline.remaining_s() > 0:  # noqa: ASYNC110 (counts have no event)
            await asyncio.sleep(_POLL_S)
        # What is left are streams of health and reflection, which never end by themselves.
        await self._server.stop(_POLL_S)

    async def _until_quiet(self, at_most_s: float) -> None:
        deadline = Deadline.after(at_most_s)
        while not self._boundary.quiet_for(_QUIET_S) and deadline.remaining_s() > 0:  # noqa: ASYNC110 (so too)
            await asyncio.sleep(_POLL_S)

    async def _report(self, status: Any) -> None:
        for name in ("", *SERVICES):
            await self._health.set(name, status)
