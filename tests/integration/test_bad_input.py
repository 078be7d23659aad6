"""Bad input: every one gets INVALID_ARGUMENT naming the field, and nothing is written."""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
import redis.asyncio

from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.model.ids import MAX_ID, pack
from graphsvc.v1 import admin_service_pb2, edges_pb2
from graphsvc.v1 import follower_graph_service_pb2 as pb
from tests.errors import refusal
from tests.services import Service

A, B = pack(5, 3, 1), pack(8000, 3, 2)
IMPORT = admin_service_pb2.BatchImportEdgesRequest
KIND = IMPORT.KIND_FOLLOW_USER
BOARD = edges_pb2.Board(board_id=pack(5, 2, 1), owner_id=A)

Call = Callable[[Service], Awaitable[Any]]

BAD_IDS = [
    (0, "ID_OUT_OF_RANGE"),
    (MAX_ID + 1, "ID_OUT_OF_RANGE"),
    (2**64 - 1, "ID_OUT_OF_RANGE"),
    (pack(8192, 3, 1), "ID_DORMANT_SHARD"),
    (pack(5, 2, 1), "ID_WRONG_TYPE"),
]
ID_CALLS: dict[str, Callable[[Service, int], Awaitable[Any]]] = {
    "FollowUser.follower_id": lambda s, x: s.graph.FollowUser(
        pb.FollowUserRequest(follower_id=x, followee_id=B)
    ),
    "FollowUser.followee_id": lambda s, x: s.graph.FollowUser(
        pb.FollowUserRequest(follower_id=A, followee_id=x)
    ),
    "UnfollowUser.follower_id": lambda s, x: s.graph.UnfollowUser(
        pb.UnfollowUserRequest(follower_id=x, followee_id=B)
    ),
    "UnfollowUser.followee_id": lambda s, x: s.graph.UnfollowUser(
        pb.UnfollowUserRequest(follower_id=A, followee_id=x)
    ),
    "CheckFollow.follower_id": lambda s, x: s.graph.CheckFollow(
        pb.CheckFollowRequest(follower_id=x, followee_id=B)
    ),
    "CheckFollow.followee_id": lambda s, x: s.graph.CheckFollow(
        pb.CheckFollowRequest(follower_id=A, followee_id=x)
    ),
    "CheckFollows.follower_id": lambda s, x: s.graph.CheckFollows(
        pb.CheckFollowsRequest(follower_id=x, followee_ids=[B])
    ),
    "CheckFollows.followee_ids[1]": lambda s, x: s.graph.CheckFollows(
        pb.CheckFollowsRequest(follower_id=A, followee_ids=[B, x])
    ),
    "BatchCheckFollows.follower_ids[1]": lambda s, x: s.graph.BatchCheckFollows(
        pb.BatchCheckFollowsRequest(follower_ids=[A, x], followee_ids=[B, B], allow_partial=True)
    ),
    "BatchCheckFollows.followee_ids[0]": lambda s, x: s.graph.BatchCheckFollows(
        pb.BatchCheckFollowsRequest(follower_ids=[A], followee_ids=[x])
    ),
    "ListFollowing.user_id": lambda s, x: s.graph.ListFollowing(pb.ListUserEdgesRequest(user_id=x)),
    "ListFollowers.user_id": lambda s, x: s.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=x)),
    "GetCounts.user_ids[1]": lambda s, x: s.graph.GetCounts(pb.GetCountsRequest(user_ids=[A, x])),
}


def page(**fields: Any) -> Call:
    return lambda s: s.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=A, **fields))


def batch(**fields: Any) -> Call:
    return lambda s: s.admin.BatchImportEdges(IMPORT(**fields))


OTHER_CALLS: dict[str, tuple[Call, str, str]] = {
    "follow oneself": (
        lambda s: s.graph.FollowUser(pb.FollowUserRequest(follower_id=A, followee_id=A)),
        "followee_id", "SELF_FOLLOW",
    ),
    "unfollow oneself": (
        lambda s: s.graph.UnfollowUser(pb.UnfollowUserRequest(follower_id=A, followee_id=A)),
        "followee_id", "SELF_FOLLOW",
    ),
    "check oneself": (
        lambda s: s.graph.CheckFollow(pb.CheckFollowRequest(follower_id=A, followee_id=A)),
        "followee_id", "SELF_FOLLOW",
    ),
    "check nobody": (
        lambda s: s.graph.CheckFollow(pb.CheckFollowRequest(follower_id=A)), "target", "FIELD_MISSING",
    ),
    "check no one": (
        lambda s: s.graph.CheckFollows(pb.CheckFollowsRequest(follower_id=A)), "followee_ids", "LIST_EMPTY",
    ),
    "check too many": (
        lambda s: s.graph.CheckFollows(pb.CheckFollowsRequest(follower_id=A, followee_ids=[B] * 1_001)),
        "followee_ids", "LIST_TOO_LONG",
    ),
    "no pairs": (
        lambda s: s.graph.BatchCheckFollows(pb.BatchCheckFollowsRequest()), "follower_ids", "LIST_EMPTY",
    ),
    "too many pairs": (
        lambda s: s.graph.BatchCheckFollows(
            pb.BatchCheckFollowsRequest(follower_ids=[A] * 10_000, followee_ids=[B] * 10_000)
        ),
        "follower_ids", "LIST_TOO_LONG",
    ),
    "pairs of differing lengths": (
        lambda s: s.graph.BatchCheckFollows(
            pb.BatchCheckFollowsRequest(follower_ids=[A, A], followee_ids=[B])
        ),
        "followee_ids", "LENGTHS_DIFFER",
    ),
    "counts of nobody": (lambda s: s.graph.GetCounts(pb.GetCountsRequest()), "user_ids", "LIST_EMPTY"),
    "counts of too many": (
        lambda s: s.graph.GetCounts(pb.GetCountsRequest(user_ids=[A] * 1_001)), "user_ids", "LIST_TOO_LONG",
    ),
    "negative page": (page(page_size=-1), "page_size", "PAGE_SIZE_OUT_OF_RANGE"),
    "page too large": (page(page_size=1_001), "page_size", "PAGE_SIZE_OUT_OF_RANGE"),
    "page of a million": (page(page_size=1_000_000), "page_size", "PAGE_SIZE_OUT_OF_RANGE"),
    "garbage token": (page(page_token="garbage"), "page_token", "PAGE_TOKEN_INVALID"),  # noqa: S106
    "long token": (page(page_token="A" * 100_000), "page_token", "PAGE_TOKEN_INVALID"),
    "unknown order": (page(order=7), "order", "VALUE_UNKNOWN"),
    "freshness token": (page(freshness_token=b"x"), "freshness_token", "FRESHNESS_TOKEN_INVALID"),
    "import nothing": (batch(kind=KIND), "follower_ids", "LIST_EMPTY"),
    "import of no kind": (batch(follower_ids=[A], target_ids=[B]), "kind", "VALUE_UNKNOWN"),
    "import of an unknown kind": (batch(kind=9, follower_ids=[A], target_ids=[B]), "kind", "VALUE_UNKNOWN"),
    "import too much": (
        batch(kind=KIND, follower_ids=[A] * 10_001, target_ids=[B] * 10_001), "follower_ids", "LIST_TOO_LONG",
    ),
    "import ten times too much": (
        batch(kind=KIND, follower_ids=[A] * 100_000, target_ids=[B] * 100_000),
        "follower_ids", "LIST_TOO_LONG",
    ),
    "import columns that differ": (
        batch(kind=KIND, follower_ids=[A, A], target_ids=[B]), "target_ids", "LENGTHS_DIFFER",
    ),
    "import times that differ": (
        batch(kind=KIND, follower_ids=[A, A], target_ids=[B, B], followed_at_us=[1]),
        "followed_at_us", "LENGTHS_DIFFER",
    ),
    "import owners of users": (
        batch(kind=KIND, follower_ids=[A], target_ids=[B], owner_ids=[A]), "owner_ids", "LENGTHS_DIFFER",
    ),
}  # fmt: skip


async def keys(nodes: list[NodeProcess]) -> int:
    """Keys in all databases of all nodes, the identity records left out."""
    total = 0
    for node in nodes:
        async with redis.asyncio.Redis(host=node.node.host, port=node.node.port) as client:
            total += sum(each["keys"] for each in (await client.info("keyspace")).values()) - 1
    return total


async def test_bad_ids_are_refused_by_name(service: Service, nodes: list[NodeProcess]) -> None:
    for name, call in ID_CALLS.items():
        for bad, reason in BAD_IDS:
            told = await refusal(call(service, bad))
            assert told.code is grpc.StatusCode.INVALID_ARGUMENT, name
            assert told.fields == (name.partition(".")[2],)
            assert told.reason == reason
            assert str(bad) in told.message
            assert told.retry_after_ms == 0
    assert await keys(nodes) == 0


@pytest.mark.parametrize("what", OTHER_CALLS)
async def test_bad_requests_are_refused_by_name(
    service: Service, nodes: list[NodeProcess], what: str
) -> None:
    call, field, reason = OTHER_CALLS[what]
    told = await refusal(call(service))
    assert (told.code, told.fields, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, (field,), reason)
    assert await keys(nodes) == 0


async def test_a_token_of_another_list_order_or_user_is_refused(service: Service) -> None:
    for i in range(3):
        for pair in ((A, pack(1, 3, i + 1)), (pack(1, 3, i + 1), A)):
            await service.graph.FollowUser(pb.FollowUserRequest(follower_id=pair[0], followee_id=pair[1]))
    first = await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=A, page_size=2))
    token = first.next_page_token
    assert token
    good = await service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=A, page_token=token))
    assert len(good.ids) == 1
    altered = ("B" if token[5] == "A" else "A").join((token[:5], token[6:]))
    for call in (
        service.graph.ListFollowing(pb.ListUserEdgesRequest(user_id=A, page_token=token)),
        service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=B, page_token=token)),
        service.graph.ListFollowers(pb.ListUserEdgesRequest(user_id=A, page_token=altered)),
        service.graph.ListFollowers(
            pb.ListUserEdgesRequest(user_id=A, page_token=token, order=edges_pb2.ORDER_OLDEST_FIRST)
        ),
    ):
        told = await refusal(call)
        assert (told.fields, told.reason) == (("page_token",), "PAGE_TOKEN_INVALID")


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.graph.FollowBoard(pb.FollowBoardRequest(follower_id=B, board=BOARD)),
        lambda s: s.graph.ListMutuals(pb.ListUserEdgesRequest(user_id=A)),
        lambda s: s.graph.CheckFollow(pb.CheckFollowRequest(follower_id=B, board=BOARD)),
        lambda s: s.graph.CheckFollows(pb.CheckFollowsRequest(follower_id=B, boards=[BOARD])),
        lambda s: s.graph.GetCounts(pb.GetCountsRequest(boards=[BOARD])),
        lambda s: s.admin.DeleteUser(admin_service_pb2.DeleteUserRequest(user_id=A)),
        lambda s: s.admin.BatchImportEdges(
            IMPORT(kind=IMPORT.KIND_FOLLOW_BOARD, follower_ids=[B], target_ids=[A])
        ),
    ],
)
async def test_what_is_not_offered_yet_says_so(service: Service, call: Call) -> None:
    told = await refusal(call(service))
    assert (told.code, told.reason) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_OFFERED")
    assert "not offered yet" in told.message
