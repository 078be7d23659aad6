"""Writes on both sides: what is asked of the other side, and what a caller is told where a side fails."""

import pytest

from graphsvc.backends.edge_lists import Inverse, Removal
from graphsvc.graph.import_columns import ImportColumns
from graphsvc.model.edges import ListKind
from graphsvc.model.errors import FollowLimit, Internal, ListDamaged, Overloaded, Reason, ShardUnavailable
from graphsvc.runtime.deadline import Deadline
from tests.plain_graph import HIGH, HIGH_TOO, LOW, LOW_TOO, PlainGraph, list_of, patient

T0 = 1_600_000_000_000_000
FOLLOWING, FOLLOWERS = ListKind.FOLLOWING, ListKind.FOLLOWERS


def columns(*edges: tuple[int, int, int]) -> ImportColumns:
    followers, targets, times = zip(*edges, strict=True)
    return ImportColumns(followers, targets, times)


async def test_both_sides_have_one_time_and_a_repetition_changes_nothing() -> None:
    graph = PlainGraph()
    written = await graph.follows.follow(LOW, HIGH, patient())
    since_us = written.followed_at_us
    assert (written.changed, written.inverse_pending) == (True, False)
    for _ in range(2):
        assert graph.edges(FOLLOWING, LOW) == {HIGH: {since_us}}
        assert graph.edges(FOLLOWERS, HIGH) == {LOW: {since_us}}
        assert await graph.follows.follow(LOW, HIGH, patient()) == (False, since_us, False)


async def test_a_repetition_mends_a_missing_inverse_and_one_left_over() -> None:
    graph = PlainGraph()
    written = await graph.follows.follow(LOW, HIGH, patient())
    graph.high.lists.clear()
    await graph.follows.follow(LOW, HIGH, patient())
    assert graph.edges(FOLLOWERS, HIGH) == {LOW: {written.followed_at_us}}

    graph.low.lists.clear()
    assert await graph.follows.unfollow(LOW, HIGH, patient()) == (False, 0, False)
    assert graph.edges(FOLLOWERS, HIGH) == {}


@pytest.mark.parametrize(("inverse_us", "asked_us"), [(T0, [T0]), (T0 + 5, [T0, 0])])
async def test_an_unfollow_removes_the_inverse_at_its_time_and_searches_where_it_is_not(
    inverse_us: int, asked_us: list[int]
) -> None:
    graph = PlainGraph()
    await graph.follows.import_edges(columns((LOW, HIGH, T0), (LOW_TOO, HIGH, T0)))
    graph.high.lists[list_of(FOLLOWERS, HIGH)][LOW] = frozenset({inverse_us})
    assert await graph.follows.unfollow(LOW, HIGH, patient()) == (True, 0, False)
    followers = list_of(FOLLOWERS, HIGH)
    assert graph.high.removals == [Removal(followers, LOW, time_us) for time_us in asked_us]
    assert graph.edges(FOLLOWING, LOW) == {}
    assert graph.edges(FOLLOWERS, HIGH) == {LOW_TOO: {T0}}


async def test_an_import_tells_the_other_side_the_time_that_an_edge_had_before() -> None:
    graph = PlainGraph()
    await graph.follows.import_edges(columns((LOW, HIGH, T0 + 5)))
    imported = await graph.follows.import_edges(columns((LOW, HIGH, T0 + 9), (LOW, HIGH, T0)))
    assert imported == (1, {}, 0)
    followers = list_of(FOLLOWERS, HIGH)
    assert graph.high.inverses == [
        Inverse(followers, LOW, T0 + 5),
        Inverse(followers, LOW, T0 + 5),
        Inverse(followers, LOW, T0, former_us=T0 + 5),
    ]
    assert graph.edges(FOLLOWING, LOW) == {HIGH: {T0}}
    assert graph.edges(FOLLOWERS, HIGH) == {LOW: {T0}}


async def test_the_follow_limit_is_told_and_nothing_is_written() -> None:
    graph = PlainGraph(max_followed_users=1)
    await graph.follows.follow(LOW, HIGH, patient())
    with pytest.raises(FollowLimit):
        await graph.follows.follow(LOW, HIGH_TOO, patient())
    imported = await graph.follows.import_edges(columns((LOW, HIGH_TOO, T0), (LOW_TOO, HIGH_TOO, T0)))
    assert (imported.changed, [*imported.errors]) == (1, [0])
    assert imported.errors[0].reason is Reason.FOLLOW_LIMIT
    assert graph.edges(FOLLOWERS, HIGH_TOO) == {LOW_TOO: {T0}}


async def test_a_damaged_list_of_the_follower_refuses_and_nothing_is_written() -> None:
    graph = PlainGraph()
    await graph.follows.import_edges(columns((LOW, HIGH, T0)))
    graph.damage(FOLLOWING, LOW)
    with pytest.raises(ListDamaged) as told:
        await graph.follows.follow(LOW, HIGH_TOO, patient())
    assert told.value.list == list_of(FOLLOWING, LOW)
    with pytest.raises(ListDamaged):
        await graph.follows.unfollow(LOW, HIGH, patient())
    imported = await graph.follows.import_edges(columns((LOW, HIGH_TOO, T0), (LOW_TOO, HIGH_TOO, T0)))
    assert (imported.changed, [*imported.errors], imported.inverse_pending) == (1, [0], 0)
    assert imported.errors[0].reason is Reason.LIST_DAMAGED
    assert graph.edges(FOLLOWERS, HIGH) == {LOW: {T0}}
    assert graph.edges(FOLLOWERS, HIGH_TOO) == {LOW_TOO: {T0}}


async def test_a_damaged_list_of_followers_is_told_the_forward_side_stands_and_a_repetition_mends() -> None:
    graph = PlainGraph()
    await graph.follows.import_edges(columns((LOW_TOO, HIGH, T0)))
    graph.damage(FOLLOWERS, HIGH)
    with pytest.raises(ListDamaged) as told:
        await graph.follows.follow(LOW, HIGH, patient())
    assert told.value.list == list_of(FOLLOWERS, HIGH)
    with pytest.raises(ListDamaged):
        await graph.follows.unfollow(LOW_TOO, HIGH, patient())
    assert [*graph.edges(FOLLOWING, LOW)] == [HIGH]
    assert graph.edges(FOLLOWING, LOW_TOO) == {}
    assert graph.pending() == 0

    graph.mend()
    written = await graph.follows.follow(LOW, HIGH, patient())
    assert not written.changed
    await graph.follows.unfollow(LOW_TOO, HIGH, patient())
    assert graph.edges(FOLLOWERS, HIGH) == {LOW: {written.followed_at_us}}


async def test_in_an_import_a_damaged_list_of_followers_is_the_error_of_its_edges_only() -> None:
    graph = PlainGraph()
    graph.damage(FOLLOWERS, HIGH)
    edges = columns((LOW, HIGH_TOO, T0), (LOW, HIGH, T0), (LOW_TOO, HIGH, T0), (HIGH, LOW, T0))
    imported = await graph.follows.import_edges(edges)
    assert (imported.changed, sorted(imported.errors), imported.inverse_pending) == (2, [1, 2], 0)
    assert {each.reason for each in imported.errors.values()} == {Reason.LIST_DAMAGED}
    assert graph.pending() == 0
    assert graph.edges(FOLLOWING, LOW) == {HIGH_TOO: {T0}, HIGH: {T0}}
    assert graph.edges(FOLLOWERS, LOW) == {HIGH: {T0}}

    graph.mend()
    assert await graph.follows.import_edges(edges) == (0, {}, 0)
    assert graph.edges(FOLLOWERS, HIGH) == {LOW: {T0}, LOW_TOO: {T0}}


@pytest.mark.parametrize(
    "failure", [ShardUnavailable("away"), Overloaded("full")], ids=lambda each: each.reason
)
async def test_where_the_other_side_fails_for_now_inverses_are_pending(failure: ShardUnavailable) -> None:
    graph = PlainGraph()
    graph.high.failure = failure
    written = await graph.follows.follow(LOW, HIGH, patient())
    assert (written.changed, written.inverse_pending) == (True, True)
    assert graph.pending() == 1
    imported = await graph.follows.import_edges(
        columns((LOW, HIGH_TOO, T0), (LOW_TOO, HIGH_TOO, T0), (LOW, LOW_TOO, T0))
    )
    assert imported == (3, {}, 2)
    assert graph.pending() == 3


async def test_where_the_other_side_fails_by_a_fault_its_edges_have_that_error() -> None:
    graph = PlainGraph()
    graph.high.failure = Internal()
    with pytest.raises(Internal):
        await graph.follows.follow(LOW, HIGH, patient())
    imported = await graph.follows.import_edges(columns((LOW, HIGH_TOO, T0), (LOW, LOW_TOO, T0)))
    assert (imported.changed, [*imported.errors], imported.inverse_pending) == (1, [0], 0)


async def test_where_time_is_up_the_inverse_is_pending_and_goes_on() -> None:
    graph = PlainGraph()
    graph.high.open.clear()
    written = await graph.follows.follow(LOW, HIGH, Deadline.after(0))
    assert (written.changed, written.inverse_pending) == (True, True)
    graph.high.open.set()
    await graph.follows.finish()
    assert graph.edges(FOLLOWERS, HIGH) == {LOW: {written.followed_at_us}}


async def test_damage_that_is_found_after_the_answer_ends_the_write() -> None:
    graph = PlainGraph()
    graph.damage(FOLLOWERS, HIGH)
    graph.high.open.clear()
    assert (await graph.follows.follow(LOW, HIGH, Deadline.after(0))).inverse_pending
    graph.high.open.set()
    await graph.follows.finish()
    with pytest.raises(ListDamaged):  # the pair is free again
        await graph.follows.follow(LOW, HIGH, patient())
