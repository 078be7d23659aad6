"""The forms of lists: that histories cross all of them, what they are, and that none flaps at a border."""

import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import pytest
import redis.asyncio

from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.packed.block import Block
from graphsvc.backends.redis.packed.keys import Place, list_key
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor, ListKind, ListRef
from graphsvc.model.ids import MAX_ID, spread
from graphsvc.model.list_inspection import ListForm
from graphsvc.model.topology import ClusterSettings, Topology
from tests.compared_lists import ComparedLists, compared_lists
from tests.edge_shapes import LATEST_TIME_US, PRODUCT, T0, TINY, USER
from tests.stored_lists import StoredList, shard_client

SECOND = 1_000_000
HOUR = 3_600 * SECOND
FOLLOWING = ListRef(7, ListKind.FOLLOWING, spread(7, USER))
FOLLOWERS = ListRef(7, ListKind.FOLLOWERS, spread(7, USER))


@pytest.fixture
async def client(nodes: list[NodeProcess]) -> AsyncIterator[redis.asyncio.Redis]:
    """The database of shard 7."""
    async with shard_client(nodes[0].node, 7) as client:
        yield client


@pytest.fixture(params=[TINY, PRODUCT], ids=["tiny", "product"])
def sizes(request: pytest.FixtureRequest) -> BlockSizes:
    """Sizes of blocks."""
    return cast("BlockSizes", request.param)


@pytest.fixture
async def compared(
    topology: Topology, cluster: ClusterSettings, sizes: BlockSizes
) -> AsyncIterator[ComparedLists]:
    """A driver of these sizes, beside the model."""
    async with compared_lists(topology.instances[0], cluster, sizes) as compared:
        yield compared


tiny = pytest.mark.parametrize("sizes", [TINY], ids=["tiny"])


def edge(number: int, step_us: int = SECOND) -> Cursor:
    """Edges of users 1, 2, 3 ..., some time apart."""
    return Cursor(T0 + number * step_us, spread(number + 1, USER))


def event_between(before: StoredList, after: StoredList) -> str | None:
    """What happened to the blocks of a list in one write."""
    blocks = len(after.sealed_rows) - len(before.sealed_rows)
    gone = Counter(before.sealed_rows) - Counter(after.sealed_rows)
    if blocks > 0:
        return "split" if after.head_rows == before.head_rows else "sealed"
    if blocks < 0 and after.head_rows > before.head_rows:
        return "pulled"
    if blocks < 0:
        return "emptied" if gone == Counter([1]) else "merged"
    return None


@tiny
@pytest.mark.parametrize("ref", [FOLLOWING, FOLLOWERS], ids=["added", "put"])
async def test_a_list_crosses_all_forms_and_is_good_after_each_edge(
    compared: ComparedLists, ref: ListRef
) -> None:
    seen = set[str | ListForm]()
    before = await compared.check_stored(ref)
    chance = random.Random(3)
    for order in (sorted, partial(sorted, reverse=True), partial(chance.sample, k=100)):
        edges = [edge(number) for number in range(100)]
        for write_one, each in [
            *((compared.write, each) for each in order(edges)),
            *((compared.remove_edges, each) for each in order(edges)),
        ]:
            await write_one(ref, [each])
            after = await compared.check_stored(ref)
            seen.update([after.form, event_between(before, after) or "nothing"])
            before = after
    long = ListForm.INDEXED if ref is FOLLOWING else ListForm.LONG
    assert seen == {
        ListForm.EMPTY, ListForm.SHORT, long, "nothing", "sealed", "split", "pulled", "emptied", "merged"
    }  # fmt: skip


async def frames_of(client: redis.asyncio.Redis, ref: ListRef) -> list[tuple[int, int]]:
    """Widths of times and ids: of the sealed blocks by number, then of the head."""
    head = await block_at(client, Place(list_key(ref)))
    sealed = [await block_at(client, Place(list_key(ref), number)) for number in range(head.totals.next)]
    return [(each.time_width, each.id_width) for each in (*sealed, head)]


async def block_at(client: redis.asyncio.Redis, place: Place) -> Block:
    """The block that belongs there."""
    data: bytes | None = await client.get(place.key)  # type: ignore[assignment]
    assert data is not None
    return Block(data, place)


@tiny
@pytest.mark.parametrize(
    ("step_us", "time_width"), [(SECOND, 4), (20 * HOUR, 5), (3_000 * HOUR, 6), (9_000 * HOUR, 7)]
)
async def test_sealed_blocks_are_as_narrow_as_their_times_allow(
    compared: ComparedLists,
    client: redis.asyncio.Redis,
    step_us: int,
    time_width: int,
) -> None:
    await compared.write(FOLLOWERS, [edge(number, step_us) for number in range(25)])
    stored = await compared.check_stored(FOLLOWERS)
    assert len(stored.sealed_rows) == 1
    assert await frames_of(client, FOLLOWERS) == [(time_width, 4), (max(time_width, 6), 4)]


@tiny
async def test_a_wide_id_widens_its_block_only_and_one_by_one_all_widen(
    compared: ComparedLists, client: redis.asyncio.Redis
) -> None:
    await compared.write(FOLLOWERS, [edge(number) for number in range(60)])
    stored = await compared.check_stored(FOLLOWERS)
    count = len(stored.sealed_rows)
    assert await frames_of(client, FOLLOWERS) == [(4, 4)] * count + [(6, 4)]
    # Into the middle of the oldest, then of the newest block; and times that reach from end to end.
    await compared.write(FOLLOWERS, [Cursor(T0 + 2 * SECOND + 1, MAX_ID)])
    assert await frames_of(client, FOLLOWERS) == [(4, 8)] + [(4, 4)] * (count - 1) + [(6, 4)]
    await compared.write(FOLLOWERS, [Cursor(T0 + 59 * SECOND + 1, 1)])
    assert await frames_of(client, FOLLOWERS) == [(4, 8)] + [(4, 4)] * (count - 1) + [(6, 8)]
    await compared.write(FOLLOWERS, [Cursor(EARLIEST_TIME_US, 2)])
    assert await frames_of(client, FOLLOWERS) == [(7, 8)] + [(4, 4)] * (count - 1) + [(6, 8)]
    await compared.write(FOLLOWERS, [Cursor(LATEST_TIME_US, 3)])
    assert await frames_of(client, FOLLOWERS) == [(7, 8)] + [(4, 4)] * (count - 1) + [(7, 8)]
    await compared.check(FOLLOWERS, random.Random(0))


@tiny
@pytest.mark.parametrize("more_us", [-1, 0, 1])
@pytest.mark.parametrize("width", [4, 5, 6])
async def test_a_block_widens_exactly_where_its_times_no_longer_fit(
    compared: ComparedLists, client: redis.asyncio.Redis, width: int, more_us: int
) -> None:
    """Of the times that fit a width those whose first byte would be 0 are not used."""
    reach_us = 256**width - 256 ** (width - 1) - 1 + more_us
    oldest = [edge(number) for number in range(10)]
    newer = [Cursor(T0 + 3 * 256**6 + number, spread(number + 1, USER)) for number in range(100, 130)]
    for before in (False, True):
        await compared.write(FOLLOWERS, [*oldest, *newer])
        assert (await compared.stored(FOLLOWERS)).sealed_rows[0] == len(oldest)
        begin, end = oldest[0].time_us, oldest[-1].time_us
        far_us = end - reach_us if before else begin + reach_us
        await compared.write(FOLLOWERS, [Cursor(far_us, spread(50, USER))])
        stored = await compared.stored(FOLLOWERS)
        assert stored.sealed_rows[0] == len(oldest) + 1
        assert (await frames_of(client, FOLLOWERS))[0] == (width + (more_us > 0), 4)
        await compared.remove_edges(FOLLOWERS, stored.edges)


WIDE_USER = MAX_ID - 10_000
APART = 40 * 24 * HOUR


@tiny
@pytest.mark.parametrize("older", [(False, SECOND), (True, SECOND), (False, APART), (True, APART)], ids=str)
@pytest.mark.parametrize("newer", [(False, SECOND), (True, SECOND), (False, APART), (True, APART)], ids=str)
async def test_blocks_of_different_widths_become_one(
    compared: ComparedLists, sizes: BlockSizes, older: tuple[bool, int], newer: tuple[bool, int]
) -> None:
    """Ids that are short and not, times that are close and far apart."""
    edges: list[Cursor] = []
    time_us = EARLIEST_TIME_US
    for wide, step_us in (older, newer):
        for _ in range(2 * sizes.head_rows):
            time_us += step_us
            number = len(edges) + 1
            edges.append(Cursor(time_us, WIDE_USER + number if wide else spread(number, USER)))
    for order in (edges, edges[::-1]):
        await compared.write(FOLLOWING, order)
        before, seen = await compared.stored(FOLLOWING), set[str | None]()
        # Every fifth edge stays for long, so blocks get small all over the list; then the newest go first.
        victims = [each for at, each in enumerate(order) if at % 5]
        for each in victims + sorted(set(edges) - set(victims), reverse=True):
            await compared.remove_edges(FOLLOWING, [each])
            after = await compared.stored(FOLLOWING)
            seen.add(event_between(before, after))
            before = after
        assert seen >= {"merged", "pulled"}


TOGGLES = 32


@dataclass(frozen=True)
class Border:
    """A list at a border, and an edge that takes it over the border and back."""

    edge: Cursor
    stands: bool


async def at_the_seal(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One more edge, and a short list becomes long."""
    await compared.write(ref, [edge(number) for number in range(sizes.head_rows)])
    return Border(edge(sizes.head_rows), stands=False)


async def at_a_later_seal(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One more edge, and a long list gets another block."""
    number = 0
    while (stored := await compared.stored(ref)).head_rows < sizes.head_rows or not stored.sealed_rows:
        await compared.write(ref, [edge(number)])
        number += 1
    return Border(edge(number), stands=False)


async def at_the_pull(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge less, and the newest block becomes part of the head."""
    await compared.write(ref, [edge(number) for number in range(2 * sizes.head_rows)])
    while (await compared.stored(ref)).head_rows > sizes.pull_below:
        await compared.remove_edges(ref, compared.standing(ref)[-1:])
    return Border(compared.standing(ref)[-1], stands=True)


async def at_the_last_pull(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge less, and a long list becomes short."""
    await compared.write(ref, [edge(number) for number in range(sizes.head_rows + 1)])
    while (await compared.stored(ref)).head_rows > sizes.pull_below:
        await compared.remove_edges(ref, compared.standing(ref)[-1:])
    return Border(compared.standing(ref)[-1], stands=True)


async def at_the_last_sealed_edge(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge less, and a long list with few sealed edges becomes short."""
    await compared.write(ref, [edge(number) for number in range(sizes.head_rows + sizes.merge_below)])
    while sum((await compared.stored(ref)).sealed_rows) > 1:
        await compared.remove_edges(ref, compared.standing(ref)[:1])
    return Border(compared.standing(ref)[0], stands=True)


async def full_block(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> list[Cursor]:
    """A list whose oldest block is full; the edges of that block."""
    await compared.write(ref, [edge(3 * number) for number in range(2 * sizes.head_rows)])
    between = (number for number in range(1, 3 * sizes.sealed_rows) if number % 3)
    while (stored := await compared.stored(ref)).sealed_rows[0] < sizes.block_rows:
        await compared.write(ref, [edge(next(between))])
    return stored.edges[: stored.sealed_rows[0]]


async def at_a_split_at_the_beginning(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge more before all others, and a block is split."""
    first = (await full_block(compared, ref, sizes))[0]
    return Border(Cursor(first.time_us - SECOND, first.id + 1), stands=False)


async def at_a_split_at_the_end(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge more behind all others of a block, and it is split."""
    last = (await full_block(compared, ref, sizes))[-1]
    return Border(Cursor(last.time_us + 1, spread(99_999, USER)), stands=False)


async def at_a_split_inside(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge more inside a block, and it is split."""
    middle = (await full_block(compared, ref, sizes))[sizes.block_rows // 2]
    return Border(Cursor(middle.time_us + 1, spread(99_999, USER)), stands=False)


async def at_the_merge(compared: ComparedLists, ref: ListRef, sizes: BlockSizes) -> Border:
    """One edge less, and two blocks become one."""
    await compared.write(ref, [edge(number) for number in range(3 * sizes.head_rows)])
    stored = await compared.stored(ref)
    oldest, next_rows = stored.sealed_rows[:2]
    await compared.remove_edges(ref, stored.edges[sizes.merge_below : oldest])
    await compared.remove_edges(ref, stored.edges[oldest + sizes.merged_rows // 2 : oldest + next_rows])
    while True:
        before = await compared.stored(ref)
        await compared.remove_edges(ref, before.edges[1:2])
        if event_between(before, await compared.stored(ref)) == "merged":
            await compared.write(ref, before.edges[1:2])
            return Border(before.edges[1], stands=True)


BORDERS = (
    at_the_seal, at_a_later_seal, at_the_pull, at_the_last_pull, at_the_last_sealed_edge,
    at_a_split_at_the_beginning, at_a_split_at_the_end, at_a_split_inside, at_the_merge,
)  # fmt: skip


@pytest.mark.parametrize("ref", [FOLLOWING, FOLLOWERS], ids=["added", "put"])
@pytest.mark.parametrize("go_to", BORDERS, ids=lambda go_to: go_to.__name__)
async def test_no_list_flaps_at_a_border(
    compared: ComparedLists,
    client: redis.asyncio.Redis,
    go_to: Callable[[ComparedLists, ListRef, BlockSizes], Awaitable[Border]],
    ref: ListRef,
    sizes: BlockSizes,
) -> None:
    border = await go_to(compared, ref, sizes)
    changes = (
        [compared.remove_edges, compared.write] if border.stands else [compared.write, compared.remove_edges]
    )
    await client.config_resetstat()
    for _ in range(TOGGLES):
        for change in changes:
            await change(ref, [border.edge])
    counts = await client.info("commandstats")
    rewrites = {
        name: counts[f"cmdstat_{name}"]["calls"]
        for name in ("set", "del", "zadd", "zrem")
        if f"cmdstat_{name}" in counts
    }
    # One crossing rewrites some blocks; each toggle would rewrite them again.
    assert sum(rewrites.values()) <= TOGGLES // 4, rewrites
    await compared.stored(ref)
