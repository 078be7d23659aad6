"""Conformance suite of the EdgeLists Protocol, on real nodes of every family."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
import redis.asyncio

from graphsvc.backends.edge_lists import Added, Addition, EdgeLists
from graphsvc.backends.redis.edge_lists import SortedSetEdgeLists
from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import ConnectionLost, Internal, ShardUnavailable
from graphsvc.model.ids import MAX_ID
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.edge_list_model import PlainEdgeLists

T0 = 1_700_000_000_000_000
A = ListRef(0, ListKind.FOLLOWING, 11)
B = ListRef(4095, ListKind.FOLLOWERS, 12)
UNLIMITED = 10**9


@pytest.fixture
async def lists(topology: Topology, cluster: ClusterSettings) -> AsyncIterator[EdgeLists]:
    lists = SortedSetEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics())
    yield lists
    await lists.close()


async def walk(lists: EdgeLists, ref: ListRef, order: Order, step: int) -> list[tuple[int, int]]:
    """The whole list in pages, as (time, id)."""
    found: list[tuple[int, int]] = []
    after: Cursor | None = None
    while True:
        page = await lists.page(ref, order, after, step)
        found += zip(page.times_us, page.ids, strict=True)
        if not page.more:
            return found
        after = Cursor(page.times_us[-1], page.ids[-1])


async def test_an_added_edge_is_seen_and_counted(lists: EdgeLists) -> None:
    assert await lists.add([Addition(A, 5, T0), Addition(B, 6, T0 + 1)], UNLIMITED) == [
        Added(changed=True, time_us=T0),
        Added(changed=True, time_us=T0 + 1),
    ]
    assert await lists.times([(A, [5, 6]), (B, [6, 5])]) == [[T0, 0], [T0 + 1, 0]]
    assert await lists.sizes([A, B, A._replace(user_id=99)]) == [1, 1, 0]


async def test_the_earlier_time_stays_and_now_changes_nothing(lists: EdgeLists) -> None:
    await lists.add([Addition(A, 5, T0)], UNLIMITED)
    assert await lists.add([Addition(A, 5, T0 + 9)], UNLIMITED) == [Added(changed=False, time_us=T0)]
    assert await lists.add([Addition(A, 5, 0)], UNLIMITED) == [Added(changed=False, time_us=T0)]
    assert await lists.add([Addition(A, 5, T0 - 9)], UNLIMITED) == [Added(changed=True, time_us=T0 - 9)]


async def test_now_is_now(lists: EdgeLists) -> None:
    [added] = await lists.add([Addition(A, 5, 0)], UNLIMITED)
    assert added.changed
    assert added.time_us > T0
    assert await lists.times([(A, [5])]) == [[added.time_us]]


async def test_a_full_list_takes_no_more(lists: EdgeLists) -> None:
    answers = await lists.add([Addition(A, i, T0) for i in (1, 2, 3, 2)], 2)
    assert [answer.time_us for answer in answers] == [T0, T0, 0, T0]
    assert await lists.sizes([A]) == [2]


async def test_put_sets_exactly_this_time(lists: EdgeLists) -> None:
    await lists.put([Addition(A, 5, T0), Addition(B, 5, T0)])
    await lists.put([Addition(A, 5, T0 + 7), Addition(B, 5, T0 - 7)])
    assert await lists.times([(A, [5]), (B, [5])]) == [[T0 + 7], [T0 - 7]]


async def test_remove_tells_whether_the_edge_stood(lists: EdgeLists) -> None:
    await lists.put([Addition(A, 5, T0)])
    assert await lists.remove(A, 5)
    assert not await lists.remove(A, 5)
    assert await lists.sizes([A]) == [0]


async def test_extreme_ids_and_times_are_exact(lists: EdgeLists) -> None:
    edges = [(time, edge_id) for time in (EARLIEST_TIME_US, 4_102_444_800_000_000) for edge_id in
             (1, 2, 2**31, 2**32 + 1, 2**53 + 1, MAX_ID - 1, MAX_ID)]  # fmt: skip
    for time, edge_id in edges[:7]:
        await lists.put([Addition(A, edge_id, time)])
    await lists.put([Addition(B, edge_id, time) for time, edge_id in edges[7:]])
    assert await walk(lists, A, Order.OLDEST_FIRST, 1) == edges[:7]
    assert await walk(lists, B, Order.NEWEST_FIRST, 1) == edges[:6:-1]


async def test_edges_of_one_microsecond_are_seen_once_each_in_order_of_ids(lists: EdgeLists) -> None:
    ids = random.Random(1).sample(range(1, MAX_ID), 10_000)
    await lists.put([Addition(A, edge_id, T0) for edge_id in ids])
    expected = [(T0, edge_id) for edge_id in sorted(ids)]
    assert await walk(lists, A, Order.OLDEST_FIRST, 999) == expected
    assert await walk(lists, A, Order.NEWEST_FIRST, 1_000) == expected[::-1]


@pytest.mark.parametrize("order", Order)
async def test_a_walk_sees_untouched_edges_once_whatever_happens_around_the_cursor(
    lists: EdgeLists, order: Order
) -> None:
    chance = random.Random(f"walk {order}")
    edges = {edge_id: T0 + chance.randrange(300) for edge_id in range(1, 2_001)}
    await lists.put([Addition(A, edge_id, time) for edge_id, time in edges.items()])
    touched: set[int] = set()
    seen: list[int] = []
    after: Cursor | None = None
    while True:
        page = await lists.page(A, order, after, 50)
        seen += page.ids
        if not page.more:
            break
        after = Cursor(page.times_us[-1], page.ids[-1])
        victims = [after.id, *chance.sample(sorted(edges), 40)]
        for victim in victims:
            await lists.remove(A, victim)
        again = [victims[0], *chance.sample(victims, 5), chance.randrange(10_000, 20_000)]
        await lists.put([Addition(A, edge_id, T0 + chance.randrange(300)) for edge_id in again])
        touched.update(victims, again)
    untouched = [edge_id for edge_id in seen if edge_id not in touched]
    expected = sorted((time, edge_id) for edge_id, time in edges.items() if edge_id not in touched)
    expected = expected if order is Order.OLDEST_FIRST else expected[::-1]
    assert untouched == [edge_id for _, edge_id in expected]


@pytest.mark.parametrize("seed", range(4))
async def test_random_histories_agree_with_the_model(lists: EdgeLists, seed: int) -> None:
    chance, model = random.Random(seed), PlainEdgeLists()
    refs = [ListRef(shard, kind, 7) for shard in (0, 1, 4095) for kind in ListKind]
    ids = [chance.randrange(1, MAX_ID) for _ in range(60)]

    def edge() -> tuple[ListRef, int, int]:
        return chance.choice(refs), chance.choice(ids), T0 + chance.randrange(40)

    for _ in range(150):
        edges = [edge() for _ in range(chance.randrange(1, 12))]
        match chance.randrange(4):
            case 0 | 1:
                answers = await lists.add([Addition(*each) for each in edges], 25)
                # Within a shard the order asked is kept; between shards order does not matter.
                assert answers == [Added(*model.add(*each, limit=25)) for each in edges]
            case 2:
                await lists.put([Addition(*each) for each in edges])
                for each in edges:
                    model.put(*each)
            case _:
                for ref, edge_id, _ in edges:
                    assert await lists.remove(ref, edge_id) == model.remove(ref, edge_id)
        ref, order, step = chance.choice(refs), chance.choice(list(Order)), chance.randrange(1, 30)
        after = chance.choice([None, Cursor(T0 + chance.randrange(-1, 41), chance.choice(ids))])
        assert await lists.page(ref, order, after, step) == model.page(ref, order, after, step)
        assert await lists.times([(ref, ids)]) == [model.times(ref, ids)]
        assert await lists.sizes(refs) == [len(model.lists.get(each, {})) for each in refs]


async def test_calls_survive_script_flush(lists: EdgeLists, nodes: list[NodeProcess]) -> None:
    for i in range(3):
        async with admin_client(nodes[0].node) as client:
            await client.script_flush()
        additions = [Addition(A._replace(shard=shard), 5 + i, T0) for shard in range(50)]
        assert await lists.add(additions, UNLIMITED) == [Added(changed=True, time_us=T0)] * 50
        assert (await lists.page(A, Order.NEWEST_FIRST, None, 9)).size == i + 1


async def test_a_list_of_a_wrong_type_is_an_error_never_an_answer(
    lists: EdgeLists, nodes: list[NodeProcess]
) -> None:
    async with admin_client(nodes[0].node) as client:
        await client.set(b"following:11", b"damaged")
    with pytest.raises(Internal):
        await lists.sizes([A])
    with pytest.raises(Internal):
        await lists.add([Addition(A, 5, T0)], UNLIMITED)


async def test_the_list_of_a_shard_is_in_the_database_of_that_number(
    lists: EdgeLists, nodes: list[NodeProcess]
) -> None:
    await lists.put([Addition(B, 6, T0)])
    async with redis.asyncio.Redis(host="127.0.0.1", port=nodes[0].node.port, db=4095) as client:
        assert await client.zscore("followers:12", (6).to_bytes(8, "big")) == T0


@pytest.mark.parametrize(
    "change", [{"cluster": "another"}, {"id": "d" * 32}, {"placement": "hash"}, {"store_format": 2}], ids=str
)
async def test_a_node_of_another_cluster_is_refused(
    topology: Topology, cluster: ClusterSettings, change: dict[str, object]
) -> None:
    other = ClusterSettings.model_validate({**cluster.model_dump(), **change})
    lists = SortedSetEdgeLists(topology.instances[0], other, RedisSettings(), Metrics())
    with pytest.raises(ShardUnavailable):
        await lists.put([Addition(A, 5, T0)])
    await lists.close()


async def test_a_node_that_lost_its_identity_is_refused(
    topology: Topology, cluster: ClusterSettings, nodes: list[NodeProcess]
) -> None:
    async with admin_client(nodes[0].node) as client:
        await client.flushall()
    lists = SortedSetEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics())
    with pytest.raises(ShardUnavailable):
        await lists.sizes([A])
    await lists.close()


async def test_closed_lists_refuse(lists: EdgeLists) -> None:
    await lists.sizes([A])
    await lists.close()
    with pytest.raises((ConnectionLost, ShardUnavailable)):
        await lists.sizes([A])


async def test_cancelled_calls_never_give_others_a_foreign_reply(lists: EdgeLists) -> None:
    chance = random.Random(9)
    refs = [ListRef(i % 4096, ListKind.FOLLOWING, 1_000 + i) for i in range(200)]
    await lists.put([Addition(ref, ref.user_id, T0 + ref.user_id) for ref in refs])

    async def ask(ref: ListRef) -> None:
        assert await lists.times([(ref, [ref.user_id, 1])]) == [[T0 + ref.user_id, 0]]
        page = await lists.page(ref, Order.NEWEST_FIRST, None, 5)
        assert page.ids == [ref.user_id]

    for _ in range(50):
        calls = [asyncio.create_task(ask(ref)) for ref in chance.sample(refs, 40)]
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert all(each is None or isinstance(each, asyncio.CancelledError) for each in results), results
        assert all(each is None for each in results[1::2])
