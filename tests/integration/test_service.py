"""The service end to end: gRPC in front, real nodes behind."""

import asyncio
import time
from pathlib import Path

import grpc
import pytest
import redis.asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from graphsvc import __version__
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.packed.keys import list_key
from graphsvc.graph.request_rules import MAX_IMPORT_EDGES
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.ids import pack
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import Topology
from graphsvc.runtime.settings import LimitSettings
from graphsvc.v1 import admin_service_pb2, edges_pb2
from graphsvc.v1 import follower_graph_service_pb2 as pb
from tests.errors import refusal
from tests.nodes import claim, cluster_of, empty_and_claim_all, start_nodes, two_instance_topology
from tests.services import Service, running_service

LOW, HIGH = pack(5, 3, 1), pack(8000, 3, 2)
"""Two users on different instances."""
CROWD = [pack(shard, 3, 100 + shard) for shard in range(0, 8192, 64)]
IMPORT = admin_service_pb2.BatchImportEdgesRequest
T0 = 1_600_000_000_000_000


def follow(a: int, b: int) -> pb.FollowUserRequest:
    return pb.FollowUserRequest(follower_id=a, followee_id=b)


def imports(edges: list[tuple[int, int, int]]) -> admin_service_pb2.BatchImportEdgesRequest:
    return IMPORT(
        kind=IMPORT.KIND_FOLLOW_USER,
        follower_ids=[a for a, _, _ in edges],
        target_ids=[b for _, b, _ in edges],
        followed_at_us=[t for _, _, t in edges],
    )


async def counts(service: Service, *users: int) -> list[tuple[int, int]]:
    answer = await service.graph.GetCounts(pb.GetCountsRequest(user_ids=users))
    assert [each.user_id for each in answer.users] == list(users)
    return [(each.following, each.followers) for each in answer.users]


@pytest.mark.parametrize(("a", "b"), [(LOW, HIGH), (HIGH, LOW), (LOW, LOW + 1)])
async def test_follow_is_seen_on_both_sides_and_unfollow_ends_it(service: Service, a: int, b: int) -> None:
    before = time.time_ns() // 1_000
    written = await service.graph.FollowUser(follow(a, b))
    assert written.changed
    assert before <= written.followed_at_us <= time.time_ns() // 1_000
    assert not written.inverse_pending
    assert written.reason == edges_pb2.FOLLOW_REASON_EXPLICIT

    check = await service.graph.CheckFollow(pb.CheckFollowRequest(follower_id=a, followee_id=b))
    assert (check.following, check.reason, check.followed_at_us) == (
        True, edges_pb2.FOLLOW_REASON_EXPLICIT, written.followed_at_us,
    )  # fmt: skip
    back = await service.graph.CheckFollow(pb.CheckFollowRequest(follower_id=b, followee_id=a))
    assert back == pb.CheckFollowResponse()
    following = await service.graph.ListFollowing(pb.ListUserEdgesRequest(user_id=a))
    followers = await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=b))
    assert (list(following.ids), list(followers.ids)) == ([b], [a])
    assert following.followed_at_us == followers.followed_at_us == [written.followed_at_us]
    assert (following.total_size, following.next_page_token) == (1, "")
    assert await counts(service, a, b) == [(1, 0), (0, 1)]

    again = await service.graph.FollowUser(follow(a, b))
    assert (again.changed, again.followed_at_us) == (False, written.followed_at_us)
    assert await counts(service, a, b) == [(1, 0), (0, 1)]

    ended = await service.graph.UnfollowUser(pb.UnfollowUserRequest(follower_id=a, followee_id=b))
    assert (ended.changed, ended.followed_at_us, ended.reason) == (True, 0, 0)
    ended = await service.graph.UnfollowUser(pb.UnfollowUserRequest(follower_id=a, followee_id=b))
    assert not ended.changed
    assert await counts(service, a, b) == [(0, 0), (0, 0)]
    assert not (await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=b))).ids


async def test_a_screenful_is_answered_in_the_order_asked(service: Service) -> None:
    await asyncio.gather(*(service.graph.FollowUser(follow(LOW, user)) for user in CROWD[::3]))
    asked = [*CROWD, LOW, *CROWD[:2]]
    answer = await service.graph.CheckFollows(pb.CheckFollowsRequest(follower_id=LOW, followee_ids=asked))
    assert list(answer.following_users) == [user in CROWD[::3] for user in asked]


async def test_pairs_are_answered_in_the_order_asked(service: Service) -> None:
    await asyncio.gather(*(service.graph.FollowUser(follow(user, HIGH)) for user in CROWD[::2]))
    answer = await service.graph.BatchCheckFollows(
        pb.BatchCheckFollowsRequest(follower_ids=CROWD, followee_ids=[HIGH] * len(CROWD))
    )
    assert list(answer.following) == [user in CROWD[::2] for user in CROWD]
    assert not answer.errors


@pytest.mark.parametrize("order", [edges_pb2.ORDER_UNSPECIFIED, edges_pb2.ORDER_OLDEST_FIRST])
async def test_pages_follow_each_other_to_the_end(service: Service, order: edges_pb2.Order.ValueType) -> None:
    edges = [(user, HIGH, T0 + i // 3) for i, user in enumerate(CROWD)]
    assert (await service.admin.BatchImportEdges(imports(edges))).changed == len(CROWD)
    found: list[tuple[int, int]] = []
    token = ""
    while True:
        page = await service.graph.ListFollowers(
            pb.ListUserEdgesRequest(user_id=HIGH, page_size=7, page_token=token, order=order)
        )
        assert page.total_size == len(CROWD)
        assert len(page.ids) == len(page.followed_at_us) <= 7
        found += zip(page.followed_at_us, page.ids, strict=True)
        token = page.next_page_token
        if not token:
            break
    expected = sorted((t, a) for a, _, t in edges)
    assert found == (expected if order == edges_pb2.ORDER_OLDEST_FIRST else expected[::-1])


async def test_an_import_keeps_the_earliest_time_on_both_sides(service: Service) -> None:
    edges = [(LOW, HIGH, T0 + 5), (LOW, HIGH, T0 + 3), (LOW, HIGH, T0 + 9), (HIGH, LOW, T0)]
    first = await service.admin.BatchImportEdges(imports(edges))
    assert (first.changed, len(first.errors), first.inverse_pending) == (3, 0, 0)
    second = await service.admin.BatchImportEdges(imports(edges))
    assert second.changed == 0
    for page in (
        await service.graph.ListFollowing(pb.ListUserEdgesRequest(user_id=LOW)),
        await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=HIGH)),
    ):
        assert list(page.followed_at_us) == [T0 + 3]


async def test_an_import_tells_bad_edges_and_writes_the_others(service: Service) -> None:
    edges = [(LOW, HIGH, T0), (LOW, LOW, T0), (0, HIGH, T0), (HIGH, LOW, 1), (HIGH, LOW, T0)]
    answer = await service.admin.BatchImportEdges(imports(edges))
    assert answer.changed == 2
    assert [(each.index, each.reason, each.code) for each in answer.errors] == [
        (1, "SELF_FOLLOW", 3),
        (2, "ID_OUT_OF_RANGE", 3),
        (3, "TIME_OUT_OF_RANGE", 3),
    ]
    assert await counts(service, LOW, HIGH) == [(1, 1), (1, 1)]


async def test_a_large_import_lands_whole(service: Service) -> None:
    users = [pack(i * 13 % 8192, 3, i) for i in range(1, 102)]
    edges = [(a, b, T0 + i) for i, a in enumerate(users) for b in users if a != b][:MAX_IMPORT_EDGES]
    answer = await service.admin.BatchImportEdges(imports(edges))
    assert (answer.changed, len(answer.errors)) == (len(edges), 0)
    expected = {
        user: (sum(a == user for a, _, _ in edges), sum(b == user for _, b, _ in edges)) for user in users
    }
    assert dict(zip(users, await counts(service, *users), strict=True)) == expected


async def test_interleaved_writes_leave_both_sides_alike(service: Service) -> None:
    async def toggle(times: int) -> None:
        for i in range(times):
            if i % 2:
                await service.graph.UnfollowUser(pb.UnfollowUserRequest(follower_id=LOW, followee_id=HIGH))
            else:
                await service.graph.FollowUser(follow(LOW, HIGH))

    for _ in range(3):
        await asyncio.gather(*(toggle(30 + i) for i in range(8)))
        following = await service.graph.ListFollowing(pb.ListUserEdgesRequest(user_id=LOW))
        followers = await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=HIGH))
        assert following.followed_at_us == followers.followed_at_us
        assert len(following.ids) == len(followers.ids)


async def test_the_follow_limit_is_exact_under_concurrency(
    nodes: list[NodeProcess], topology: Topology, family: str, tmp_path: Path
) -> None:
    limits = LimitSettings(max_followed_users=10)
    async with running_service(tmp_path, cluster_of(family), topology, limits=limits) as service:
        results = await asyncio.gather(
            *(service.graph.FollowUser(follow(LOW, user)) for user in CROWD[:25]), return_exceptions=True
        )
        refused = [each for each in results if isinstance(each, grpc.aio.AioRpcError)]
        assert len(refused) == 15
        assert {each.code() for each in refused} == {grpc.StatusCode.FAILED_PRECONDITION}
        assert await counts(service, LOW) == [(10, 0)]
        told = await refusal(service.graph.FollowUser(follow(LOW, CROWD[99])))
        assert told.reason == "FOLLOW_LIMIT"
        assert "at most 10 users" in told.message
        answer = await service.admin.BatchImportEdges(imports([(LOW, CROWD[99], 0), (HIGH, LOW, 0)]))
        assert [(each.index, each.reason) for each in answer.errors] == [(0, "FOLLOW_LIMIT")]
        assert await counts(service, CROWD[99], LOW) == [(0, 0), (10, 1)]


async def test_hash_placement_takes_any_id(
    nodes: list[NodeProcess], topology: Topology, family: str, tmp_path: Path
) -> None:
    cluster = cluster_of(family, PlacementName.HASH)
    await empty_and_claim_all(nodes, cluster)
    ids = [1, 2, 3, 274557032793636864, 2**62 - 1]
    async with running_service(tmp_path, cluster, topology) as service:
        for user in ids[1:]:
            assert (await service.graph.FollowUser(follow(user, 1))).changed
        page = await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=1))
        assert list(page.ids) == ids[:0:-1]
        info = await service.admin.GetClusterInfo(admin_service_pb2.GetClusterInfoRequest())
        assert info.placement == "hash"


async def test_cluster_info_tells_the_map(service: Service, topology: Topology) -> None:
    info = await service.admin.GetClusterInfo(admin_service_pb2.GetClusterInfoRequest())
    assert (info.cluster, info.placement, info.shards, info.map_version) == ("test", "id", 8192, 1)
    assert info.cluster_id == "c" * 32
    assert (info.server_version, info.max_followed_users) == (__version__, 50_000)
    assert {each.name: each.code for each in info.object_types} == {"user": 3, "board": 2, "pin": 1}
    assert [
        (each.name, each.first_shard, each.last_shard, each.primary, each.reachable)
        for each in info.instances
    ] == [
        (each.name, each.first_shard, each.last_shard, str(each.primary), True) for each in topology.instances
    ]


async def test_health_and_reflection(service: Service) -> None:
    health = health_pb2_grpc.HealthStub(service.channel)
    for name in ("", "graphsvc.v1.FollowerGraphService", "graphsvc.v1.AdminService"):
        answer = await health.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    stub = reflection_pb2_grpc.ServerReflectionStub(service.channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    [answer] = [each async for each in call]
    names = {each.name for each in answer.list_services_response.service}
    assert {"graphsvc.v1.FollowerGraphService", "graphsvc.v1.DirectoryService"} <= names


async def test_metrics_tell_calls_and_commands_but_no_user(service: Service) -> None:
    await service.graph.FollowUser(follow(LOW, HIGH))
    await refusal(service.graph.FollowUser(follow(LOW, LOW)))
    reader, writer = await asyncio.open_connection("127.0.0.1", service.running.metrics_port)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert 'graphsvc_calls_total{code="OK",method="FollowerGraphService/FollowUser"} 1.0' in text
    assert (
        'graphsvc_calls_total{code="INVALID_ARGUMENT",method="FollowerGraphService/FollowUser"} 1.0' in text
    )
    assert 'graphsvc_call_seconds_count{method="FollowerGraphService/FollowUser"} 2.0' in text
    assert 'graphsvc_redis_commands_total{command="FCALL",instance="instance-1"} 1.0' in text
    assert str(LOW) not in text
    assert str(HIGH) not in text


async def test_the_service_follows_the_map(
    fresh_nodes: list[NodeProcess], family: str, tmp_path: Path
) -> None:
    """Instance-1 goes to another node: from then on its shards are asked there."""
    [elsewhere] = await start_nodes(family, tmp_path / "elsewhere", 1)
    await claim(elsewhere.node, cluster_of(family), "instance-1")
    topology = two_instance_topology(fresh_nodes)
    async with running_service(tmp_path, cluster_of(family), topology) as service:
        await service.graph.FollowUser(follow(HIGH, LOW))
        first, second = topology.instances
        moved = second.model_copy(update={"primary": elsewhere.node, "epoch": second.epoch + 1})
        await service.coordinator.replace(Topology(version=2, instances=(first, moved)))
        async with asyncio.timeout(10):
            while (await counts(service, HIGH)) != [(0, 0)]:
                await asyncio.sleep(0.02)
        assert await counts(service, LOW) == [(0, 1)]
        assert (await service.graph.FollowUser(follow(HIGH, CROWD[0]))).changed
        info = await service.admin.GetClusterInfo(admin_service_pb2.GetClusterInfoRequest())
        assert (info.map_version, info.instances[1].primary) == (2, str(elsewhere.node))


async def test_an_import_tells_edges_whose_other_side_is_damaged(
    service: Service, nodes: list[NodeProcess]
) -> None:
    async with redis.asyncio.Redis(port=nodes[1].node.port, db=8000) as client:
        await client.set(list_key(ListRef(8000, ListKind.FOLLOWERS, HIGH)), "damaged")
    answer = await service.admin.BatchImportEdges(imports([(LOW, HIGH, T0), (LOW, CROWD[1], T0)]))
    assert [(each.index, each.reason, each.code) for each in answer.errors] == [(0, "LIST_DAMAGED", 15)]
    assert answer.errors[0].message


async def test_calls_that_were_sent_before_a_stop_are_answered(
    nodes: list[NodeProcess], topology: Topology, family: str, tmp_path: Path
) -> None:
    async with running_service(tmp_path, cluster_of(family), topology) as service:
        followed: set[int] = set()
        ends: list[grpc.aio.AioRpcError] = []

        async def keep_following(worker: int) -> None:
            for i in range(10_000):
                user = pack(worker, 3, 1_000 + i)
                try:
                    await service.graph.FollowUser(follow(user, HIGH))
                except grpc.aio.AioRpcError as error:
                    ends.append(error)
                    return
                followed.add(user)

        workers = [asyncio.create_task(keep_following(worker)) for worker in range(32)]
        while len(followed) < 100:
            await asyncio.sleep(0.01)
        await service.running.stop()
        await asyncio.gather(*workers)
        assert {error.code() for error in ends} == {grpc.StatusCode.UNAVAILABLE}, ends
    (tmp_path / "again").mkdir()
    async with running_service(tmp_path / "again", cluster_of(family), topology) as service:
        assert await counts(service, HIGH) == [(0, len(followed))]


async def test_an_open_stream_does_not_hold_up_a_stop(service: Service) -> None:
    watching = health_pb2_grpc.HealthStub(service.channel).Watch(health_pb2.HealthCheckRequest())
    assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
    async with asyncio.timeout(5):  # the grace time is 10 s
        await service.running.stop()
    assert (await watching.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_thousands_of_calls_at_once_are_answered(service: Service) -> None:
    calls = [
        service.graph.CheckFollow(pb.CheckFollowRequest(follower_id=LOW, followee_id=HIGH))
        for _ in range(3_000)
    ]
    results = await asyncio.gather(*calls, return_exceptions=True)
    failed = [each for each in results if isinstance(each, grpc.aio.AioRpcError)]
    assert {each.code() for each in failed} <= {grpc.StatusCode.RESOURCE_EXHAUSTED}
