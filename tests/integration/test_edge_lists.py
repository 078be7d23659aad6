"""Conformance of the edge lists: each sentence of the Protocol, on real nodes of every family.

Histories beside the model are in test_edge_list_histories.py, walks in test_edge_list_walks.py, forms in
test_edge_list_forms.py, and what calls do to each other, and connections to them, in test_edge_list_calls.py.
"""

import random

import pytest

from graphsvc.backends.edge_lists import Added, Addition, EdgeLists, Inverse, Removal
from graphsvc.backends.redis.edge_lists import EDGES_A_COMMAND, MOST_INDEXED
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import list_key
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor, ListKind, ListRef, Order, Page
from graphsvc.model.ids import MAX_ID, spread
from graphsvc.model.topology import ClusterSettings
from tests.edge_shapes import LATEST_TIME_US, T0, UNLIMITED, USER
from tests.stored_lists import read_list, shard_client

A = ListRef(0, ListKind.FOLLOWING, 11)
B = ListRef(4095, ListKind.FOLLOWERS, 12)
NOBODY = ListRef(0, ListKind.FOLLOWING, 99)
LONG = 1_000
"""Edges of a list that is surely long."""


async def fill(lists: EdgeLists, ref: ListRef, count: int) -> list[Cursor]:
    """Give an empty list the edges of users 1, 2, 3 ..., a second apart."""
    edges = [Cursor(T0 + number * 1_000_000, spread(number, USER)) for number in range(1, count + 1)]
    if ref.kind is ListKind.FOLLOWING:
        await lists.add([Addition(ref, each.id, each.time_us) for each in edges], UNLIMITED)
    else:
        await lists.put([Inverse(ref, each.id, each.time_us) for each in edges])
    return edges


async def edges_of(lists: EdgeLists, ref: ListRef) -> list[Cursor]:
    """A whole short list, oldest first."""
    page = await lists.page(ref, Order.OLDEST_FIRST, None, 10_000)
    assert not page.more
    return [Cursor(*each) for each in zip(page.times_us, page.ids, strict=True)]


async def test_an_added_edge_is_seen_and_counted(lists: EdgeLists) -> None:
    additions = [Addition(A, 5, T0), Addition(A._replace(shard=17), 6, T0 + 1)]
    assert await lists.add(additions, UNLIMITED) == [Added(True, T0), Added(True, T0 + 1)]
    assert await lists.contains([(A, [5, 6]), (A._replace(shard=17), [6, 5])]) == [[True, False]] * 2
    assert await lists.time_of(A, 5) == T0
    assert await lists.time_of(A, 6) == 0
    assert await lists.sizes([A, A._replace(shard=17), NOBODY]) == [1, 1, 0]


async def test_what_no_list_has(lists: EdgeLists) -> None:
    assert await lists.contains([(NOBODY, [1, 2]), (NOBODY, [])]) == [[False, False], []]
    assert await lists.time_of(NOBODY, 1) == 0
    assert await lists.sizes([NOBODY]) == [0]
    assert await lists.remove([Removal(NOBODY, 1), Removal(NOBODY, 1, T0)]) == [0, 0]
    assert await lists.drop(NOBODY) == 0
    for order in Order:
        for after in (None, Cursor(T0, 1)):
            assert await lists.page(NOBODY, order, after, 50) == Page([], [], more=False, size=0)


async def test_calls_about_nothing(lists: EdgeLists) -> None:
    assert await lists.add([], UNLIMITED) == []
    assert await lists.put([]) == []
    assert await lists.remove([]) == []
    assert await lists.contains([]) == []
    assert await lists.sizes([]) == []
    await lists.ping()


async def test_the_earlier_time_stays_and_now_changes_nothing(lists: EdgeLists) -> None:
    await lists.add([Addition(A, 5, T0)], UNLIMITED)
    assert await lists.add([Addition(A, 5, T0 + 9)], UNLIMITED) == [Added(False, T0)]
    assert await lists.add([Addition(A, 5, T0)], UNLIMITED) == [Added(False, T0)]
    assert await lists.add([Addition(A, 5, 0)], UNLIMITED) == [Added(False, T0)]
    assert await lists.add([Addition(A, 5, T0 - 9)], UNLIMITED) == [Added(True, T0 - 9, former_us=T0)]
    assert await edges_of(lists, A) == [Cursor(T0 - 9, 5)]


async def test_now_is_now(lists: EdgeLists) -> None:
    [first] = await lists.add([Addition(A, 5, 0)], UNLIMITED)
    [second] = await lists.add([Addition(A, 6, 0)], UNLIMITED)
    assert isinstance(first, Added)
    assert isinstance(second, Added)
    assert first.changed
    assert T0 < first.time_us <= second.time_us
    assert await edges_of(lists, A) == [Cursor(first.time_us, 5), Cursor(second.time_us, 6)]


@pytest.mark.parametrize("size", [2, LONG])
async def test_a_full_list_takes_no_more_but_lets_its_edges_move(lists: EdgeLists, size: int) -> None:
    edges = await fill(lists, A, size)
    additions = [Addition(A, MAX_ID, T0), Addition(A, edges[0].id, T0 + 9), Addition(A, edges[-1].id, T0)]
    assert await lists.add(additions, size) == [
        Added(False, 0),
        Added(True, T0 + 9, former_us=edges[0].time_us),
        Added(True, T0, former_us=edges[-1].time_us),
    ]
    assert (
        await lists.add([Addition(A, MAX_ID, T0), Addition(A, MAX_ID, 0)], size - 1) == [Added(False, 0)] * 2
    )
    assert await lists.sizes([A]) == [size]
    assert await lists.remove([Removal(A, edges[0].id)]) == [T0 + 9]
    assert await lists.add([Addition(A, MAX_ID, T0)], size) == [Added(True, T0)]


async def test_one_id_twice_in_a_call_is_added_once(lists: EdgeLists) -> None:
    answers = await lists.add([Addition(A, 5, T0 + each) for each in (1, 2, 0)], UNLIMITED)
    assert answers == [Added(True, T0 + 1), Added(False, T0 + 1), Added(True, T0, former_us=T0 + 1)]


@pytest.mark.parametrize("count", [1, 150, LONG])
async def test_put_moves_an_edge_to_exactly_this_time(lists: EdgeLists, count: int) -> None:
    edges = await fill(lists, B, count)
    for oldest_us in (T0 - 7, LATEST_TIME_US, edges[0].time_us):
        former_us = await lists.time_of(B, edges[0].id)
        assert await lists.put([Inverse(B, edges[0].id, oldest_us, former_us)]) == [True]
        assert await lists.put([Inverse(B, edges[0].id, oldest_us, former_us)]) == [False]
        assert await lists.put([Inverse(B, edges[0].id, oldest_us, oldest_us)]) == [False]
        assert await edges_of(lists, B) == sorted([Cursor(oldest_us, edges[0].id), *edges[1:]])


@pytest.mark.parametrize("grown_to", [200, 208, 209, 300])
async def test_put_replaces_an_untold_time_anywhere_in_a_list_of_200(lists: EdgeLists, grown_to: int) -> None:
    edges = await fill(lists, B, grown_to)
    await lists.remove([Removal(B, each.id, each.time_us) for each in edges[50 : grown_to - 150]])
    edges = edges[:50] + edges[grown_to - 150 :]
    for each in (edges[0], edges[49], edges[50], edges[199]):
        assert await lists.put([Inverse(B, each.id, each.time_us + 1)]) == [True]
        edges[edges.index(each)] = each._replace(time_us=each.time_us + 1)
        assert await edges_of(lists, B) == edges


async def test_put_with_a_wrong_former_time_is_the_callers_care(lists: EdgeLists) -> None:
    await lists.put([Inverse(B, 5, T0)])
    assert await lists.put([Inverse(B, 5, T0 + 7, T0 - 1)]) == [True]
    assert await edges_of(lists, B) == [Cursor(T0, 5), Cursor(T0 + 7, 5)]
    assert await lists.sizes([B]) == [2]
    assert await lists.contains([(B, [5])]) == [[True]]
    assert await lists.time_of(B, 5) in (T0, T0 + 7)
    assert await lists.remove([Removal(B, 5, T0)]) == [T0]
    assert await edges_of(lists, B) == [Cursor(T0 + 7, 5)]


@pytest.mark.parametrize("ref", [A, B], ids=["added", "put"])
@pytest.mark.parametrize("count", [3, LONG])
async def test_remove_tells_when_the_edge_stood(lists: EdgeLists, ref: ListRef, count: int) -> None:
    edges = await fill(lists, ref, count)
    for at in (0, len(edges) // 2, -1):
        wrong = Removal(ref, edges[at].id, edges[at].time_us + 1)
        assert await lists.remove([wrong, Removal(ref, MAX_ID), Removal(ref, MAX_ID, T0)]) == [0, 0, 0]
        assert await lists.sizes([ref]) == [len(edges)]
        told = at == 0
        removal = Removal(ref, edges[at].id, edges[at].time_us if told else 0)
        assert await lists.remove([removal, removal]) == [edges[at].time_us, 0]
        del edges[at]
        assert await edges_of(lists, ref) == edges


async def test_remove_finds_an_untold_time_among_the_newest_5_000(lists: EdgeLists) -> None:
    edges = await fill(lists, B, 12_000)
    victim = edges[-5_000]
    assert await lists.remove([Removal(B, victim.id)]) == [victim.time_us]
    assert await lists.sizes([B]) == [11_999]


async def test_extreme_ids_and_times_are_exact(lists: EdgeLists) -> None:
    ids = (1, 2, 2**31, 2**32 + 1, 2**53 + 1, MAX_ID - 1, MAX_ID)
    edges = [Cursor(time_us, each) for time_us in (EARLIEST_TIME_US, LATEST_TIME_US) for each in ids]
    await lists.put([Inverse(B, each.id, each.time_us, 1) for each in edges])
    assert await edges_of(lists, B) == edges
    for time_us in (LATEST_TIME_US, EARLIEST_TIME_US):
        await lists.add([Addition(A, each, time_us) for each in ids], UNLIMITED)
        assert await edges_of(lists, A) == [Cursor(time_us, each) for each in ids]


@pytest.mark.parametrize("count", [150, LONG])
async def test_pages_tell_what_follows_and_how_much_there_is(lists: EdgeLists, count: int) -> None:
    edges = await fill(lists, A, count)
    for order, ordered in ((Order.OLDEST_FIRST, edges), (Order.NEWEST_FIRST, edges[::-1])):
        for begin in (0, 1, 70, count - 50, count - 1, count):
            for limit in (1, 49, 50, 51, count):
                page = await lists.page(
                    order=order, list_ref=A, limit=limit, after=ordered[begin - 1] if begin else None
                )
                expected = ordered[begin : begin + limit]
                assert [Cursor(*each) for each in zip(page.times_us, page.ids, strict=True)] == expected
                assert page.more == (begin + limit < count)
                assert page.size == count


async def test_a_cursor_may_stand_where_no_edge_is(lists: EdgeLists) -> None:
    edges = await fill(lists, A, LONG)
    for at in (0, 1, 500, LONG - 1):
        for beside in (Cursor(edges[at].time_us, edges[at].id - 1), Cursor(edges[at].time_us - 1, MAX_ID)):
            older, newer = edges[max(0, at - 3) : at], edges[at : at + 3]
            page = await lists.page(A, Order.OLDEST_FIRST, beside, 3)
            assert page.ids == [each.id for each in newer]
            page = await lists.page(A, Order.NEWEST_FIRST, beside, 3)
            assert page.ids == [each.id for each in older[::-1]]
    for order, beyond in ((Order.OLDEST_FIRST, LATEST_TIME_US), (Order.NEWEST_FIRST, EARLIEST_TIME_US)):
        assert await lists.page(A, order, Cursor(beyond, 1), 3) == Page([], [], more=False, size=LONG)


async def test_one_call_writes_many_lists_of_many_shards_in_the_order_asked(lists: EdgeLists) -> None:
    chance = random.Random(1)
    refs = [ListRef(shard, ListKind.FOLLOWING, user) for shard in (0, 1, 4095) for user in (1, 2)]
    numbers = range(3 * EDGES_A_COMMAND + 5)
    additions = [Addition(chance.choice(refs), 1 + number % 90, T0 - number) for number in numbers]
    stands: dict[tuple[ListRef, int], int] = {}
    expected = []
    for ref, edge_id, time_us in additions:
        expected.append(Added(True, time_us, former_us=stands.get((ref, edge_id), 0)))
        stands[ref, edge_id] = time_us
    assert await lists.add(additions, UNLIMITED) == expected
    asked = [(ref, list(range(1, 91))) for ref in refs]
    assert await lists.contains(asked) == [[(ref, each) in stands for each in ids] for ref, ids in asked]
    removals = [Removal(ref, edge_id) for ref, edge_id, _ in additions]
    assert await lists.remove(removals) == [stands.pop(each[:2], 0) for each in removals]
    assert await lists.sizes(refs) == [0] * len(refs)


async def test_drop_tells_how_many_edges_there_were_and_leaves_no_key(
    lists: EdgeLists, nodes: list[NodeProcess]
) -> None:
    for ref in (A, B):
        for count in (1, 200, 12_000):
            await fill(lists, ref, count)
            assert await lists.drop(ref) == count
            async with shard_client(nodes[0].node, ref.shard) as client:
                assert await client.keys(list_key(ref) + b"*") == []


async def test_the_list_of_a_shard_is_in_the_database_of_that_number(
    lists: EdgeLists, nodes: list[NodeProcess]
) -> None:
    await lists.put([Inverse(B, 6, T0)])
    async with shard_client(nodes[0].node, B.shard) as client:
        assert await client.keys() == [list_key(B)]


@pytest.mark.long
async def test_a_list_with_an_index_takes_as_many_edges_as_an_intset(
    lists: EdgeLists, nodes: list[NodeProcess], cluster: ClusterSettings
) -> None:
    edges = await fill(lists, A, MOST_INDEXED)
    assert await lists.add([Addition(A, MAX_ID, T0)], UNLIMITED) == [Added(False, 0)]
    async with shard_client(nodes[0].node, A.shard) as client:
        assert (await read_list(client, A, ShortIds.of(cluster))).edges == edges
    assert await lists.drop(A) == MOST_INDEXED
