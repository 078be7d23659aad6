"""An instance dies, hangs or comes back: what its callers and everybody else see."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.model.ids import pack
from graphsvc.model.topology import ClusterSettings
from graphsvc.runtime.settings import RedisSettings
from graphsvc.v1 import admin_service_pb2
from graphsvc.v1 import follower_graph_service_pb2 as pb
from tests.errors import refusal
from tests.nodes import server_binary, two_instance_topology
from tests.services import Service, running_service

LOW = [pack(shard, 3, 1) for shard in range(20)]
"""Users of instance-0, which stays well."""
HIGH = [pack(8_000 + shard, 3, 1) for shard in range(20)]
"""Users of instance-1, to which things happen."""
IMPORT = admin_service_pb2.BatchImportEdgesRequest
QUICK = RedisSettings(read_timeout_ms=400, write_timeout_ms=1_500)


@pytest.fixture
async def service(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings, tmp_path: Path
) -> AsyncIterator[Service]:
    topology = two_instance_topology(fresh_nodes)
    async with running_service(tmp_path, cluster, topology, redis=QUICK) as service:
        yield service


@pytest.fixture
async def victim(service: Service, fresh_nodes: list[NodeProcess]) -> AsyncIterator[NodeProcess]:
    """The node of instance-1; connections to it stand already."""
    await follow(service, HIGH[0], HIGH[1])
    yield fresh_nodes[1]
    if fresh_nodes[1].running():
        os.kill(fresh_nodes[1].pid, signal.SIGCONT)


async def follow(service: Service, a: int, b: int, timeout_s: float = 5.0) -> pb.WriteResponse:
    return await service.graph.FollowUser(
        pb.FollowUserRequest(follower_id=a, followee_id=b), timeout=timeout_s
    )


async def following(service: Service, user: int) -> list[int]:
    return list((await service.graph.ListFollowing(pb.ListUserEdgesRequest(user_id=user))).ids)


async def followers(service: Service, user: int) -> list[int]:
    return list((await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=user))).ids)


async def restart(node: NodeProcess, family: str) -> None:
    """Start the node again on its data and its port."""
    await NodeProcess.start(server_binary(family), node.folder, node.node.port)


async def eventually(call: Callable[[], Awaitable[object]]) -> None:
    """Repeat a call until it succeeds, as a client would; within the test's time limit."""
    async with asyncio.timeout(20):
        while True:
            try:
                await call()
            except grpc.aio.AioRpcError as error:
                assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
                await asyncio.sleep(0.05)
            else:
                return


async def assert_screenfuls_are_partial(service: Service) -> None:
    """Instance-1 is out: its part of a screenful has errors, the rest is right."""
    mixed = [*LOW[:10], *HIGH[:10]]
    checks = await service.graph.BatchCheckFollows(
        pb.BatchCheckFollowsRequest(follower_ids=mixed, followee_ids=[LOW[19]] * 20, allow_partial=True),
        timeout=1.5,
    )
    assert list(checks.following[:10]) == [True] * 5 + [False] * 5
    assert [each.index for each in checks.errors] == list(range(10, 20))
    assert {(each.code, each.reason) for each in checks.errors} == {(14, "SHARD_UNAVAILABLE")}
    assert all(each.retry_after_ms > 0 for each in checks.errors)
    counts = await service.graph.GetCounts(
        pb.GetCountsRequest(user_ids=[LOW[19], HIGH[0]], allow_partial=True), timeout=1.5
    )
    assert (counts.users[0].followers, [each.index for each in counts.errors]) == (5, [1])

    told = await refusal(
        service.graph.BatchCheckFollows(
            pb.BatchCheckFollowsRequest(follower_ids=mixed, followee_ids=[LOW[19]] * 20), timeout=1.5
        )
    )
    assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "SHARD_UNAVAILABLE")
    assert told.retry_after_ms > 0
    assert "127.0.0.1" not in told.message


async def test_a_dead_instance_fails_only_its_part_of_a_screenful(
    service: Service, victim: NodeProcess, family: str
) -> None:
    for user in LOW[:5]:
        await follow(service, user, LOW[19])
    victim.kill()
    await victim.ended()
    await assert_screenfuls_are_partial(service)
    assert (await follow(service, LOW[6], LOW[7])).changed
    info = await service.admin.GetClusterInfo(admin_service_pb2.GetClusterInfoRequest())
    assert [each.reachable for each in info.instances] == [True, False]

    await restart(victim, family)
    await eventually(lambda: following(service, HIGH[0]))
    assert await following(service, HIGH[0]) == [HIGH[1]]
    info = await service.admin.GetClusterInfo(admin_service_pb2.GetClusterInfoRequest())
    assert [each.reachable for each in info.instances] == [True, True]


async def test_a_hung_instance_fails_only_its_part_of_a_screenful_within_the_deadline(
    service: Service, victim: NodeProcess
) -> None:
    for user in LOW[:5]:
        await follow(service, user, LOW[19])
    os.kill(victim.pid, signal.SIGSTOP)
    for _ in range(5):
        await assert_screenfuls_are_partial(service)
        assert await following(service, LOW[0]) == [LOW[19]]
    os.kill(victim.pid, signal.SIGCONT)
    await eventually(lambda: following(service, HIGH[0]))
    assert await following(service, HIGH[0]) == [HIGH[1]]


async def test_an_instance_hung_for_long_is_asked_again_when_it_wakes(
    service: Service, victim: NodeProcess
) -> None:
    os.kill(victim.pid, signal.SIGSTOP)
    for _ in range(8):  # longer than the write timeout, after which the connection is given up
        assert (await refusal(following(service, HIGH[0]))).code is grpc.StatusCode.UNAVAILABLE
    os.kill(victim.pid, signal.SIGCONT)
    await eventually(lambda: following(service, HIGH[0]))
    assert await following(service, HIGH[0]) == [HIGH[1]]


async def test_where_the_other_side_is_out_the_inverse_is_pending_and_a_repetition_mends_it(
    service: Service, victim: NodeProcess, family: str
) -> None:
    victim.kill()
    await victim.ended()
    written = await follow(service, LOW[0], HIGH[5])
    assert (written.changed, written.inverse_pending) == (True, True)
    assert await following(service, LOW[0]) == [HIGH[5]]
    imported = await service.admin.BatchImportEdges(
        IMPORT(kind=IMPORT.KIND_FOLLOW_USER, follower_ids=LOW[1:4], target_ids=[HIGH[5], HIGH[5], LOW[0]])
    )
    assert (imported.changed, imported.inverse_pending, len(imported.errors)) == (3, 2, 0)

    await restart(victim, family)
    await eventually(lambda: followers(service, HIGH[5]))
    async with asyncio.timeout(20):
        while (again := await follow(service, LOW[0], HIGH[5])).inverse_pending:
            assert (again.changed, again.followed_at_us) == (False, written.followed_at_us)
            await asyncio.sleep(0.05)
    assert (again.changed, again.followed_at_us) == (False, written.followed_at_us)
    imported = await service.admin.BatchImportEdges(
        IMPORT(kind=IMPORT.KIND_FOLLOW_USER, follower_ids=LOW[1:3], target_ids=[HIGH[5]] * 2)
    )
    assert (imported.changed, imported.inverse_pending) == (0, 0)
    assert sorted(await followers(service, HIGH[5])) == LOW[:3]


async def test_where_the_followers_shard_is_out_nothing_is_written(
    service: Service, victim: NodeProcess
) -> None:
    victim.kill()
    await victim.ended()
    told = await refusal(follow(service, HIGH[3], LOW[3]))
    assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "SHARD_UNAVAILABLE")
    imported = await service.admin.BatchImportEdges(
        IMPORT(kind=IMPORT.KIND_FOLLOW_USER, follower_ids=[HIGH[3], LOW[4]], target_ids=[LOW[3], LOW[3]])
    )
    assert [(each.index, each.reason) for each in imported.errors] == [(0, "SHARD_UNAVAILABLE")]
    assert await followers(service, LOW[3]) == [LOW[4]]


async def test_a_write_goes_on_to_its_end_when_its_caller_stops_waiting(
    service: Service, victim: NodeProcess
) -> None:
    os.kill(victim.pid, signal.SIGSTOP)
    written = await follow(service, LOW[0], HIGH[7], timeout_s=0.5)
    assert (written.changed, written.inverse_pending) == (True, True)
    assert await following(service, LOW[0]) == [HIGH[7]]
    call = service.graph.FollowUser(pb.FollowUserRequest(follower_id=LOW[1], followee_id=HIGH[7]))
    await asyncio.sleep(0.1)
    call.cancel()
    os.kill(victim.pid, signal.SIGCONT)
    async with asyncio.timeout(10):
        while sorted(await followers(service, HIGH[7])) != LOW[:2]:
            await asyncio.sleep(0.02)
    assert await following(service, LOW[0]) == await following(service, LOW[1]) == [HIGH[7]]


async def test_writes_of_one_pair_that_nobody_waits_for_do_not_pile_up_behind_a_hung_instance(
    service: Service, victim: NodeProcess
) -> None:
    os.kill(victim.pid, signal.SIGSTOP)
    gone = [asyncio.create_task(follow(service, HIGH[3], LOW[3], timeout_s=0.3)) for _ in range(300)]
    for result in await asyncio.gather(*gone, return_exceptions=True):
        assert isinstance(result, grpc.aio.AioRpcError)
        assert result.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    os.kill(victim.pid, signal.SIGCONT)
    # A pile of 300 writes, each with its own time limit, would keep this one from its turn for minutes.
    await eventually(lambda: follow(service, HIGH[3], LOW[3], timeout_s=10))
    assert await followers(service, LOW[3]) == [HIGH[3]]


async def test_a_full_queue_refuses_at_once_and_for_its_instance_alone(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings, tmp_path: Path
) -> None:
    settings = RedisSettings(read_timeout_ms=3_000, max_waiting=5)
    topology = two_instance_topology(fresh_nodes)
    async with running_service(tmp_path, cluster, topology, redis=settings) as service:
        await asyncio.gather(following(service, LOW[0]), following(service, HIGH[0]))
        os.kill(fresh_nodes[1].pid, signal.SIGSTOP)
        results = asyncio.gather(*(following(service, HIGH[0]) for _ in range(30)), return_exceptions=True)
        while (told := await asyncio.wait_for(refusal(following(service, HIGH[0])), 30)).code is not (
            grpc.StatusCode.RESOURCE_EXHAUSTED
        ):
            await asyncio.sleep(0)
        assert told.reason == "OVERLOADED"
        assert told.retry_after_ms > 0
        assert await following(service, LOW[0]) == []
        os.kill(fresh_nodes[1].pid, signal.SIGCONT)
        answered = [each for each in await results if each == []]
        assert len(answered) == 5


async def test_cancelled_reads_never_give_others_a_foreign_reply(
    service: Service, victim: NodeProcess
) -> None:
    users = [pack(7_000 + i, 3, i + 1) for i in range(100)]
    await asyncio.gather(*(follow(service, user, LOW[i % 20]) for i, user in enumerate(users)))

    async def read(i: int) -> None:
        assert await following(service, users[i]) == [LOW[i % 20]]

    for _ in range(10):
        os.kill(victim.pid, signal.SIGSTOP)
        calls = [asyncio.create_task(read(i)) for i in range(100)]
        await asyncio.sleep(0.05)
        for call in calls[::2]:
            call.cancel()
        os.kill(victim.pid, signal.SIGCONT)
        results = await asyncio.gather(*calls, return_exceptions=True)
        wrong = [each for each in results if isinstance(each, AssertionError)]
        assert not wrong
        assert all(each is None for each in results[1::2]), results


async def test_reads_survive_connections_cut_under_them(service: Service, victim: NodeProcess) -> None:
    answered = 0
    cuts_done = asyncio.Event()

    async def read() -> None:
        nonlocal answered
        while not cuts_done.is_set():
            assert await following(service, HIGH[0]) == [HIGH[1]]
            answered += 1

    reading = [asyncio.create_task(read()) for _ in range(8)]
    async with admin_client(victim.node) as client:
        for _ in range(30):
            # No read meets two cuts: there is one retry.
            seen = answered
            while answered < seen + 2 * len(reading):
                assert not any(each.done() for each in reading)
                await asyncio.sleep(0.005)
            await client.client_kill_filter(_type="normal", skipme=True)
    cuts_done.set()
    await asyncio.gather(*reading)
