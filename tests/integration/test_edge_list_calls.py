"""Calls of the edge lists and what may come between: forgotten functions, wrong nodes, cancelled callers."""

import asyncio
import random

import pytest

from graphsvc.backends.edge_lists import Added, Addition, Inverse, Removal
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import ConnectionLost, ShardUnavailable
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.edge_shapes import PRODUCT, T0, TINY, UNLIMITED

A = ListRef(0, ListKind.FOLLOWING, 11)
B = ListRef(4095, ListKind.FOLLOWERS, 12)


async def flush_functions(node: NodeProcess) -> None:
    """Let a node forget all functions."""
    async with admin_client(node.node) as client:
        await client.script_flush()
        await client.function_flush()


async def test_no_call_fails_after_the_node_forgot_the_functions(
    lists: PackedEdgeLists, nodes: list[NodeProcess]
) -> None:
    shards = [A._replace(shard=shard) for shard in range(50)]
    for number in range(3):
        await flush_functions(nodes[0])
        additions = [Addition(ref, 5 + number, T0) for ref in shards]
        assert await lists.add(additions, UNLIMITED) == [Added(True, T0)] * 50
        await flush_functions(nodes[0])
        assert await lists.put([Inverse(B, 5 + number, T0)]) == [True]
        await flush_functions(nodes[0])
        assert (await lists.page(A, Order.NEWEST_FIRST, Cursor(T0 + 1, 1), 9)).size == number + 1
        await flush_functions(nodes[0])
        assert await lists.time_of(B, 5 + number) == T0
    await flush_functions(nodes[0])
    assert await lists.remove([Removal(ref, 5) for ref in shards]) == [T0] * 50
    await flush_functions(nodes[0])
    assert await lists.drop(B) == 3


async def test_servers_with_other_block_sizes_or_versions_write_side_by_side(
    topology: Topology, cluster: ClusterSettings
) -> None:
    drivers = [
        PackedEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics(), sizes)
        for sizes in (TINY, PRODUCT)
    ]
    stands: dict[int, int] = {}
    chance = random.Random(4)
    for number in range(600):
        lists = drivers[chance.randrange(2)]
        edge_id, time_us = chance.randint(1, 10**6), T0 + chance.randrange(10**9)
        await lists.add([Addition(A, edge_id, time_us)], UNLIMITED)
        stands[edge_id] = min(time_us, stands.get(edge_id, time_us))
        if number % 3 == 0:
            gone = chance.choice(sorted(stands))
            assert await lists.remove([Removal(A, gone)]) == [stands.pop(gone)]
    for lists in drivers:
        page = await lists.page(A, Order.OLDEST_FIRST, None, 1_000)
        assert list(zip(page.times_us, page.ids, strict=True)) == sorted((t, i) for i, t in stands.items())
        assert (await lists.inspect(A, check=True)).problems == ()
        await lists.close()


@pytest.mark.parametrize(
    "change", [{"cluster": "another"}, {"id": "d" * 32}, {"placement": "hash"}, {"store_format": 99}], ids=str
)
async def test_a_node_of_another_cluster_is_refused(
    topology: Topology, cluster: ClusterSettings, change: dict[str, object]
) -> None:
    other = ClusterSettings.model_validate({**cluster.model_dump(), **change})
    lists = PackedEdgeLists(topology.instances[0], other, RedisSettings(), Metrics())
    with pytest.raises(ShardUnavailable):
        await lists.put([Inverse(B, 5, T0)])
    await lists.close()


async def test_a_node_that_lost_its_identity_is_refused(
    topology: Topology, cluster: ClusterSettings, nodes: list[NodeProcess]
) -> None:
    async with admin_client(nodes[0].node) as client:
        await client.flushall()
    lists = PackedEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics())
    with pytest.raises(ShardUnavailable):
        await lists.sizes([A])
    await lists.close()


async def test_closed_lists_refuse(lists: PackedEdgeLists) -> None:
    await lists.sizes([A])
    await lists.close()
    with pytest.raises((ConnectionLost, ShardUnavailable)):
        await lists.sizes([A])


async def test_cancelled_calls_never_give_others_a_foreign_reply(lists: PackedEdgeLists) -> None:
    chance = random.Random(9)
    refs = [ListRef(i % 4096, ListKind.FOLLOWING, 1_000 + i) for i in range(200)]
    await lists.add([Addition(ref, ref.user_id, T0 + ref.user_id) for ref in refs], UNLIMITED)

    async def ask(ref: ListRef) -> None:
        assert await lists.contains([(ref, [ref.user_id, 1])]) == [[True, False]]
        assert await lists.time_of(ref, ref.user_id) == T0 + ref.user_id
        for order in Order:
            assert (await lists.page(ref, order, None, 5)).ids == [ref.user_id]
        again = await lists.add([Addition(ref, ref.user_id, 0)], UNLIMITED)
        assert again == [Added(False, T0 + ref.user_id)]

    for _ in range(50):
        calls = [asyncio.create_task(ask(ref)) for ref in chance.sample(refs, 40)]
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert all(each is None or isinstance(each, asyncio.CancelledError) for each in results), results
        assert all(each is None for each in results[1::2])
