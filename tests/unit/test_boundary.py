"""The boundary, on a real gRPC server with handlers that misbehave."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from graphsvc.runtime.deadline import Deadline
from graphsvc.runtime.metrics import Metrics
from graphsvc.service.boundary import Boundary
from graphsvc.v1 import follower_graph_service_pb2 as pb
from graphsvc.v1.follower_graph_service_pb2_grpc import (
    FollowerGraphServiceStub,
    add_FollowerGraphServiceServicer_to_server,
)
from tests.errors import refusal

SERVICE = pb.DESCRIPTOR.services_by_name["FollowerGraphService"]
REQUEST = pb.CheckFollowRequest(follower_id=1, followee_id=2)


class Misbehaving:
    """Handlers that fail in ways no handler should."""

    def __init__(self) -> None:
        self.deadlines: list[float] = []
        self.called = asyncio.Event()

    async def CheckFollow(self, _: pb.CheckFollowRequest, deadline: Deadline) -> pb.CheckFollowResponse:
        self.deadlines.append(deadline.remaining_s())
        return pb.CheckFollowResponse(following=True)

    async def FollowUser(self, _: pb.FollowUserRequest, _deadline: Deadline) -> pb.WriteResponse:
        raise ValueError("the password is hunter2 at 10.0.0.1:6379")

    async def UnfollowUser(self, _: pb.UnfollowUserRequest, _deadline: Deadline) -> pb.WriteResponse:
        self.called.set()
        await asyncio.sleep(60)
        return pb.WriteResponse()


@pytest.fixture
async def served() -> AsyncIterator[SimpleNamespace]:
    metrics, servicer, server = Metrics(), Misbehaving(), grpc.aio.server()
    boundary = Boundary(metrics, 0.2, {"FollowerGraphService/CheckFollow": 60.0})
    add_FollowerGraphServiceServicer_to_server(boundary.serve(SERVICE, servicer), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = FollowerGraphServiceStub(channel)
        yield SimpleNamespace(stub=stub, metrics=metrics, servicer=servicer)
    await server.stop(None)


def answered(served: SimpleNamespace, method: str, code: str) -> float | None:
    labels = {"method": f"FollowerGraphService/{method}", "code": code}
    value: float | None = served.metrics.registry.get_sample_value("graphsvc_calls_total", labels)
    return value


async def test_a_fault_of_the_service_tells_callers_nothing(served: SimpleNamespace) -> None:
    told = await refusal(served.stub.FollowUser(pb.FollowUserRequest()))
    assert (told.code, told.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert "hunter2" not in told.message
    assert answered(served, "FollowUser", "INTERNAL") == 1


async def test_a_call_without_a_deadline_gets_the_default(served: SimpleNamespace) -> None:
    told = await refusal(served.stub.UnfollowUser(pb.UnfollowUserRequest()))
    assert (told.code, told.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    assert answered(served, "UnfollowUser", "DEADLINE_EXCEEDED") == 1


async def test_handlers_get_the_callers_deadline_or_their_methods_default(served: SimpleNamespace) -> None:
    await served.stub.CheckFollow(REQUEST, timeout=1_000)
    await served.stub.CheckFollow(REQUEST)
    asked, default = served.servicer.deadlines
    assert 60 < asked <= 1_100  # on its way a deadline is rounded up
    assert 0 < default <= 60
    assert answered(served, "CheckFollow", "OK") == 2


async def test_a_cancelled_call_is_counted_as_such(served: SimpleNamespace) -> None:
    call = served.stub.UnfollowUser(pb.UnfollowUserRequest(), timeout=50)
    await served.servicer.called.wait()
    call.cancel()
    async with asyncio.timeout(5):
        while answered(served, "UnfollowUser", "CANCELLED") != 1:
            await asyncio.sleep(0.01)


async def test_a_method_the_servicer_lacks_is_not_offered(served: SimpleNamespace) -> None:
    told = await refusal(served.stub.ListFollowing(pb.ListUserEdgesRequest()))
    assert (told.code, told.reason) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_OFFERED")
