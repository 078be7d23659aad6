"""Damage by hand: whatever is done to the keys of a list, a check finds it and names it."""

import random
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from graphsvc.backends.edge_lists import Addition
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.packed.block import HEAD, INDEXED, LONG, Separator, Totals
from graphsvc.backends.redis.packed.ids import SENTINEL
from graphsvc.backends.redis.packed.keys import Place, block_key, directory_key, index_key
from graphsvc.model.edges import Cursor
from graphsvc.model.errors import ListDamaged
from graphsvc.model.list_inspection import ListForm
from tests.packed_lists import (
    FOLLOWING,
    KEY,
    SHORT_IDS,
    T0,
    PackedList,
    assert_good,
    block_of,
    stored_in,
    user_edges,
)

EDGES = user_edges(45)
"""Four blocks of ten, the oldest is block 0, and five in the head."""
INDEXED_LIST = PackedList.of(EDGES, 10, indexed=True)


Damaging = Callable[[Redis], Awaitable[object]]


async def swap_entry(node: Redis, old: bytes, new: bytes) -> None:
    await node.zrem(directory_key(KEY), old)
    await node.zadd(directory_key(KEY), {new: 0})


async def replace(node: Redis, key: bytes, kind: str) -> None:
    await node.delete(key)
    await (node.rpush(key, "x") if kind == "list" else node.set(key, "x"))


def name_of(edge: Cursor) -> int:
    return SHORT_IDS.index_name(edge.id)


def head_with(totals: Totals) -> bytes:
    return block_of(EDGES[40:], HEAD | LONG | INDEXED, totals)


INDEX_COUNT = "the index has not one name an edge, and the sentinel"
EDGE_COUNT = "the head tells a wrong number of edges in sealed blocks"
BLOCK_COUNT = "the directory and the head count different numbers of sealed blocks"

DAMAGES: list[tuple[Damaging, list[str]]] = [
    (lambda node: node.delete(block_key(KEY, 1)), ["block 1 is missing"]),
    (
        lambda node: node.setrange(block_key(KEY, 1), 5, b"\xff"),
        ["block 1 has a header that contradicts itself, or is that of another block"],
    ),
    (
        lambda node: node.set(block_key(KEY, 1), INDEXED_LIST.blocks[1][:-20]),
        ["block 1 has 118 bytes instead of 138"],
    ),
    (lambda node: node.set(block_key(KEY, 1), b""), ["block 1 is cut short: 0 bytes"]),
    (lambda node: node.append(block_key(KEY, 1), b"x" * 70_000), ["block 1 has 65536 bytes instead of 138"]),
    (lambda node: replace(node, block_key(KEY, 1), "list"), ["block 1 is a list, not a string"]),
    (
        lambda node: node.set(block_key(KEY, 1), block_of(EDGES[10:20], HEAD, place=Place(KEY, 1))),
        ["block 1 is not the kind of block that belongs there"],
    ),
    (
        lambda node: node.set(block_key(KEY, 1), INDEXED_LIST.blocks[2]),
        ["block 1 has a header that contradicts itself, or is that of another block"],
    ),
    (
        lambda node: node.setrange(block_key(KEY, 1), 12 + 11 * 4, b"\xff"),
        ["block 1 has rows out of order"],
    ),
    (
        lambda node: node.setrange(block_key(KEY, 1), 12 + 11 * 9, bytes(11)),
        [f"{EDGE_COUNT}: 40, but they have 39"],
    ),
    (
        lambda node: node.setrange(block_key(KEY, 1), -1 + 138, b"x"),
        ["block 1 has rows or other bytes behind the end of its rows"],
    ),
    (lambda node: node.delete(KEY), ["the head is missing, but there is a directory and an index"]),
    (lambda node: replace(node, KEY, "list"), ["the head is a list, not a string"]),
    (lambda node: node.set(KEY, head_with(Totals(39, 4, 4))), [
        f"{EDGE_COUNT}: 39, but they have 40", f"{INDEX_COUNT}: 46 names, 44 edges"
    ]),
    (lambda node: node.set(KEY, head_with(Totals(40, 5, 5))), [f"{BLOCK_COUNT}: 4 and 5"]),
    (lambda node: node.set(KEY, head_with(Totals(40, 4, 3))), [
        "the directory names block 3, a number that was never given",
        "the head has totals that cannot be: 40 edges in 4 sealed blocks with numbers below 3",
    ]),
    (lambda node: node.set(KEY, block_of(EDGES[40:])), [
        "a directory stands beside a short list", "an index stands beside a list that has none"
    ]),
    (lambda node: node.delete(directory_key(KEY)), [
        "the directory is missing", *(f"block {n} exists, but is not in the directory" for n in range(4))
    ]),
    (lambda node: replace(node, directory_key(KEY), "list"), [
        "the directory is a list, not a sorted set",
        *(f"block {n} exists, but is not in the directory" for n in range(4)),
    ]),
    (lambda node: node.zrem(directory_key(KEY), INDEXED_LIST.entries[1]), [
        f"{BLOCK_COUNT}: 3 and 4",
        f"{EDGE_COUNT}: 40, but they have 30",
        "block 1 exists, but is not in the directory",
    ]),
    (lambda node: node.zadd(directory_key(KEY), {INDEXED_LIST.entries[1]: 1}), [
        "the directory has scores other than 0: 1 of 4",
        "the directory has block 1 out of order",
        "block 3 has rows that belong to block 1 or behind it",
    ]),
    (lambda node: swap_entry(node, INDEXED_LIST.entries[1], b"x"), [
        "the directory has an entry of 1 bytes",
        "block 1 exists, but is not in the directory",
    ]),
    (lambda node: swap_entry(node, INDEXED_LIST.entries[0], Separator(T0, 1, 0).packed()), [
        "the directory does not begin with a separator of zero"
    ]),
    (lambda node: swap_entry(node, INDEXED_LIST.entries[1], Separator(*EDGES[10], 2).packed()), [
        "the directory names block 2 twice",
        f"{EDGE_COUNT}: 40, but they have 30",
        "block 1 exists, but is not in the directory",
        "block 2 has rows that belong to block 2 or behind it",
    ]),
    (lambda node: node.delete(index_key(KEY)), ["the index is missing"]),
    (lambda node: replace(node, index_key(KEY), "list"), ["the index is a list, not a set"]),
    (lambda node: node.srem(index_key(KEY), name_of(EDGES[3])), [
        f"the index lacks ids of block 0: 1 of 10, as {EDGES[3].id}", f"{INDEX_COUNT}: 45 names, 45 edges"
    ]),
    (lambda node: node.sadd(index_key(KEY), 5), [f"{INDEX_COUNT}: 47 names, 45 edges"]),
    (lambda node: node.smove(index_key(KEY), b"elsewhere", str(SENTINEL)), [
        "the index lacks the sentinel", f"{INDEX_COUNT}: 45 names, 45 edges"
    ]),
    (lambda node: node.sadd(index_key(KEY), "word"), [
        "the index is kept as a listpack, not as an intset", f"{INDEX_COUNT}: 47 names, 45 edges"
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "problems"), DAMAGES, ids=[problems[0] for _, problems in DAMAGES])
async def test_damage_by_hand_is_found(
    lists: PackedEdgeLists, node: Redis, damage: Damaging, problems: list[str]
) -> None:
    await INDEXED_LIST.store(node)
    assert_good(await lists.inspect(FOLLOWING, check=True))
    await damage(node)
    found = await lists.inspect(FOLLOWING, check=True)
    # A small set with a word in it is a hashtable in one family.
    named = [each.replace("a hashtable", "a listpack") for each in found.problems]
    assert sorted(named) == sorted(problems)
    assert found.checked
    glance = await lists.inspect(FOLLOWING, check=False)
    assert set(glance.problems) <= set(found.problems)
    assert (glance.form, glance.size) == (found.form, found.size)


async def test_blocks_without_a_list_are_found(lists: PackedEdgeLists, node: Redis) -> None:
    for number in (0, 999):
        await node.set(block_key(KEY, number), INDEXED_LIST.blocks[1])
    assert (await lists.inspect(FOLLOWING, check=True)).problems == (
        "block 0 exists, but is not in the directory",
        "the head is missing, but there are sealed blocks",
        "block 999 exists, but is not in the directory",
    )
    await node.set(KEY, block_of(EDGES))
    assert (await lists.inspect(FOLLOWING, check=True)).problems == (
        "block 0 exists, but is not in the directory",
        "block 999 exists, but is not in the directory",
    )


async def test_an_edge_in_a_wrong_place_is_not_said_to_have_moved(
    lists: PackedEdgeLists, node: Redis
) -> None:
    unsorted = block_of(EDGES[::-1])
    await node.set(KEY, unsorted)
    [answer] = await lists.add([Addition(FOLLOWING, EDGES[0].id, T0)], 100)
    assert isinstance(answer, ListDamaged)
    assert answer.damage == "an edge does not stand where its time belongs"
    assert await stored_in(node, KEY) == unsorted


async def test_keys_beside_a_short_list_are_found(lists: PackedEdgeLists, node: Redis) -> None:
    await PackedList.of(EDGES).store(node)
    await node.sadd(index_key(KEY), SENTINEL)
    await node.zadd(directory_key(KEY), {INDEXED_LIST.entries[0]: 0})
    found = await lists.inspect(FOLLOWING, check=True)
    assert found.form is ListForm.SHORT
    assert found.problems == (
        "a directory stands beside a short list",
        "an index stands beside a list that has none",
    )


async def test_whatever_is_cut_short_is_found(lists: PackedEdgeLists, node: Redis) -> None:
    chance = random.Random(8)
    await INDEXED_LIST.store(node)
    for key in (KEY, *(block_key(KEY, number) for number in INDEXED_LIST.blocks)):
        whole = await stored_in(node, key)
        for length in (0, 1, 11, 12, 13, 24, len(whole) - 1, chance.randrange(len(whole))):
            await node.set(key, whole[:length])
            assert (await lists.inspect(FOLLOWING, check=True)).problems, (key, length)
        await node.set(key, whole)
    assert_good(await lists.inspect(FOLLOWING, check=True))


async def test_any_id_that_changes_is_found(lists: PackedEdgeLists, node: Redis) -> None:
    """Also where the block remains a good one: the index knows better."""
    chance = random.Random(9)
    await INDEXED_LIST.store(node)
    for number in INDEXED_LIST.blocks:
        key, at = block_key(KEY, number), 12 + 11 * chance.randrange(10) + 7 + chance.randrange(4)
        whole = await stored_in(node, key)
        await node.setrange(key, at, bytes([whole[at] ^ 1 << chance.randrange(8)]))
        assert any(
            "index lacks ids" in each for each in (await lists.inspect(FOLLOWING, check=True)).problems
        )
        await node.set(key, whole)


async def test_a_long_directory_out_of_order_is_walked_to_its_end(
    lists: PackedEdgeLists, node: Redis
) -> None:
    packed = PackedList.of(user_edges(601), 3)
    await packed.store(node)
    for at in (5, 50, 150):
        await node.zadd(directory_key(KEY), {packed.entries[at]: -at})
    await node.delete(block_key(KEY, 199))
    problems = (await lists.inspect(FOLLOWING, check=True)).problems
    assert "the directory has scores other than 0: 3 of 200" in problems
    assert "block 199 is missing" in problems
