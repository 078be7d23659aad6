"""`bench memory`: what an edge costs in a node's memory, beside plain sorted sets, on Redis and on Valkey.

The reference graph, on 64 shards since few edges on 8192 databases would measure the databases, goes edge by
edge in the order of arrival into fresh nodes, two at a time: both families are loaded side by side, which
changes no figure, as none is a time.

- packed: a node as the product runs it. Each edge is one call of its `add` for the list of whom the follower
  follows, and one of its `put` for the followee's list of followers. Then a third of the edges, drawn at
  random, is removed by its `remove`; the followers' side is told the time, as it is in the product.
- sorted sets: a node with the server's default settings. Each list is a sorted set, `following:ID` or
  `followers:ID`, of ids in decimal with microseconds as scores.

Bytes are what the node uses (`used_memory`) beyond what it used when it was fresh and empty, so keys, hash
tables, databases and all that an allocator rounds up count. They are read when the connections that wrote are
closed, nothing waits to be freed and the figure has stood still for a second, so no buffer of a client or of
the AOF is among them; and the AOF is never rewritten, which would leave a buffer too. Before that every list
is asked for its size: a wrong one ends the benchmark, and lookups finish what a node still had to do in its
hash tables. After the removals the bytes of each edge that is left are compared with those of an edge of the
whole, fresh graph.
"""

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import typer
from redis.asyncio import Redis

from graphsvc.backends.redis.connection import Command, PipeliningConnection, Reply
from graphsvc.backends.redis.edge_lists import LOOKED_FOR_IN, MOST_INDEXED
from graphsvc.backends.redis.functions import Functions
from graphsvc.backends.redis.packed.keys import list_key, meaning_of
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.ids import SHARD_SHIFT
from ops.bench.nodes import (
    FAMILIES,
    Opened,
    connection_to,
    edge_lists_on,
    functions_of,
    plain_node,
    product_node,
)
from ops.bench.reference_graph import Edge, GraphShape, reference_graph
from ops.bench.report import progress, result

SHARDS_USED = 64
ID_USERS = 4_000
"""Users of the smaller graph (261,292 edges) on which ids of both widths are compared."""
BEYOND_SHORT = 1 << 30
"""What is added to an id to make one that needs eight bytes."""
BATCH_EDGES = 500
BATCHES_UNDER_WAY = 4
QUESTIONS = 1_000
"""Keys asked about at a time."""
PARTS = {b"": "heads", b"d": "directories", b"i": "indexes"}
"""What keys are by the end of their names; the others are sealed blocks."""
STILL_READINGS = 10
STILL_EVERY_S = 0.1
STILL_WITHIN_BYTES = 1_024

Graph = Sequence[Edge]
Figures = dict[str, float]
Item = TypeVar("Item")


class Writing(NamedTuple):
    """What is sent to a node for an edge, for both directions, and what must come back."""

    commands: Callable[[Edge], tuple[Command, Command]]
    replies: Callable[[Edge], tuple[Reply, Reply]]


def run(
    edges: Annotated[int, typer.Option(min=0, help="Load only the first so many; 0: all 1,514,709.")] = 0,
) -> None:
    """Measure the memory an edge costs, both directions, beside plain sorted sets.

    The bars are for the whole graph. With fewer edges all lists are shorter, and keys weigh more.
    """
    graph = list(reference_graph(GraphShape(edges=edges, shards=SHARDS_USED)))
    ids_graph = list(reference_graph(GraphShape(users=ID_USERS, edges=edges, shards=SHARDS_USED)))
    progress(f"{len(graph):,} edges; {len(ids_graph):,} for the widths of ids")
    with tempfile.TemporaryDirectory(prefix="graphsvc-bench-") as folder:
        figures = asyncio.run(measure_families(graph, ids_graph, Path(folder)))
    after = [figures[f"{family}_after_removing_a_third_ratio"] for family in FAMILIES]
    aof = [figures[f"{family}_aof_bytes_per_add"] for family in FAMILIES]
    result(
        {
            "edges": len(graph),
            "after_removing_a_third_ratio": max(after),
            "aof_bytes_per_add": max(aof),
            **figures,
        }
    )


async def measure_families(graph: Graph, ids_graph: Graph, folder: Path) -> Figures:
    """All figures, each named after its family."""
    measured = await asyncio.gather(
        *(measure_family(family, graph, ids_graph, folder / family) for family in FAMILIES)
    )
    return {
        f"{family}_{name}": round(value, 3)
        for family, figures in zip(FAMILIES, measured, strict=True)
        for name, value in figures.items()
    }


async def measure_family(family: str, graph: Graph, ids_graph: Graph, folder: Path) -> Figures:
    """All figures of one family."""
    figures = await measure_packed(family, graph, folder / "packed")
    progress(f"{family}: {figures['bytes_per_edge']:.1f} bytes an edge, packed")
    plain = await measure_sorted_sets(family, graph, folder / "sorted-sets")
    progress(f"{family}: {plain:.1f} bytes an edge in sorted sets")
    figures["bytes_per_edge_sorted_sets"] = plain
    figures["ratio_to_sorted_sets"] = plain / figures["bytes_per_edge"]
    long_ids = [
        edge._replace(
            follower_id=edge.follower_id + BEYOND_SHORT, followee_id=edge.followee_id + BEYOND_SHORT
        )
        for edge in ids_graph
    ]
    for name, its_graph in (("short", ids_graph), ("long", long_ids)):
        async with loaded_packed(family, its_graph, folder / f"{name}-ids") as loaded:
            figures[f"bytes_per_edge_{name}_ids"] = loaded.bytes / len(its_graph)
    return figures


class Loaded(NamedTuple):
    """A node into which a graph was written, packed."""

    opened: Opened
    empty_bytes: int
    """What the node used before."""
    bytes: int
    """What it uses beyond that."""
    aof_bytes: int
    """By so much its AOF grew."""


async def measure_packed(family: str, graph: Graph, folder: Path) -> Figures:
    """The figures of packed edge lists, by part, and after removals."""
    async with loaded_packed(family, graph, folder) as loaded:
        figures = {
            "bytes_per_edge": loaded.bytes / len(graph),
            "aof_bytes_per_add": loaded.aof_bytes / (2 * len(graph)),
        }
        async with connection_to(loaded.opened.node) as connection:
            parts = await bytes_by_part(connection)
        parts["rest"] = loaded.bytes - sum(parts.values())
        figures |= {f"bytes_per_edge_{part}": size / len(graph) for part, size in parts.items()}

        order = random.Random(1).sample(graph, len(graph))
        removed, left = order[: len(graph) // 3], order[len(graph) // 3 :]
        removing = packed_removing(functions_of(family))
        async with connection_to(loaded.opened.node) as connection:
            await write(connection, removed, removing, f"{family}, removing a third")
        await check_packed(loaded.opened, family, left)
        left_bytes = await still_memory(loaded.opened.admin) - loaded.empty_bytes
        figures["bytes_per_edge_after_removing_a_third"] = left_bytes / len(left)
        figures["after_removing_a_third_ratio"] = left_bytes / len(left) / figures["bytes_per_edge"]
    return figures


@asynccontextmanager
async def loaded_packed(family: str, graph: Graph, folder: Path) -> AsyncIterator[Loaded]:
    """Write a graph into a fresh node of the product."""
    functions = functions_of(family)
    async with product_node(family, folder) as opened:
        empty_bytes = await still_memory(opened.admin)
        empty_aof = await aof_size(opened.admin)
        async with edge_lists_on(opened, family), connection_to(opened.node) as connection:
            await write(connection, graph, packed_adding(functions), f"{family}, packed")
        await check_packed(opened, family, graph)
        used = await still_memory(opened.admin) - empty_bytes
        yield Loaded(opened, empty_bytes, used, await aof_size(opened.admin) - empty_aof)


async def measure_sorted_sets(family: str, graph: Graph, folder: Path) -> float:
    """Bytes an edge of the same graph in plain sorted sets."""
    async with plain_node(family, folder) as opened:
        empty_bytes = await still_memory(opened.admin)
        async with connection_to(opened.node) as connection:
            await write(connection, graph, SORTED_SETS, f"{family}, sorted sets")
            for some in chunks(sizes_in(graph).items(), QUESTIONS):
                asked = [Command(ref.shard, ("ZCARD", sorted_set_key(ref))) for ref, _ in some]
                check_sizes(some, await connection.submit(asked))
        return (await still_memory(opened.admin) - empty_bytes) / len(graph)


def following_of(edge: Edge) -> ListRef:
    """The list of whom the follower follows."""
    return ListRef(edge.follower_id >> SHARD_SHIFT, ListKind.FOLLOWING, edge.follower_id)


def followers_of(edge: Edge) -> ListRef:
    """The list of the followee's followers."""
    return ListRef(edge.followee_id >> SHARD_SHIFT, ListKind.FOLLOWERS, edge.followee_id)


def packed_adding(functions: Functions) -> Writing:
    """One call of a function for each direction."""

    def commands(edge: Edge) -> tuple[Command, Command]:
        following, followers, time_us = following_of(edge), followers_of(edge), edge.followed_at_us
        return (
            functions.add.call(
                following.shard, [list_key(following)], (MOST_INDEXED, time_us, edge.followee_id.to_bytes(8))
            ),
            functions.put.call(
                followers.shard, [list_key(followers)], (time_us, 0, edge.follower_id.to_bytes(8))
            ),
        )

    return Writing(commands, lambda edge: ([[edge.followed_at_us, 0]], [1]))


def packed_removing(functions: Functions) -> Writing:
    """The same, to remove edges."""

    def commands(edge: Edge) -> tuple[Command, Command]:
        following, followers = following_of(edge), followers_of(edge)
        return (
            functions.remove.call(
                following.shard, [list_key(following)], (LOOKED_FOR_IN, 0, edge.followee_id.to_bytes(8))
            ),
            functions.remove.call(
                followers.shard,
                [list_key(followers)],
                (LOOKED_FOR_IN, edge.followed_at_us, edge.follower_id.to_bytes(8)),
            ),
        )

    return Writing(commands, lambda edge: ([edge.followed_at_us], [edge.followed_at_us]))


def sorted_set_key(list_ref: ListRef) -> str:
    """The key of a list that is a sorted set."""
    return f"{list_ref.kind}:{list_ref.user_id}"


def _sorted_set_commands(edge: Edge) -> tuple[Command, Command]:
    following, followers = following_of(edge), followers_of(edge)
    return (
        Command(following.shard, ("ZADD", sorted_set_key(following), edge.followed_at_us, edge.followee_id)),
        Command(followers.shard, ("ZADD", sorted_set_key(followers), edge.followed_at_us, edge.follower_id)),
    )


SORTED_SETS = Writing(_sorted_set_commands, lambda _: (1, 1))


async def write(connection: PipeliningConnection, edges: Graph, writing: Writing, what: str) -> None:
    """Write edges in order, some batches ahead of the replies.

    Raises:
        SystemExit: a reply is not the one expected.
    """
    under_way: list[tuple[Graph, asyncio.Future[list[Reply]]]] = []
    done = 0
    for batch in chunks(edges, BATCH_EDGES):
        commands = [command for edge in batch for command in writing.commands(edge)]
        under_way.append((batch, connection.submit(commands)))
        if len(under_way) == BATCHES_UNDER_WAY:
            await _check_replies(*under_way.pop(0), writing)
        done += len(batch)
        if done % 500_000 == 0:
            progress(f"{what}: {done:,} of {len(edges):,} edges")
    for written, replies in under_way:
        await _check_replies(written, replies, writing)


async def _check_replies(batch: Graph, replies: asyncio.Future[list[Reply]], writing: Writing) -> None:
    expected = [reply for edge in batch for reply in writing.replies(edge)]
    for i, (found, wanted) in enumerate(zip(await replies, expected, strict=True)):
        if found != wanted:
            raise SystemExit(f"{batch[i // 2]}: the answer was {found!r} instead of {wanted!r}")


def sizes_in(graph: Graph) -> Counter[ListRef]:
    """How many edges each list of a graph has."""
    return Counter(list_ref for edge in graph for list_ref in (following_of(edge), followers_of(edge)))


async def check_packed(opened: Opened, family: str, graph: Graph) -> None:
    """Compare the sizes of all lists with the graph's.

    Raises:
        SystemExit: they are others.
    """
    async with edge_lists_on(opened, family) as lists:
        for some in chunks(sizes_in(graph).items(), QUESTIONS):
            check_sizes(some, await lists.sizes([list_ref for list_ref, _ in some]))


def check_sizes(expected: Sequence[tuple[ListRef, int]], found: Sequence[Reply]) -> None:
    """Compare sizes of lists.

    Raises:
        SystemExit: they are others.
    """
    for (list_ref, size), its_size in zip(expected, found, strict=True):
        if its_size != size:
            raise SystemExit(f"{sorted_set_key(list_ref)} has {its_size} edges instead of {size}")


async def still_memory(admin: Redis) -> int:
    """What a node uses, in bytes, once that stands still (see the module)."""
    readings: list[int] = []
    while True:
        info = await admin.info("memory")
        readings = [*readings[1 - STILL_READINGS :], info["used_memory"]]
        still = len(readings) == STILL_READINGS and max(readings) - min(readings) < STILL_WITHIN_BYTES
        if still and not info["lazyfree_pending_objects"]:
            return readings[-1]
        await asyncio.sleep(STILL_EVERY_S)


async def aof_size(admin: Redis) -> int:
    """Bytes of a node's AOF."""
    size: int = (await admin.info("persistence"))["aof_current_size"]
    return size


async def bytes_by_part(connection: PipeliningConnection) -> Figures:
    """The memory of all keys of lists, names and entries in hash tables included, by what they are."""
    parts = dict.fromkeys((*PARTS.values(), "blocks"), 0.0)
    for shard in range(SHARDS_USED):
        cursor = b"0"
        while True:
            [[cursor, keys]] = await connection.submit([Command(shard, ("SCAN", cursor, "COUNT", QUESTIONS))])
            asked = [Command(shard, ("MEMORY", "USAGE", key, "SAMPLES", 0)) for key in keys]
            for key, size in zip(keys, await connection.submit(asked), strict=True):
                meaning = meaning_of(key, shard)
                if meaning is not None:
                    parts[PARTS.get(meaning.part, "blocks")] += size
            if cursor == b"0":
                break
    return parts


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Runs of so many items; the last may be shorter."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
