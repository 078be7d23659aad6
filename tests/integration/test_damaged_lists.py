"""Lists damaged by hand, on real nodes of every family: an error that names the list, or the right answer.

Whatever was done to the keys of a list, each read gives what the list said before, or says that it is
damaged; each write does all it should, or says so and has changed nothing; and other lists of the same call
are served.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from operator import methodcaller
from typing import Any

import pytest
import redis.asyncio

from graphsvc.backends.edge_lists import Addition, EdgeLists, Inverse, Removal
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import ListDamaged
from graphsvc.model.ids import MAX_ID
from graphsvc.model.topology import ClusterSettings, Topology
from tests.compared_lists import ComparedLists, compared_lists
from tests.edge_shapes import LATEST_TIME_US, T0, TINY, UNLIMITED
from tests.list_damage import DAMAGES, Damage
from tests.shaped_lists import Shape, Target, contents_of, dumps_of, edges_like, restore, store_list
from tests.stored_lists import shard_client

SHARD = 7
SHAPES = {
    # The head seals with one edge more, the oldest block splits, and the second merges with one less.
    "short": Shape([], TINY.head_rows),
    "full": Shape([TINY.block_rows, 9, 9, 13], TINY.head_rows),
    "full, indexed": Shape([TINY.block_rows, 9, 9, 13], TINY.head_rows, indexed=True),
    # The head takes the newest block back with one edge less.
    "low": Shape([8, 17, 1, 10], TINY.pull_below),
    "low, indexed": Shape([8, 17, 1, 10], TINY.pull_below, indexed=True),
    # Moving an edge leaves its block empty, and the next becomes the oldest or the newest.
    "lone": Shape([1, 22, 1], TINY.pull_below),
    "lone, indexed": Shape([1, 22, 1], TINY.pull_below, indexed=True),
}
EVERY_NTH = 10
"""So many cases together make all writes, each case other ones."""
CASES = [
    pytest.param(number, shape, damage, id=f"{name}: {damage.name}")
    for number, (name, shape, damage) in enumerate(
        (name, shape, damage) for name, shape in SHAPES.items() for damage in DAMAGES if damage.fits(shape)
    )
]
Contents = dict[bytes, object]
Call = Callable[[EdgeLists], Awaitable[Any]]


@pytest.fixture
async def compared(topology: Topology, cluster: ClusterSettings) -> AsyncIterator[ComparedLists]:
    async with compared_lists(topology.instances[0], cluster, TINY) as compared:
        yield compared


@pytest.fixture
async def client(topology: Topology) -> AsyncIterator[redis.asyncio.Redis]:
    """The database of the lists."""
    assert topology.instances[0].primary
    async with shard_client(topology.instances[0].primary, SHARD) as client:
        yield client


async def stored_target(compared: ComparedLists, client: redis.asyncio.Redis, shape: Shape) -> Target:
    """A good list of this shape, and the model of it."""
    kind = ListKind.FOLLOWING if shape.indexed or not shape.sealed_rows else ListKind.FOLLOWERS
    ref = ListRef(SHARD, kind, 1)
    target = Target(client, ref, compared.ids, shape)
    edges = edges_like(shape)
    await store_list(client, ref, shape, edges, compared.ids)
    compared.model.lists[ref] = {each.id: frozenset([each.time_us]) for each in edges}
    await compared.check_stored(ref)
    return target


def reads(ref: ListRef, shape: Shape, *, few: bool = False) -> list[Call]:
    """Everything that can be asked of a list; or a few things about all of it."""
    edges = edges_like(shape)
    ids = [each.id for each in edges]
    places = {0, len(edges) - 3} if few else {*range(0, len(edges), 7), *range(len(edges) - 3, len(edges))}
    cursors = [None, *(edges[at] for at in sorted(places)), Cursor(edges[5].time_us + 1, 1)]
    limits = (50,) if few else (3, 50)
    return [
        methodcaller("sizes", [ref]),
        methodcaller("contains", [(ref, [*ids, *(each + 1 for each in ids), MAX_ID])]),
        methodcaller("contains", [(ref, [])]),
        *(methodcaller("time_of", ref, each) for each in (*ids[:: 30 if few else 9], ids[-1], ids[0] + 1)),
        *(
            methodcaller("page", ref, order, after, limit)
            for order in Order
            for after in cursors
            for limit in limits
        ),
    ]


def writes(ref: ListRef, shape: Shape) -> list[tuple[str, Any]]:
    """Changes of all sorts at all places of a list."""
    edges = edges_like(shape)
    last_sealed = max(0, len(edges) - shape.head_rows - 1)
    places = {"oldest": 0, "inner": 22, "last sealed": last_sealed, "newest": len(edges) - 1}
    changes: list[tuple[str, Any]] = []
    for name, at in places.items():
        time_us, edge_id = edges[at]
        changes += [
            (f"remove the {name}", Removal(ref, edge_id, time_us)),
            (f"remove the {name}, untold", Removal(ref, edge_id)),
            (f"remove beside the {name}", Removal(ref, edge_id + 1, time_us)),
            (f"remove the {name} at a wrong time", Removal(ref, edge_id, time_us + 1)),
        ]
        for what, new_id, new_us, former_us in [
            (f"insert behind the {name}", edge_id + 1, time_us + 1, 0),
            (f"insert before the {name}", edge_id + 2, time_us - 1, 0),
            (f"insert an id that is not short behind the {name}", MAX_ID, time_us + 1, 0),
            (f"move the {name} to the beginning", edge_id, EARLIEST_TIME_US, time_us),
            (f"move the {name} a little", edge_id, time_us - 1, time_us),
            (f"move the {name} inward", edge_id, edges[21].time_us - 1, time_us),
            (f"move the {name} to the end", edge_id, LATEST_TIME_US, time_us),
        ]:
            added = Addition(ref, new_id, new_us)
            changes.append((what, added if ref.kind is ListKind.FOLLOWING else Inverse(*added, former_us)))
    return changes


def call_for(*changes: Any) -> Call:
    """The call that makes these changes."""
    match changes[0]:
        case Addition():
            return methodcaller("add", changes, UNLIMITED)
        case Inverse():
            return methodcaller("put", changes)
        case _:
            return methodcaller("remove", changes)


async def asked(lists: EdgeLists, call: Call) -> Any:
    """The answer; the error where the list is damaged."""
    try:
        answer = await call(lists)
    except ListDamaged as damaged:
        return damaged
    return answer[0] if isinstance(answer, list) else answer


async def wrong_reads(compared: ComparedLists, ref: ListRef, calls: Sequence[Call]) -> list[str]:
    """Reads that give neither the answer of the model nor an error that names the list."""
    answers = await asyncio.gather(*(asked(compared.lists, call) for call in calls))
    expected = [await asked(compared.model, call) for call in calls]
    return [
        f"{call}: {answer}, not {right}"
        for call, answer, right in zip(calls, answers, expected, strict=True)
        if answer != right and not names(answer, ref)
    ]


def names(answer: Any, ref: ListRef) -> bool:
    """Whether an answer is an error that names the list and its shard."""
    return (
        isinstance(answer, ListDamaged)
        and answer.list == ref
        and f"{ref.kind} list of user {ref.user_id}, on shard {ref.shard}, is damaged" in answer.message
    )


async def wrong_write(compared: ComparedLists, target: Target, damaged: Contents, change: Any) -> list[str]:
    """What is wrong with a write, one call with others to good lists."""
    ref, others = target.ref, [target.ref._replace(user_id=3), target.ref._replace(shard=SHARD + 1)]
    if isinstance(change, Removal):
        for each in others:
            await compared.write(each, [Cursor(change.time_us or T0, change.id)])
    call = call_for(change._replace(list=others[0]), change, change._replace(list=others[1]))
    answers, expected = await call(compared.lists), await call(compared.model)
    assert answers[::2] == expected[::2]
    assert await compared.lists.sizes(others) == await compared.model.sizes(others)
    if names(answers[1], ref):
        unchanged = await contents_of(target.client, ref) == damaged
        return [] if unchanged else ["refused, but wrote something"]
    if answers[1] != expected[1]:
        return [f"{answers[1]}, not {expected[1]}"]
    wrong = await wrong_reads(compared, ref, reads(ref, target.shape, few=True))
    return [f"and afterwards {each}" for each in wrong]


async def wrong_drop(compared: ComparedLists, target: Target) -> list[str]:
    """What is wrong with removing the whole list, which may end at the damage after some steps."""
    answer = await asked(compared.lists, methodcaller("drop", target.ref))
    if names(answer, target.ref):
        return []
    [left] = await compared.lists.sizes([target.ref])
    gone = answer == target.shape.size and (left == 0 or names(left, target.ref))
    return [] if gone else [f"dropped {answer}, left {left}"]


async def wrong_answers(
    compared: ComparedLists,
    client: redis.asyncio.Redis,
    shape: Shape,
    damage: Damage,
    nth_write: slice = slice(None),
) -> AsyncIterator[str]:
    """All that goes wrong with a list that was damaged so."""
    target = await stored_target(compared, client, shape)
    await damage.do(target)
    dumps, damaged = await dumps_of(client, target.ref), await contents_of(client, target.ref)
    edges = compared.model.lists[target.ref]
    for wrong in await wrong_reads(compared, target.ref, reads(target.ref, shape)):
        yield wrong
    for name, change in writes(target.ref, shape)[nth_write]:
        compared.model.lists[target.ref] = dict(edges)
        for wrong in await wrong_write(compared, target, damaged, change):
            yield f"{name}: {wrong}"
        await restore(client, target.ref, dumps)
    for wrong in await wrong_drop(compared, target):
        yield f"drop: {wrong}"


@pytest.mark.parametrize(("number", "shape", "damage"), CASES)
async def test_a_damaged_list_gives_an_error_or_the_right_answer(
    compared: ComparedLists, client: redis.asyncio.Redis, number: int, shape: Shape, damage: Damage
) -> None:
    nth_write = slice(number % EVERY_NTH, None, EVERY_NTH)
    assert [each async for each in wrong_answers(compared, client, shape, damage, nth_write)] == []


@pytest.mark.long
@pytest.mark.parametrize(("number", "shape", "damage"), CASES)
async def test_any_write_to_a_damaged_list_gives_an_error_or_the_right_answer(
    compared: ComparedLists, client: redis.asyncio.Redis, number: int, shape: Shape, damage: Damage
) -> None:
    assert [each async for each in wrong_answers(compared, client, shape, damage)] == []
