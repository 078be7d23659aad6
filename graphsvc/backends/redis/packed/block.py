"""The format of packed edge lists: what a block is, byte by byte.

A list is a block of its newest edges, the head, and where they are many, sealed blocks of older ones::

    >ABEiM0RVZno      the head                      (the key of the list; see keys.py)
    >ABEiM0RVZno:7    sealed block 7
    >ABEiM0RVZno:d    the directory of the sealed blocks
    >ABEiM0RVZno:i    the index: which ids the list has, where it is asked for ids

Head and sealed blocks are strings of one format, all numbers big-endian::

    0      1         3            10        12       (a list with sealed blocks: 24)
    +------+---------+------------+---------+ - - - - +-----------+-----------+-   -+-----------+
    | form | length  | base       | check   | totals  | row 0     | row 1     | ... | free      |
    +------+---------+------------+---------+ - - - - +-----------+-----------+-   -+-----------+
      1 byte  2 bytes   7 bytes     2 bytes    12                                     zeros

    form     bit 7: the list is long, it has sealed blocks, and totals follow (head only)
             bit 6: it has an index (head only)
             bit 3: 1 in every head, 0 in every sealed block
             bit 2: width of ids: 0 is 4 bytes (short ids, see ids.py), 1 is 8
             bits 1-0: width of times less 4
    length   bytes of the whole string
    base     what is added to the time of a row, microseconds
    check    (seed + form + 257 length + base + 65539 edges + 131101 blocks + 262147 next) mod 65521
    totals   edges in sealed blocks, sealed blocks, the number that the next one gets; 4 bytes each

    row      +-------------------+---------------+      oldest first; edges of one time by id
             | time, 4 - 7 bytes | id, 4 or 8    |
             +-------------------+---------------+

The first byte of a row is never 0 (times of w bytes are at least 256^(w-1), and bases chosen so): the rows
end where a row would begin with 0. A block is as long as its allocation is (see lua/parts/block.lua), so
adding the newest edge is one SETRANGE of one row into the free part. Nothing in a short list says how many
rows there are, so nothing can lie about it; what totals and lengths say is guarded by the check.

The seed of a check tells where the block belongs, so that a block of another list, or another of the same, is
noticed where it is not the one. That of a head is (k0 + 30011 k1 + 50021 k2) mod 65521, of the three numbers
of 4 bytes that the list's key consists of; that of a sealed block is its head's + 12289 times its number.

The directory is a sorted set of separators, all with score 0, so that they stand in order of their bytes::

    +---------------+---------------+-------------+
    | time, 7 bytes | id, 8 bytes   | number, 4   |      number: of the sealed block
    +---------------+---------------+-------------+

All edges of a sealed block are at or after its separator and before the next one's; the separator of the
oldest block is zero. All edges in the head are newer than all in sealed blocks. An index stands only beside
sealed blocks, holds one name an edge (see ids.py) and the sentinel, and is a set of integers.
"""

import struct
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from graphsvc.backends.redis.packed.ids import LONG_BYTES, SHORT_BYTES, ShortIds
from graphsvc.backends.redis.packed.keys import CHECK_PRIME, Place
from graphsvc.model.edges import Cursor

LONG = 0x80
INDEXED = 0x40
HEAD = 0x08
WIDE_IDS = 0x04
NARROWEST_TIME = 4

_HEADER = struct.Struct(">BH7sH")
_TOTALS = struct.Struct(">III")
_SEPARATOR = struct.Struct(">7sQI")
OLDEST = bytes(15)
"""How the separator of the oldest block begins."""


class Damage(Exception):
    """A part of a list is not as the format says; the message says which and how."""


class Totals(NamedTuple):
    """What the head of a long list knows about its sealed blocks."""

    edges: int = 0
    blocks: int = 0
    next: int = 0


NO_TOTALS = Totals()


class Block:
    """A block in hand: its header, and its rows by position. Raises `Damage` where it is none."""

    __slots__ = (
        "base_us",
        "data",
        "form",
        "header",
        "id_width",
        "part",
        "row",
        "rows",
        "time_width",
        "totals",
    )

    def __init__(self, data: bytes, place: Place) -> None:
        """`place` is where it was found, and has to belong."""
        self.data = data
        self.part = part = place.name
        if len(data) < _HEADER.size:
            raise Damage(f"{part} is cut short: {len(data)} bytes")
        self.form, length, base, check = _HEADER.unpack_from(data)
        self.base_us = int.from_bytes(base, "big")
        self.header, self.totals = _HEADER.size, NO_TOTALS
        if self.form & LONG and len(data) >= _HEADER.size + _TOTALS.size:
            self.header += _TOTALS.size
            self.totals = Totals(*_TOTALS.unpack_from(data, _HEADER.size))
        if check != checksum(place.seed, self.form, length, self.base_us, self.totals):
            raise Damage(f"{part} has a header that contradicts itself, or is that of another block")
        if length != len(data):
            raise Damage(f"{part} has {len(data)} bytes instead of {length}")
        if bool(self.form & HEAD) != (place.number is None):
            raise Damage(f"{part} is not the kind of block that belongs there")
        self.time_width: int = NARROWEST_TIME + (self.form & 3)
        self.id_width = LONG_BYTES if self.form & WIDE_IDS else SHORT_BYTES
        self.row: int = self.time_width + self.id_width
        slots = range(self.header, len(data) - self.row + 1, self.row)
        self.rows = bisect_left(slots, 1, key=lambda at: not data[at])
        if not self.rows:
            raise Damage(f"{part} has no rows")

    @property
    def long(self) -> bool:
        """Whether the list has sealed blocks."""
        return bool(self.form & LONG)

    @property
    def indexed(self) -> bool:
        """Whether the list has an index."""
        return bool(self.form & INDEXED)

    @property
    def size(self) -> int:
        """Edges in the whole list; of a head."""
        return self.totals.edges + self.rows

    def find(self, edge_id: int, ids: ShortIds) -> int:
        """The row of an id; -1 where there is none."""
        packed = ids.packed(edge_id, self.id_width)
        if packed is None:
            return -1
        first = self.header + self.time_width
        at = self.data.find(packed, first)
        while at >= 0:
            if not (at - first) % self.row:
                return (at - first) // self.row
            at = self.data.find(packed, at + 1)
        return -1

    def time_of(self, row: int) -> int:
        """The time of a row."""
        at = self.header + row * self.row
        return self.base_us + int.from_bytes(self.data[at : at + self.time_width], "big")

    def position(self, cursor: Cursor, ids: ShortIds) -> int:
        """How many rows stand before an edge."""
        row = bisect_left(range(self.rows), cursor.time_us, key=self.time_of)
        while row < self.rows and self.time_of(row) == cursor.time_us and self.id_of(row, ids) < cursor.id:
            row += 1
        return row

    def id_of(self, row: int, ids: ShortIds) -> int:
        """The id of a row."""
        at = self.header + row * self.row + self.time_width
        stored = int.from_bytes(self.data[at : at + self.id_width], "big")
        return stored if self.id_width == LONG_BYTES else ids.lengthen(stored)

    def columns(self, ids: ShortIds, first: int = 0, end: int | None = None) -> tuple[list[int], list[int]]:
        """Ids and times of rows, oldest first."""
        begin, until = (
            self.header + first * self.row,
            self.header + (self.rows if end is None else end) * self.row,
        )
        return rows_to_columns(self.data[begin:until], self.base_us, self.time_width, self.id_width, ids)


def rows_to_columns(
    rows: bytes, base_us: int, time_width: int, id_width: int, ids: ShortIds
) -> tuple[list[int], list[int]]:
    """Take rows apart into ids and times."""
    read, step = int.from_bytes, time_width + id_width
    times = [base_us + read(rows[at : at + time_width], "big") for at in range(0, len(rows), step)]
    found = [read(rows[at : at + id_width], "big") for at in range(time_width, len(rows), step)]
    return (found if id_width == LONG_BYTES else [ids.lengthen(each) for each in found]), times


def check_order(found_ids: list[int], times_us: list[int], part: str) -> None:
    """Raise `Damage` where edges, oldest first, are not in their order: each is there once, and sorted."""
    edges = list(zip(times_us, found_ids, strict=True))
    for earlier, later in pairwise(edges):
        if earlier >= later:
            raise Damage(f"{part} has rows out of order")


def checksum(seed: int, form: int, length: int, base_us: int, totals: Totals) -> int:
    """The check of a header."""
    counted = 65539 * totals.edges + 131101 * totals.blocks + 262147 * totals.next
    return (seed + form + 257 * length + base_us + counted) % CHECK_PRIME


class Frame(NamedTuple):
    """How the rows of a block are written."""

    time_width: int
    id_width: int
    base_us: int


def encode_block(
    edges: Sequence[Cursor],
    place: Place,
    frame: Frame,
    ids: ShortIds,
    length: int,
    flags: int,
    totals: Totals = NO_TOTALS,
) -> bytes:
    """A block of these edges, oldest first.

    Args:
        edges: what its rows say.
        place: where it belongs.
        frame: widths, and a base with which the times fit theirs.
        ids: of the cluster.
        length: bytes of the whole; what the rows leave is free.
        flags: LONG, INDEXED and HEAD; the last is that of the place too.
        totals: of a LONG head.

    Raises:
        ValueError: the edges do not fit.
    """
    form = flags | (frame.time_width - NARROWEST_TIME) | (WIDE_IDS if frame.id_width == LONG_BYTES else 0)
    check = checksum(place.seed, form, length, frame.base_us, totals)
    parts = [_HEADER.pack(form, length, frame.base_us.to_bytes(7, "big"), check)]
    if flags & LONG:
        parts.append(_TOTALS.pack(*totals))
    for time_us, edge_id in edges:
        packed = ids.packed(edge_id, frame.id_width)
        offset = time_us - frame.base_us
        if packed is None or not 256 ** (frame.time_width - 1) <= offset < 256**frame.time_width:
            raise ValueError(f"{edge_id} at {time_us} does not fit {frame}")
        parts += (offset.to_bytes(frame.time_width, "big"), packed)
    data = b"".join(parts)
    if len(data) > length:
        raise ValueError(f"{len(edges)} rows need {len(data)} bytes, not {length}")
    return data.ljust(length, b"\0")


class Separator(NamedTuple):
    """An entry of the directory."""

    time_us: int
    id: int
    number: int

    def packed(self) -> bytes:
        """As it stands in the directory."""
        return _SEPARATOR.pack(self.time_us.to_bytes(7, "big"), self.id, self.number)


def mark_of(edge: Cursor) -> bytes:
    """A separator without its number: what an edge is looked up by."""
    return _SEPARATOR.pack(edge.time_us.to_bytes(7, "big"), edge.id, 0)[: len(OLDEST)]


def decode_separator(entry: bytes) -> Separator:
    """Take an entry of the directory apart; raises `Damage` where it is none."""
    if len(entry) != _SEPARATOR.size:
        raise Damage(f"the directory has an entry of {len(entry)} bytes")
    time_us, edge_id, number = _SEPARATOR.unpack(entry)
    return Separator(int.from_bytes(time_us, "big"), edge_id, number)
