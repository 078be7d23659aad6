"""The format in Lua, on real nodes of every family: the same vectors as in Python, the same refusals.

That Python takes apart what Lua wrote, and makes the same bytes of it again, is part of every history: see
stored_lists.py.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis.asyncio

from graphsvc.backends.redis.functions import BlockSizes, parts
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.packed.block import HEAD, INDEXED, LONG, Block, Damage
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import Place
from tests.format_vectors import (
    BLOCKS,
    BY_HASH,
    BY_ID,
    CHECKS,
    FITS,
    FOLLOWING_HEAD,
    IDS,
    SEEDS,
    SEPARATORS,
    BlockVector,
    CheckVector,
    IdVector,
    SeedVector,
    SeparatorVector,
)
from tests.stored_lists import shard_client

PLACE = """
local head = {key = string.sub(KEYS[1], 1, 12), seed = seed_of(KEYS[1])}
local key, part, seed = head.key, 'the head', head.seed
if ARGV[1] ~= '' then
  key, part, seed = place_of(head, tonumber(ARGV[1]))
end
assert(key == KEYS[1])
"""

OPEN = (
    PLACE
    + """
local block = open(key, part, seed)
local answer = {
  block.long and 1 or 0, block.indexed and 1 or 0, block.time_width, block.id_width,
  string.format('%.0f', block.base), block.edges, block.blocks, block.next, block.rows,
}
for row = 0, block.rows - 1 do
  answer[#answer + 1] = string.format('%.0f', time_at(block, row))
  answer[#answer + 1] = struct.pack('>I4I4', id_at(block, row))
end
return answer
"""
)

WRITE = (
    PLACE
    + """
local block = {
  key = key, seed = seed, long = ARGV[2] == '1', indexed = ARGV[3] == '1', head = ARGV[4] == '1',
  time_width = tonumber(ARGV[5]), id_width = tonumber(ARGV[6]), base = tonumber(ARGV[7]),
  edges = tonumber(ARGV[8]), blocks = tonumber(ARGV[9]), next = tonumber(ARGV[10]),
}
block.header = block.long and LONG_HEADER or HEADER
local rows = {}
for i = 11, #ARGV, 2 do
  rows[#rows + 1] = row_bytes(block, tonumber(ARGV[i]), struct.unpack('>I4I4', ARGV[i + 1]))
end
store(block, table.concat(rows))
return redis.call('GET', KEYS[1])
"""
)

NAMES = """
local high, low = struct.unpack('>I4I4', ARGV[1])
local short = shorten(high, low)
local back = short and struct.pack('>I4I4', lengthen(short)) or ARGV[1]
return {string.format('%.0f', short or 0), back, index_name(high, low)}
"""

SEPARATOR = """
local mark = ARGV[1] == '0' and OLDEST or mark_of(tonumber(ARGV[1]), struct.unpack('>I4I4', ARGV[2]))
return mark .. struct.pack('>I4', tonumber(ARGV[3]))
"""

CHECK = """
local number = {}
for i, text in ipairs(ARGV) do number[i] = tonumber(text) end
return checksum(unpack(number))
"""

SEED = PLACE + "return string.format('%.0f', seed)"

MEMORY = """
local answer = {}
for needed = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local bytes = {}
  for i, length in ipairs({needed, fit(needed), fit(needed) + 1}) do
    redis.call('SET', KEYS[1], string.rep('x', length))
    bytes[i] = redis.call('MEMORY', 'USAGE', KEYS[1])
  end
  answer[#answer + 1] = bytes
end
return answer
"""

KEY = FOLLOWING_HEAD.key


class Lua:
    """Runs bodies behind the parts that all functions share."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self.client = client

    async def run(self, ids: ShortIds, body: str, *arguments: bytes | str | int) -> Any:
        """What a body answers."""
        return await self.client.eval(parts(ids, BlockSizes()).decode() + body, 1, KEY, *arguments)

    async def run_at(self, place: Place, ids: ShortIds, body: str, *arguments: bytes | str | int) -> Any:
        """What a body that begins with PLACE answers."""
        number = "" if place.number is None else place.number
        source = parts(ids, BlockSizes()).decode() + body
        return await self.client.eval(source, 1, place.key, number, *arguments)


@pytest.fixture
async def lua(nodes: list[NodeProcess]) -> AsyncIterator[Lua]:
    async with shard_client(nodes[0].node, 5) as client:
        yield Lua(client)


blocks = pytest.mark.parametrize("vector", BLOCKS, ids=lambda vector: vector.name)


@blocks
async def test_a_block_is_written_so(lua: Lua, vector: BlockVector) -> None:
    edges = [word for edge in vector.edges for word in (edge.time_us, edge.id.to_bytes(8, "big"))]
    flags = [int(bool(vector.flags & flag)) for flag in (LONG, INDEXED, HEAD)]
    words = (*flags, *vector.frame, *vector.totals, *edges)
    assert await lua.run_at(vector.place, vector.ids, WRITE, *words) == vector.data


@blocks
async def test_a_block_is_read_so(lua: Lua, vector: BlockVector) -> None:
    await lua.client.set(vector.place.key, vector.data)
    answer = await lua.run_at(vector.place, vector.ids, OPEN)
    time_width, id_width, base_us = vector.frame
    assert answer == [
        bool(vector.flags & LONG),
        bool(vector.flags & INDEXED),
        time_width,
        id_width,
        str(base_us).encode(),
        *vector.totals,
        len(vector.edges),
        *(
            word
            for time_us, edge_id in vector.edges
            for word in (b"%d" % time_us, edge_id.to_bytes(8, "big"))
        ),
    ]


@blocks
async def test_lua_refuses_what_python_refuses_in_the_same_words(lua: Lua, vector: BlockVector) -> None:
    own = vector.place
    cases = [(vector.data + b"\0", own), *((vector.data, each.place) for each in SEEDS if each.place != own)]
    cases += [(vector.data[:length], own) for length in range(len(vector.data))]
    for bit in range(8 * Block(vector.data, own).header):
        flipped = bytearray(vector.data)
        flipped[bit // 8] ^= 1 << bit % 8
        cases.append((bytes(flipped), own))
    for data, place in cases:
        await lua.client.set(place.key, data)
        with pytest.raises(redis.exceptions.ResponseError, match="DAMAGED") as in_lua:
            await lua.run_at(place, vector.ids, OPEN)
        with pytest.raises(Damage) as in_python:
            Block(data, place)
        if len(data) >= Block(vector.data, own).header:
            assert str(in_lua.value).partition(" script:")[0] == f"DAMAGED {in_python.value}"


@pytest.mark.parametrize("vector", IDS, ids=str)
async def test_an_id_has_these_names(lua: Lua, vector: IdVector) -> None:
    packed = vector.id.to_bytes(8, "big")
    expected = [b"%d" % vector.short, packed, b"%d" % vector.index_name]
    assert await lua.run(vector.ids, NAMES, packed) == expected


@pytest.mark.parametrize("vector", SEPARATORS, ids=str)
async def test_a_separator_is_written_so(lua: Lua, vector: SeparatorVector) -> None:
    words = (vector.time_us, vector.id.to_bytes(8, "big"), vector.number)
    assert await lua.run(BY_ID, SEPARATOR, *words) == bytes.fromhex(vector.written)


@pytest.mark.parametrize("vector", CHECKS, ids=str)
async def test_the_check_is_computed_so(lua: Lua, vector: CheckVector) -> None:
    *numbers, totals, check = vector
    assert await lua.run(BY_ID, CHECK, *numbers, *totals) == check


@pytest.mark.parametrize("vector", SEEDS, ids=str)
async def test_the_check_begins_with_the_seed_of_the_place(lua: Lua, vector: SeedVector) -> None:
    assert await lua.run_at(vector.place, BY_ID, SEED) == b"%d" % vector.seed


@pytest.mark.parametrize("ids", [BY_ID, BY_HASH], ids=["id", "hash"])
async def test_strings_are_made_so_long(lua: Lua, ids: ShortIds) -> None:
    for needed, length in FITS:
        assert await lua.run(ids, "return fit(tonumber(ARGV[1]))", needed) == length


@pytest.mark.parametrize("family", ["redis"], indirect=True)  # the embedded Valkey has another allocator
async def test_a_string_made_longer_takes_no_more_memory_and_fills_it(lua: Lua) -> None:
    for first in range(13, 3_200, 500):
        usages = await lua.run(BY_ID, MEMORY, first, first + 499)
        for needed, (bare, fitting, more) in enumerate(usages, first):
            assert bare == fitting < more, needed
