"""Questions to many lists: each answer in its place, and a list that fails harms no other's."""

import pytest

from graphsvc.graph.import_columns import ImportColumns
from graphsvc.graph.queries import Counts
from graphsvc.model.edges import ListKind, Order
from graphsvc.model.errors import ListDamaged, Reason, ShardUnavailable
from graphsvc.service.follower_graph_servicer import FollowerGraphServicer
from graphsvc.v1 import follower_graph_service_pb2 as pb
from tests.plain_graph import HIGH, HIGH_TOO, LOW, LOW_TOO, PlainGraph, patient

T0 = 1_600_000_000_000_000
EDGES = [(LOW, HIGH), (LOW, LOW_TOO), (HIGH, LOW), (HIGH_TOO, LOW), (LOW_TOO, LOW)]
USERS = [HIGH, LOW, HIGH_TOO, LOW_TOO, LOW]
"""Out of order, and one of them twice."""
PAIRS = [*EDGES[::-1], (HIGH, HIGH_TOO), (LOW, LOW), EDGES[0]]
DATA_LOSS = 15


@pytest.fixture
async def graph() -> PlainGraph:
    graph = PlainGraph()
    columns = ImportColumns([a for a, _ in EDGES], [b for _, b in EDGES], [T0 + i for i in range(len(EDGES))])
    assert (await graph.follows.import_edges(columns)).changed == len(EDGES)
    return graph


def servicer(graph: PlainGraph) -> FollowerGraphServicer:
    return FollowerGraphServicer(graph.follows, graph.queries)


def pairs(*, allow_partial: bool) -> pb.BatchCheckFollowsRequest:
    return pb.BatchCheckFollowsRequest(
        follower_ids=[a for a, _ in PAIRS], followee_ids=[b for _, b in PAIRS], allow_partial=allow_partial
    )


async def test_one_pair_is_answered_with_its_time(graph: PlainGraph) -> None:
    assert [await graph.queries.followed_at(*each, patient()) for each in EDGES] == [
        T0 + i for i in range(len(EDGES))
    ]
    assert await graph.queries.followed_at(HIGH, HIGH_TOO, patient()) == 0
    request = pb.CheckFollowRequest(follower_id=LOW, followee_id=HIGH)
    answer = await servicer(graph).CheckFollow(request, patient())
    assert (answer.following, answer.followed_at_us) == (True, T0)


async def test_many_are_answered_in_the_order_asked(graph: PlainGraph) -> None:
    assert await graph.queries.followed_among(LOW, USERS, patient()) == [True, False, False, True, False]
    held = await graph.queries.followed_pairs([a for a, _ in PAIRS], [b for _, b in PAIRS], patient())
    assert held == ([each in EDGES for each in PAIRS], {})
    counts = await graph.queries.counts(USERS, patient())
    assert counts == ([Counts(1, 1), Counts(2, 3), Counts(1, 0), Counts(1, 1), Counts(2, 3)], {})


async def test_questions_to_one_damaged_list_raise(graph: PlainGraph) -> None:
    graph.damage(ListKind.FOLLOWING, LOW)
    with pytest.raises(ListDamaged):
        await graph.queries.followed_at(LOW, HIGH, patient())
    with pytest.raises(ListDamaged):
        await graph.queries.followed_among(LOW, USERS, patient())
    with pytest.raises(ListDamaged):
        await graph.queries.list_page(
            ListKind.FOLLOWING, LOW, page_size=0, page_token="", order=Order.NEWEST_FIRST, deadline=patient()
        )


async def test_a_damaged_list_is_the_error_of_its_pairs_only(graph: PlainGraph) -> None:
    graph.damage(ListKind.FOLLOWING, LOW)
    theirs = [i for i, (follower_id, _) in enumerate(PAIRS) if follower_id == LOW]
    answer = await servicer(graph).BatchCheckFollows(pairs(allow_partial=True), patient())
    assert [(each.index, each.code, each.reason) for each in answer.errors] == [
        (i, DATA_LOSS, Reason.LIST_DAMAGED) for i in theirs
    ]
    assert [held for i, held in enumerate(answer.following) if i not in theirs] == [
        each in EDGES for i, each in enumerate(PAIRS) if i not in theirs
    ]
    with pytest.raises(ListDamaged):
        await servicer(graph).BatchCheckFollows(pairs(allow_partial=False), patient())


@pytest.mark.parametrize("kind", ListKind)
async def test_a_damaged_list_is_the_error_of_its_users_counts_only(
    graph: PlainGraph, kind: ListKind
) -> None:
    graph.damage(kind, LOW)
    request = pb.GetCountsRequest(user_ids=USERS, allow_partial=True)
    answer = await servicer(graph).GetCounts(request, patient())
    assert [(each.index, each.code, each.reason) for each in answer.errors] == [
        (1, DATA_LOSS, Reason.LIST_DAMAGED),
        (4, DATA_LOSS, Reason.LIST_DAMAGED),
    ]
    assert f"the {kind} list of user {LOW}" in answer.errors[0].message
    assert [(each.user_id, each.following, each.followers) for each in answer.users] == [
        (HIGH, 1, 1), (LOW, 0, 0), (HIGH_TOO, 1, 0), (LOW_TOO, 1, 1), (LOW, 0, 0),
    ]  # fmt: skip
    with pytest.raises(ListDamaged):
        await servicer(graph).GetCounts(pb.GetCountsRequest(user_ids=USERS), patient())


async def test_an_instance_that_fails_is_the_error_of_all_its_lists(graph: PlainGraph) -> None:
    graph.high.failure = ShardUnavailable("away")
    graph.damage(ListKind.FOLLOWING, LOW_TOO)
    counts = await graph.queries.counts(USERS, patient())
    assert {i: each.reason for i, each in counts.errors.items()} == {
        0: Reason.SHARD_UNAVAILABLE,
        2: Reason.SHARD_UNAVAILABLE,
        3: Reason.LIST_DAMAGED,
    }
    assert [counts.values[i] for i in (1, 4)] == [Counts(2, 3)] * 2
    held = await graph.queries.followed_pairs([LOW, HIGH, LOW_TOO], [HIGH, LOW, LOW], patient())
    assert {i: each.reason for i, each in held.errors.items()} == {
        1: Reason.SHARD_UNAVAILABLE,
        2: Reason.LIST_DAMAGED,
    }
    assert held.values[0]
