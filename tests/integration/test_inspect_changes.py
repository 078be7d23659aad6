"""Lists that change while they are inspected: no problem is seen that is none, and damage is found."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from graphsvc.backends.edge_lists import Addition, Inverse, Removal
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.backends.redis.packed.block import HEAD, LONG, Block, decode_separator
from graphsvc.backends.redis.packed.inspection import RUN
from graphsvc.backends.redis.packed.keys import Place, block_key, directory_key, list_key
from graphsvc.model.edges import Cursor, ListKind, ListRef
from graphsvc.model.errors import ListDamaged
from graphsvc.model.ids import spread
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.packed_lists import FOLLOWERS, FOLLOWING, SHORT_IDS, T0, USER, assert_good, block_of, stored_in

SMALL = BlockSizes(head_rows=12, sealed_rows=8, block_rows=12, pull_below=2, merge_below=4, merged_rows=8)
UNLIMITED = 10**9
SEEN_ONCE = " (seen once, while the list changed)"
EDGE_COUNT = "the head tells a wrong number of edges in sealed blocks"


@pytest.fixture
async def small_blocks(topology: Topology, cluster: ClusterSettings) -> AsyncIterator[PackedEdgeLists]:
    """Lists that split, merge and change their form every few writes."""
    lists = PackedEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics(), SMALL)
    yield lists
    await lists.close()


class Writer:
    """Changes a list at random, in old and new places; what is refused, as damaged, changes nothing."""

    def __init__(self, lists: PackedEdgeLists, list_ref: ListRef) -> None:
        self._lists = lists
        self._ref = list_ref
        self._chance = random.Random(str(list_ref.kind))
        self.edges: dict[int, int] = {}
        self.writes = 0

    async def write(self) -> None:
        """Add an edge, or remove one."""
        edge_id, time_us = spread(self._chance.randrange(1, 900), USER), T0 + self._chance.randrange(10**9)
        standing_us = self.edges.get(edge_id, 0)
        [done] = await self._change(edge_id, time_us, standing_us)
        if not isinstance(done, ListDamaged):
            if standing_us:
                del self.edges[edge_id]
            else:
                self.edges[edge_id] = time_us
        self.writes += 1

    async def _change(self, edge_id: int, time_us: int, standing_us: int) -> Sequence[object]:
        if standing_us:
            return await self._lists.remove([Removal(self._ref, edge_id, standing_us)])
        if self._ref.kind is ListKind.FOLLOWING:
            return await self._lists.add([Addition(self._ref, edge_id, time_us)], UNLIMITED)
        return await self._lists.put([Inverse(self._ref, edge_id, time_us)])

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Goes on writing until the context ends; fails at once when it cannot."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._go_on())
            yield
            task.cancel()

    async def _go_on(self) -> None:
        while True:
            await self.write()


@pytest.mark.parametrize("list_ref", [FOLLOWING, FOLLOWERS], ids=lambda each: each.kind)
async def test_a_list_that_changes_has_no_problem(small_blocks: PackedEdgeLists, list_ref: ListRef) -> None:
    writer = Writer(small_blocks, list_ref)
    inspected = 0
    async with writer.writing():
        while writer.writes < 2_000:
            found = await small_blocks.inspect(list_ref, check=True)
            assert found.problems == ()
            assert all(each.endswith(SEEN_ONCE) for each in found.unchecked)
            assert (await small_blocks.inspect(list_ref, check=False)).problems == ()
            inspected += 1
    assert inspected > 10
    found = await small_blocks.inspect(list_ref, check=True)
    assert_good(found)
    assert found.blocks > 2 * RUN


@pytest.mark.parametrize("list_ref", [FOLLOWING, FOLLOWERS], ids=lambda each: each.kind)
async def test_damage_of_a_list_that_changes_is_found_and_nothing_else(
    small_blocks: PackedEdgeLists, node: Redis, list_ref: ListRef
) -> None:
    writer, key = Writer(small_blocks, list_ref), list_key(list_ref)
    while writer.writes < 1_500:
        await writer.write()
    [entry] = await node.zrange(directory_key(key), 20, 20)
    assert isinstance(entry, bytes)
    number = decode_separator(entry).number
    await node.delete(block_key(key, number))
    async with writer.writing():
        for _ in range(10):
            found = await small_blocks.inspect(list_ref, check=True)
            assert found.problems == (f"block {number} is missing",)


async def test_a_count_that_lies_is_told_and_judged_once_writes_pause(
    small_blocks: PackedEdgeLists, node: Redis
) -> None:
    """While they go on a wrong sum may be theirs."""
    writer, key = Writer(small_blocks, FOLLOWERS), list_key(FOLLOWERS)
    while writer.writes < 1_500:
        await writer.write()
    head = Block(await stored_in(node, key), Place(key))
    edges = [Cursor(time_us, each) for each, time_us in zip(*head.columns(SHORT_IDS), strict=True)]
    lie = head.totals._replace(edges=head.totals.edges + 1_000)
    await node.set(key, block_of(edges, HEAD | LONG, lie, Place(key)))
    [problem] = (await small_blocks.inspect(FOLLOWERS, check=True)).problems
    assert problem == f"{EDGE_COUNT}: {lie.edges:,}, but they have {head.totals.edges:,}"
    async with writer.writing():
        for _ in range(10):
            found = await small_blocks.inspect(FOLLOWERS, check=True)
            [told] = [each for each in (*found.problems, *found.unchecked) if each.startswith(EDGE_COUNT)]
            assert found.problems == (() if told.endswith(SEEN_ONCE) else (told,))
