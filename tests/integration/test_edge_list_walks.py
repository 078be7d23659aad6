"""Walks while lists change: what is neither added nor removed meanwhile is seen exactly once, in order.

Changes come between the pages of a walk, between the commands of a page, and from others at the same time.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from operator import methodcaller

import pytest

from graphsvc.backends.edge_lists import Addition, EdgeLists, Inverse, Removal, walk
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import ShardUnavailable
from graphsvc.model.ids import MAX_ID, spread
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.compared_lists import ComparedLists, compared_lists
from tests.edge_shapes import PRODUCT, T0, TINY, UNLIMITED, USER
from tests.interrupted_link import InterruptedLink

ADDED = ListRef(0, ListKind.FOLLOWING, 11)
PUT = ListRef(4095, ListKind.FOLLOWERS, 12)

both_sorts = pytest.mark.parametrize("ref", [ADDED, PUT], ids=["added", "put"])
both_orders = pytest.mark.parametrize("order", Order, ids=["newest first", "oldest first"])


@pytest.fixture(params=[TINY, PRODUCT], ids=["tiny", "product"])
async def compared(
    request: pytest.FixtureRequest, topology: Topology, cluster: ClusterSettings
) -> AsyncIterator[ComparedLists]:
    async with compared_lists(topology.instances[0], cluster, request.param) as compared:
        yield compared


@both_sorts
@both_orders
async def test_10_000_edges_of_one_microsecond_with_changes_around_the_cursor(
    compared: ComparedLists, ref: ListRef, order: Order
) -> None:
    chance = random.Random(1)
    await compared.write(ref, [Cursor(T0, each) for each in chance.sample(range(1, MAX_ID), 10_000)])
    walk = compared.begin_walk(ref, order)
    while walk in compared.walks:
        await compared.step(walk, chance.randint(300, 999))
        assert walk.after
        around = [Cursor(T0, max(1, walk.after.id + each)) for each in (-2, -1, 1, 2)]
        standing = compared.standing(ref)
        at = standing.index(walk.after)
        await compared.remove_edges(ref, [standing[max(0, at - 3)], walk.after, *standing[at + 2 : at + 5]])
        await compared.write(ref, chance.sample(around, 3))
    assert len(walk.begun_with) - len(walk.touched) > 9_000
    await compared.stored(ref)


@both_sorts
async def test_pages_that_end_exactly_where_the_list_or_a_block_does(
    compared: ComparedLists, ref: ListRef
) -> None:
    edges = [Cursor(T0 + number, spread(number, USER)) for number in range(1, 81)]
    await compared.write(ref, edges)
    for order, ordered in ((Order.OLDEST_FIRST, edges), (Order.NEWEST_FIRST, edges[::-1])):
        for begin in range(len(edges)):
            limits = [limit for limit in range(len(edges) - begin - 1, len(edges) - begin + 2) if limit > 0]
            for limit in (*limits, 10, 24):
                await compared.agree(
                    methodcaller("page", ref, order, ordered[begin - 1] if begin else None, limit)
                )


@both_sorts
@both_orders
async def test_lists_that_change_their_form_between_pages(
    compared: ComparedLists, ref: ListRef, order: Order
) -> None:
    """It shrinks to what nobody touches, and grows to many blocks, several times in a walk."""
    chance = random.Random(2)
    edges = [Cursor(T0 + chance.randrange(10**9), spread(number, USER)) for number in range(1, 801)]
    await compared.write(ref, edges)
    for _ in range(3):
        walk = compared.begin_walk(ref, order)
        kept = set(chance.sample(compared.standing(ref), 15))
        while walk in compared.walks:
            await compared.step(walk, 4)
            gone = [each for each in compared.standing(ref) if each not in kept]
            await compared.remove_edges(ref, gone)
            if walk in compared.walks:
                await compared.step(walk, 2)
            await compared.write(ref, chance.sample(edges, 500))
            kept &= set(compared.standing(ref))
        assert set(walk.seen) >= kept
    await compared.check(ref, chance)


class Storm:
    """Changes to a list, all sorts of them, but for some of its edges."""

    def __init__(self, lists: EdgeLists, ref: ListRef, chance: random.Random, users: range) -> None:
        self.lists = lists
        self.ref = ref
        self.chance = chance
        self.users = users
        self.stands: dict[int, int] = {}
        """What it made stand, and when."""

    async def change(self) -> None:
        """One change: a few edges, or so many that the list changes its form."""
        match self.chance.randrange(8):
            case 0:
                await self.remove(len(self.users))
            case 1:
                await self.write(len(self.users) // 2)
            case 2 | 3 | 4:
                await self.write(self.chance.randint(1, 4))
            case _:
                await self.remove(self.chance.randint(1, 4))

    async def write(self, count: int) -> None:
        """Make edges stand, which may stand at another time."""
        edges = {each: T0 + self.chance.randrange(10**9) for each in self.chance.sample(self.users, count)}
        if self.ref.kind is ListKind.FOLLOWING:
            edges = {each: min(time_us, self.stands.get(each, time_us)) for each, time_us in edges.items()}
            await self.lists.add([Addition(self.ref, *edge) for edge in edges.items()], UNLIMITED)
        else:
            await self.lists.put(
                [Inverse(self.ref, *edge, self.stands.get(edge[0], 0)) for edge in edges.items()]
            )
        self.stands |= edges

    async def remove(self, count: int) -> None:
        """Remove some of the edges."""
        gone = self.chance.sample(sorted(self.stands), min(count, len(self.stands)))
        times = await self.lists.remove([Removal(self.ref, each, self.stands[each]) for each in gone])
        assert times == [self.stands.pop(each) for each in gone]


async def make_untouched(lists: EdgeLists, ref: ListRef) -> list[Cursor]:
    """Edges that no storm touches: spread over its times, some of them at one microsecond."""
    edges = [Cursor(T0 + number // 2 * 10**8 + 7, spread(number + 1, USER)) for number in range(16)]
    if ref.kind is ListKind.FOLLOWING:
        await lists.add([Addition(ref, each.id, each.time_us) for each in edges], UNLIMITED)
    else:
        await lists.put([Inverse(ref, each.id, each.time_us) for each in edges])
    return edges


async def seen_in_walk(lists: EdgeLists, ref: ListRef, order: Order, step: int) -> list[Cursor]:
    """All that a walk sees, begun again from the page that a quickly changing list refused."""
    seen: list[Cursor] = []
    more = True
    while more:
        try:
            page = await lists.page(ref, order, seen[-1] if seen else None, step)
        except ShardUnavailable:
            continue
        seen += [Cursor(*each) for each in zip(page.times_us, page.ids, strict=True)]
        more = page.more
    return seen


async def check_reads(lists: EdgeLists, ref: ListRef, untouched: list[Cursor], chance: random.Random) -> None:
    """What any read says of edges that nobody touches."""
    order, step = chance.choice(list(Order)), chance.choice([1, 3, 10, 40, 200])
    seen = await seen_in_walk(lists, ref, order, step)
    expected = untouched if order is Order.OLDEST_FIRST else untouched[::-1]
    assert [each for each in seen if each in set(untouched)] == expected
    [held] = await lists.contains([(ref, [each.id for each in untouched])])
    assert held == [True] * len(untouched)
    edge = chance.choice(untouched)
    assert await lists.time_of(ref, edge.id) == edge.time_us
    assert await lists.time_of(ref, MAX_ID) == 0


@both_sorts
@pytest.mark.parametrize("sizes", [TINY, PRODUCT], ids=["tiny", "product"])
async def test_reads_between_whose_commands_lists_change(
    topology: Topology, cluster: ClusterSettings, ref: ListRef, sizes: BlockSizes
) -> None:
    chance = random.Random(ref.kind)
    instance = topology.instances[0]
    writer = PackedEdgeLists(instance, cluster, RedisSettings(), Metrics(), sizes)
    reader = PackedEdgeLists(instance, cluster, RedisSettings(), Metrics(), sizes)
    storm = Storm(writer, ref, chance, range(1_000, 1_000 + 6 * sizes.head_rows))

    async def between() -> None:
        if chance.random() < 0.4:
            await storm.change()

    reader._reads = InterruptedLink(instance, cluster, between)
    untouched = await make_untouched(writer, ref)
    for _ in range(120 if sizes is TINY else 30):
        await check_reads(reader, ref, untouched, chance)
        assert await writer.sizes([ref]) == [len(untouched) + len(storm.stands)]
    await reader.close()
    await writer.close()


@both_sorts
async def test_reads_and_writes_of_many_at_once(
    topology: Topology, cluster: ClusterSettings, ref: ListRef
) -> None:
    instance = topology.instances[0]
    drivers = [PackedEdgeLists(instance, cluster, RedisSettings(), Metrics(), TINY) for _ in range(6)]
    untouched = await make_untouched(drivers[0], ref)
    storms = [
        Storm(lists, ref, random.Random(number), range(1_000 * number, 1_000 * number + 40))
        for number, lists in enumerate(drivers[:3], 1)
    ]

    async def rage(storm: Storm) -> None:
        for _ in range(150):
            await storm.change()

    raging = asyncio.gather(*(rage(storm) for storm in storms))
    reads = 0
    while not raging.done():
        await asyncio.gather(
            *(
                check_reads(each, ref, untouched, random.Random(reads + at))
                for at, each in enumerate(drivers[3:])
            )
        )
        reads += len(drivers[3:])
    await raging
    expected = sorted(
        [*untouched, *(Cursor(time_us, each) for storm in storms for each, time_us in storm.stands.items())]
    )
    found = [page async for page in walk(drivers[0], ref, Order.OLDEST_FIRST)]
    assert [Cursor(*each) for page in found for each in zip(page.times_us, page.ids, strict=True)] == expected
    assert (await drivers[0].inspect(ref, check=True)).problems == ()
    for each in drivers:
        await each.close()
