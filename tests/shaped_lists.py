"""Lists with blocks of chosen sizes, stored by hand; taken as they are, and put back."""

from collections.abc import Sequence
from typing import NamedTuple

import redis.asyncio

from graphsvc.backends.redis.packed.block import (
    HEAD,
    INDEXED,
    LONG,
    OLDEST,
    Frame,
    Separator,
    Totals,
    encode_block,
)
from graphsvc.backends.redis.packed.ids import SENTINEL, ShortIds
from graphsvc.backends.redis.packed.keys import Place, block_key, directory_key, index_key, list_key
from graphsvc.model.edges import Cursor, ListRef
from graphsvc.model.ids import spread
from tests.edge_shapes import T0, USER
from tests.stored_lists import keys_of

SECOND = 1_000_000
FRAME = Frame(time_width=6, id_width=4, base_us=T0 - (1 << 47))
FREE = 7
"""Bytes behind the rows of each block."""
ROW = FRAME.time_width + FRAME.id_width


class Shape(NamedTuple):
    """How a list is stored: rows of its sealed blocks, the oldest first, and of its head; its index."""

    sealed_rows: Sequence[int]
    head_rows: int
    indexed: bool = False

    @property
    def size(self) -> int:
        """Edges."""
        return sum(self.sealed_rows) + self.head_rows


class Target(NamedTuple):
    """The keys of a list that was stored by `store_list`."""

    client: redis.asyncio.Redis
    ref: ListRef
    ids: ShortIds
    shape: Shape

    @property
    def head_key(self) -> bytes:
        """The head's key."""
        return list_key(self.ref)

    @property
    def directory_key(self) -> bytes:
        """The directory's key."""
        return directory_key(self.head_key)

    @property
    def index_key(self) -> bytes:
        """The index's key."""
        return index_key(self.head_key)

    def block_key(self, number: int) -> bytes:
        """The key of a sealed block; they are numbered from the oldest on, -1 is the newest."""
        return block_key(self.head_key, number % len(self.shape.sealed_rows))


def edges_like(shape: Shape) -> list[Cursor]:
    """Edges for a list of this shape, ten seconds and ten ids apart, so that others fit between them."""
    return [Cursor(T0 + 10 * number * SECOND, spread(10 * number + 5, USER)) for number in range(shape.size)]


async def store_list(
    client: redis.asyncio.Redis, ref: ListRef, shape: Shape, edges: Sequence[Cursor], ids: ShortIds
) -> None:
    """Write all keys of a list, none of which exist."""
    rest, parts = list(edges), []
    for rows in shape.sealed_rows:
        parts.append(rest[:rows])
        del rest[:rows]
    key = list_key(ref)
    for number, part in enumerate(parts):
        place = Place(key, number)
        await client.set(place.key, _block(part, place, 0, ids, Totals()))
        separator = Separator(*part[0], number).packed()
        entry = separator if number else OLDEST + separator[len(OLDEST) :]
        await client.zadd(directory_key(key), {entry: 0})
    if shape.indexed:
        await client.sadd(index_key(key), SENTINEL, *(ids.index_name(each.id) for each in edges))
    flags = HEAD | (LONG if parts else 0) | (INDEXED if shape.indexed else 0)
    totals = Totals(sum(shape.sealed_rows), len(parts), len(parts))
    await client.set(key, _block(rest, Place(key), flags, ids, totals))


def _block(edges: list[Cursor], place: Place, flags: int, ids: ShortIds, totals: Totals) -> bytes:
    length = (24 if flags & LONG else 12) + len(edges) * ROW + FREE
    return encode_block(edges, place, FRAME, ids, length, flags, totals if flags & LONG else Totals())


async def dumps_of(client: redis.asyncio.Redis, ref: ListRef) -> dict[bytes, bytes]:
    """All keys of a list, to be restored."""
    keys = sorted(await keys_of(client, ref))
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.dump(key)
    return dict(zip(keys, await pipeline.execute(), strict=True))


async def contents_of(client: redis.asyncio.Redis, ref: ListRef) -> dict[bytes, object]:
    """What all keys of a list hold, to be compared: dumps, and of sets, which have no order, the members."""
    contents: dict[bytes, object] = dict(await dumps_of(client, ref))
    pipeline = client.pipeline(transaction=False)
    for key in contents:
        pipeline.type(key)
    for key, kind in zip(list(contents), await pipeline.execute(), strict=True):
        if kind == b"set":
            contents[key] = await client.smembers(key)
    return contents


async def restore(client: redis.asyncio.Redis, ref: ListRef, dumps: dict[bytes, bytes]) -> None:
    """Make the keys of a list hold this again, and no others exist."""
    pipeline = client.pipeline(transaction=False)
    for key in await keys_of(client, ref):
        pipeline.delete(key)
    for key, dump in dumps.items():
        pipeline.restore(key, 0, dump)
    await pipeline.execute()
