"""Packed lists made by hand: what their keys hold, to be damaged, verified, stored in a node."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from redis.asyncio import Redis

from graphsvc.backends.redis.packed.block import (
    HEAD,
    INDEXED,
    LONG,
    OLDEST,
    Block,
    Damage,
    Frame,
    Separator,
    Totals,
    encode_block,
)
from graphsvc.backends.redis.packed.ids import LONG_BYTES, SENTINEL, SHORT_BYTES, ShortIds
from graphsvc.backends.redis.packed.keys import Place, directory_key, index_key, list_key
from graphsvc.backends.redis.packed.pictures import Directory, Index, Picture, StoredBlock, numbers_in
from graphsvc.model.edges import Cursor, ListKind, ListRef
from graphsvc.model.ids import spread
from graphsvc.model.list_inspection import ListInspection

T0 = 1_700_000_000_000_000
USER = 3
ANN = spread(7, USER)
"""A user of shard 7, whose lists these are."""
FOLLOWING = ListRef(7, ListKind.FOLLOWING, ANN)
FOLLOWERS = ListRef(7, ListKind.FOLLOWERS, ANN)
KEY = list_key(FOLLOWING)
HEAD_PLACE = Place(KEY)
SHORT_IDS = ShortIds(local_bits=19, type_code=USER)
FREE = 16
"""Bytes behind the rows of each block."""


def user_edges(count: int, first: int = 1) -> list[Cursor]:
    """Edges of users 1, 2, 3 ..., a second apart."""
    return [Cursor(T0 + n * 1_000_000, spread(n, USER)) for n in range(first, first + count)]


def block_of(
    edges: Sequence[Cursor], flags: int = HEAD, totals: Totals | None = None, place: Place = HEAD_PLACE
) -> bytes:
    """A block of these edges, oldest first, with widths that do."""
    short = all(SHORT_IDS.shorten(edge.id) for edge in edges)
    frame = Frame(7, LONG_BYTES if not short else SHORT_BYTES, 0)
    length = (24 if flags & LONG else 12) + len(edges) * (7 + frame.id_width) + FREE
    return encode_block(edges, place, frame, SHORT_IDS, length, flags, totals or Totals())


@dataclass
class PackedList:
    """What the keys of whom Ann follows hold."""

    head: bytes | None
    blocks: dict[int, bytes] = field(default_factory=dict)
    entries: list[bytes] = field(default_factory=list)
    index: set[int] | None = None

    @classmethod
    def of(cls, edges: Sequence[Cursor], block_rows: int = 0, *, indexed: bool = False) -> "PackedList":
        """A good list: short, or with sealed blocks of so many rows and a head of the rest."""
        if not block_rows:
            return cls(block_of(edges))
        sealed = [edges[at : at + block_rows] for at in range(0, len(edges) - 1, block_rows)]
        if len(sealed[-1]) < block_rows or sealed[-1][-1] == edges[-1]:
            sealed.pop()
        blocks = {number: block_of(rows, 0, place=Place(KEY, number)) for number, rows in enumerate(sealed)}
        entries = [Separator(*rows[0], number).packed() for number, rows in enumerate(sealed)]
        entries[0] = OLDEST + entries[0][len(OLDEST) :]
        count = len(sealed) * block_rows
        head = block_of(
            edges[count:], HEAD | LONG | (INDEXED if indexed else 0), Totals(count, len(blocks), len(blocks))
        )
        names = {SENTINEL, *(SHORT_IDS.index_name(edge.id) for edge in edges)}
        return cls(head, blocks, entries, names if indexed else None)

    async def store(self, node: Redis) -> None:
        """Write all keys."""
        for place, data in self._places():
            if data is not None:
                await node.set(place.key, data)
        if self.entries:
            await node.zadd(directory_key(KEY), dict.fromkeys(self.entries, 0))
        if self.index is not None:
            await node.sadd(index_key(KEY), *self.index)

    def pictures(self, run: int) -> Iterator[Picture]:
        """Run by run, as they would be read."""
        for at in range(0, max(1, len(self.entries)), run):
            entries = sorted(self.entries)[at : at + run + 1]
            yield Picture(
                head=_stored(Place(KEY), self.head),
                directory=_directory(self.entries),
                index=_index(self.index),
                entries=entries,
                blocks={
                    number: _stored(Place(KEY, number), self.blocks.get(number))
                    for number in numbers_in(entries)
                },
                indexed={
                    each: SHORT_IDS.index_name(each) in self.index
                    for place, data in self._places()
                    for each in _ids_in(place, data)
                }
                if self.index and self.head and self.head[0] & INDEXED
                else {},
            )

    def _places(self) -> Iterator[tuple[Place, bytes | None]]:
        yield Place(KEY), self.head
        for number, data in self.blocks.items():
            yield Place(KEY, number), data


def _stored(place: Place, data: bytes | None) -> StoredBlock:
    return StoredBlock(place) if data is None else StoredBlock(place, "string", len(data) + 40, data)


def _directory(entries: Sequence[bytes]) -> Directory:
    return Directory("zset", 19 * len(entries), len(entries), len(entries)) if entries else Directory()


def _index(names: set[int] | None) -> Index:
    if names is None:
        return Index()
    return Index("set", 4 * len(names), "intset", len(names), SENTINEL in names)


def _ids_in(place: Place, data: bytes | None) -> list[int]:
    try:
        return Block(data or b"", place).columns(SHORT_IDS)[0]
    except Damage:
        return []


def assert_good(found: ListInspection) -> None:
    """The inspection checked everything and found nothing wrong."""
    assert (found.problems, found.unchecked, found.checked) == ((), (), True)


async def stored_in(node: Redis, key: bytes) -> bytes:
    """The string that a key holds."""
    data = await node.get(key)
    assert isinstance(data, bytes)
    return data
