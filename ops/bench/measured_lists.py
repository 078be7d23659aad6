"""The lists that `bench lists` measures: what they should hold, how they are written and removed."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from redis.asyncio import Redis

from graphsvc.backends.edge_lists import Addition, Inverse, Removal, walk
from graphsvc.backends.redis.connection import Command, PipeliningConnection, Reply
from graphsvc.backends.redis.edge_lists import MOST_INDEXED, PackedEdgeLists
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.ids import LOCAL_BITS, SHARD_SHIFT, SHARDS, pack
from graphsvc.runtime.metrics import Metrics
from ops.bench.command_times import CommandTimes
from ops.bench.nodes import connection_to, edge_lists_on, plain_node, product_node
from ops.bench.reference_graph import START_US, USER_TYPE, YEAR_US

SHARD = 1
SPAN_US = int(5 * YEAR_US)
"""Over which the edges of a list are spread, whatever its size."""
NUMBERS = 1 << 25
"""Ids of edges are drawn from so many; new ones are numbered from here on."""
EDGES_A_CALL = 1_024
SINGLES_A_CALL = 256
CALLS_UNDER_WAY = 3

Answer = TypeVar("Answer")

_new_numbers = count(NUMBERS)
_owners = count(1)


class PlainNode:
    """A node with default settings, and what was sent there."""

    def __init__(self, connection: PipeliningConnection) -> None:
        self._connection = connection
        self.sent: Counter[str] = Counter()

    async def ask(self, commands: Sequence[Command]) -> list[Reply]:
        """The replies to commands that are sent at once."""
        self.sent.update(str(command.words[0]) for command in commands)
        return await self._connection.submit(commands)


@dataclass(frozen=True)
class Sides:
    """Both sides, with the times of their nodes: the product's edge lists and a plain node."""

    lists: PackedEdgeLists
    times: CommandTimes
    plain: PlainNode
    plain_times: CommandTimes
    chance: random.Random


@asynccontextmanager
async def both_sides(family: str, folder: Path) -> AsyncIterator[Sides]:
    """Fresh nodes of both sides."""
    async with (
        product_node(family, folder / "packed") as ours,
        plain_node(family, folder / "sorted-sets") as theirs,
        edge_lists_on(ours, family, metrics := Metrics()) as lists,
        connection_to(theirs.node) as connection,
        _a_core_of_their_own(ours.admin, theirs.admin),
    ):
        plain = PlainNode(connection)
        yield Sides(
            lists=lists,
            times=CommandTimes(ours.admin, lambda: commands_sent(metrics)),
            plain=plain,
            plain_times=CommandTimes(theirs.admin, plain.sent.copy),
            chance=random.Random(1),
        )


@asynccontextmanager
async def _a_core_of_their_own(*admins: Redis) -> AsyncIterator[None]:
    """Keep one core for the threads that run the nodes' commands, of which one works at a time.

    Else this process, or a thread that writes an AOF, makes a command milliseconds long now and then.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        for admin in admins:
            _keep_apart((await admin.info("server"))["process_id"], cores)
        os.sched_setaffinity(0, cores[:-1])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _keep_apart(pid: int, cores: Sequence[int]) -> None:
    """Give a process's main thread the last core, its other threads the others."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), cores[-1:] if task.name == str(pid) else cores[:-1])


def commands_sent(metrics: Metrics) -> Counter[str]:
    """How many commands edge lists sent so far, by name."""
    samples = [sample for metric in metrics.redis_commands.collect() for sample in metric.samples]
    return Counter(
        {each.labels["command"]: int(each.value) for each in samples if each.name.endswith("_total")}
    )


@dataclass
class MeasuredList:
    """A list, and what it should hold."""

    ref: ListRef
    edges: list[Cursor]
    """Oldest first, until there are changes."""
    newest_us: int

    @classmethod
    def new(cls, kind: ListKind, size: int) -> "MeasuredList":
        """One that is still to be written."""
        edges = drawn_edges(size)
        owner = pack(SHARD, USER_TYPE, next(_owners))
        return cls(ListRef(SHARD, kind, owner), list(edges), edges[-1].time_us)

    @property
    def plain_key(self) -> str:
        """Of the same list as a sorted set."""
        return f"{self.ref.kind}:{self.ref.user_id}"

    def newer(self, chance: random.Random) -> Inverse:
        """A new edge, newer than all, at a likely distance."""
        self.newest_us += 1 + int(chance.expovariate(len(self.edges) / SPAN_US))
        return self._noted(self.newest_us)

    def older(self, chance: random.Random) -> Inverse:
        """A new edge, anywhere among the others."""
        return self._noted(chance.randrange(START_US, self.newest_us))

    def taken(self, chance: random.Random) -> Removal:
        """An edge that stands, and no longer will."""
        at = chance.randrange(len(self.edges))
        self.edges[at], self.edges[-1] = self.edges[-1], self.edges[at]
        edge = self.edges.pop()
        return Removal(self.ref, edge.id, edge.time_us)

    def _noted(self, time_us: int) -> Inverse:
        edge = Cursor(time_us, new_user_id())
        self.edges.append(edge)
        return Inverse(self.ref, edge.id, edge.time_us)


@cache
def drawn_edges(size: int) -> Sequence[Cursor]:
    """Edges with distinct ids at distinct times, oldest first; always the same."""
    chance = random.Random(size)
    times = sorted(chance.sample(range(START_US, START_US + SPAN_US), size))
    return list(map(Cursor, times, map(user_id, chance.sample(range(NUMBERS), size))))


def user_id(number: int) -> int:
    """The id of a user, on some shard: one that fits four bytes, like those of most users."""
    return number % SHARDS << SHARD_SHIFT | USER_TYPE << LOCAL_BITS | number // SHARDS + 1


def new_user_id() -> int:
    """An id that no list has."""
    return user_id(next(_new_numbers))


async def put_all(sides: Sides, ref: ListRef, edges: Sequence[Cursor]) -> None:
    """Write edges with `put`, in this order."""
    calls = (
        sides.lists.put([Inverse(ref, edge.id, edge.time_us) for edge in some])
        for some in _chunks(edges, EDGES_A_CALL)
    )
    check(await _in_order(calls), [True] * len(edges))


async def add_all(sides: Sides, following: MeasuredList) -> None:
    """Write edges with `add`, in their order."""
    calls = (
        sides.lists.add([Addition(following.ref, edge.id, edge.time_us) for edge in some], MOST_INDEXED)
        for some in _chunks(following.edges, EDGES_A_CALL)
    )
    expected = [(True, edge.time_us, 0) for edge in following.edges]
    check(await _in_order(calls), expected)


async def write_plain(sides: Sides, written: MeasuredList) -> None:
    """Write the same list as a sorted set."""
    for some in _chunks(written.edges, EDGES_A_CALL):
        words = [word for edge in some for word in (edge.time_us, edge.id)]
        replies = await sides.plain.ask([Command(SHARD, ("ZADD", written.plain_key, *words))])
        check(replies, [len(some)])


async def thin(sides: Sides, followers: MeasuredList) -> None:
    """Remove nine edges in ten, in random order, many a call; their times are known."""
    removals = [followers.taken(sides.chance) for _ in range(len(followers.edges) * 9 // 10)]
    calls = (sides.lists.remove(some) for some in _chunks(removals, EDGES_A_CALL))
    check(await _in_order(calls), [removal.time_us for removal in removals])


async def unfollow_some(sides: Sides, following: MeasuredList) -> None:
    """Remove one edge in ten, one a call as users do; their times are not known."""
    removals = [following.taken(sides.chance) for _ in range(len(following.edges) // 10)]
    for some in _chunks(removals, SINGLES_A_CALL):
        answers = await all_of(sides.lists.remove([removal._replace(time_us=0)]) for removal in some)
        check(answers, [[removal.time_us] for removal in some])


async def walk_through(sides: Sides, walked: MeasuredList) -> None:
    """Walk a list, the oldest edges first."""
    found: list[Cursor] = []
    async for page in walk(sides.lists, walked.ref, Order.OLDEST_FIRST):
        found += map(Cursor, page.times_us, page.ids)
    check(found, sorted(walked.edges))


async def drop(sides: Sides, dropped: MeasuredList) -> None:
    """Drop a list."""
    check([await sides.lists.drop(dropped.ref)], [len(dropped.edges)])


async def all_of(calls: Iterable[Awaitable[Answer]]) -> list[Answer]:
    """The answers of calls that are made at once."""
    return await asyncio.gather(*calls)


async def _in_order(calls: Iterable[Awaitable[Sequence[Any]]]) -> list[Any]:
    """The answers of calls, of which the next are under way before one is answered."""
    under_way: list[asyncio.Future[Sequence[Any]]] = []
    answers: list[Any] = []
    for call in calls:
        under_way.append(asyncio.ensure_future(call))
        if len(under_way) == CALLS_UNDER_WAY:
            answers += await under_way.pop(0)
    for each in under_way:
        answers += await each
    return answers


def check(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Compare answers with what they should be.

    Raises:
        SystemExit: they differ.
    """
    if list(found) != list(expected):
        raise SystemExit("an answer is not what was written: the figures mean nothing")


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]
