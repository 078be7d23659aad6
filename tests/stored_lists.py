"""What a node holds of an edge list, read key by key and held against every sentence of the format.

It shares the codec with the service, but none of its reading: what it accepts is a list as packed/block.py
draws it, and what it returns is what the list says.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import redis.asyncio

from graphsvc.backends.redis.packed.block import (
    HEAD,
    INDEXED,
    LONG,
    OLDEST,
    Block,
    Frame,
    Separator,
    decode_separator,
    encode_block,
)
from graphsvc.backends.redis.packed.ids import SENTINEL, ShortIds
from graphsvc.backends.redis.packed.keys import Place, directory_key, index_key, list_key
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor, ListRef
from graphsvc.model.ids import MAX_ID
from graphsvc.model.list_inspection import ListForm
from graphsvc.model.topology import Node


class StoredList(NamedTuple):
    """A list as it is stored."""

    form: ListForm
    edges: list[Cursor]
    """Oldest first."""
    sealed_rows: list[int]
    """Of each sealed block, the oldest first."""
    head_rows: int


@asynccontextmanager
async def shard_client(node: Node, shard: int) -> AsyncIterator[redis.asyncio.Redis]:
    """A connection to the database of a shard."""
    client = redis.asyncio.Redis(host=node.host, port=node.port, db=shard, single_connection_client=True)
    try:
        yield client
    finally:
        await client.aclose()


async def keys_of(client: redis.asyncio.Redis, list_ref: ListRef) -> set[bytes]:
    """All keys of a list, in the database of its shard."""
    keys: list[bytes] = await client.keys(list_key(list_ref) + b"*")  # type: ignore[assignment]
    return set(keys)


async def read_list(client: redis.asyncio.Redis, list_ref: ListRef, ids: ShortIds) -> StoredList:
    """A list, read while nobody writes it; AssertionError or `Damage` where it is not as it must be."""
    head_key, keys = list_key(list_ref), await keys_of(client, list_ref)
    head_data: bytes | None = await client.get(head_key)  # type: ignore[assignment]
    if head_data is None:
        assert not keys
        return StoredList(ListForm.EMPTY, [], [], 0)
    head = Block(head_data, Place(head_key))
    newest = edges_of(head, Place(head_key), ids)
    if not head.long:
        assert keys == {head_key}
        assert not head.indexed
        return StoredList(ListForm.SHORT, newest, [], head.rows)
    separators = await _read_directory(client, head_key, head)
    places = [Place(head_key, each.number) for each in separators]
    datas: list[bytes | None] = await client.mget(  # type: ignore[assignment]
        [place.key for place in places]
    )
    blocks = [Block(data, place) for data, place in zip(datas, places, strict=True) if data is not None]
    assert len(blocks) == len(places)
    sealed = [edges_of(block, place, ids) for block, place in zip(blocks, places, strict=True)]
    _check_places(separators, sealed, newest[0])
    assert sum(map(len, sealed)) == head.totals.edges
    edges = [edge for part in (*sealed, newest) for edge in part]
    await _check_index(client, head_key, head, [each.id for each in edges], ids)
    assert keys == {
        head_key,
        directory_key(head_key),
        *(place.key for place in places),
        *([index_key(head_key)] if head.indexed else []),
    }
    form = ListForm.INDEXED if head.indexed else ListForm.LONG
    return StoredList(form, edges, [each.rows for each in blocks], head.rows)


def edges_of(block: Block, place: Place, ids: ShortIds) -> list[Cursor]:
    """The edges of a block, which is exactly what the encoder would make of them."""
    found, times_us = block.columns(ids)
    edges = [Cursor(time_us, edge_id) for time_us, edge_id in zip(times_us, found, strict=True)]
    assert edges == sorted(set(edges))
    assert all(time_us >= EARLIEST_TIME_US for time_us in times_us)
    assert all(0 < edge_id <= MAX_ID for edge_id in found)
    frame = Frame(block.time_width, block.id_width, block.base_us)
    flags = block.form & (LONG | INDEXED | HEAD)
    assert encode_block(edges, place, frame, ids, len(block.data), flags, block.totals) == block.data
    return edges


async def _read_directory(client: redis.asyncio.Redis, head_key: bytes, head: Block) -> list[Separator]:
    entries: list[tuple[bytes, float]] = await client.zrange(  # type: ignore[assignment]
        directory_key(head_key), 0, -1, withscores=True
    )
    assert all(score == 0 for _, score in entries)
    separators = [decode_separator(entry) for entry, _ in entries]
    assert len(separators) == head.totals.blocks > 0
    assert separators[0].packed().startswith(OLDEST)
    assert len({each.number for each in separators}) == len(separators)
    assert all(each.number < head.totals.next for each in separators)
    return separators


def _check_places(
    separators: Sequence[Separator], sealed: Sequence[Sequence[Cursor]], head_first: Cursor
) -> None:
    ends = [Cursor(each.time_us, each.id) for each in separators[1:]] + [head_first]
    for separator, edges, end in zip(separators, sealed, ends, strict=True):
        assert (separator.time_us, separator.id) <= edges[0]
        assert edges[-1] < end


async def _check_index(
    client: redis.asyncio.Redis, head_key: bytes, head: Block, edge_ids: Sequence[int], ids: ShortIds
) -> None:
    if head.indexed:
        names = {int(name) for name in await client.smembers(index_key(head_key))}
        assert names == {SENTINEL, *map(ids.index_name, edge_ids)}
        assert len(names) == head.size + 1
        assert await client.object("ENCODING", index_key(head_key)) == b"intset"
