"""The format of packed lists in examples, written out by hand: what both codecs, Python's and Lua's, give.

What stands here is on disks for ever. A vector that must change is a new format, not a correction.
"""

from typing import NamedTuple

from graphsvc.backends.redis.packed.block import HEAD, INDEXED, LONG, Frame, Totals
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import Place
from graphsvc.model.edges import Cursor
from graphsvc.model.ids import MAX_ID, SHARDS, pack

BY_ID = ShortIds(local_bits=19, type_code=3)
"""Id placement; users are of type 3."""
BY_HASH = ShortIds(local_bits=32, type_code=0)

T0 = 0x60A24181E4000
"""1,700,000,000,000,000: November 2023."""


FOLLOWING_HEAD = Place(b">AAFAMAAAAAE")
FOLLOWERS_HEAD = Place(b"<AAFAMAAAAAE")
BLOCK_0, BLOCK_5 = (Place(FOLLOWING_HEAD.head_key, number) for number in (0, 5))


class BlockVector(NamedTuple):
    """A block: where it belongs, what it says, and its bytes."""

    name: str
    ids: ShortIds
    place: Place
    flags: int
    frame: Frame
    edges: list[Cursor]
    written: str
    totals: Totals = Totals()

    @property
    def data(self) -> bytes:
        """The bytes."""
        return bytes.fromhex(self.written)


BLOCKS = (
    BlockVector(
        "a list of one edge: its time is in the middle of what six bytes reach",
        BY_ID,
        FOLLOWING_HEAD,
        HEAD,
        Frame(time_width=6, id_width=4, base_us=T0 - (1 << 47)),
        [Cursor(T0, pack(5, 3, 7))],
        "0a 001c 058a24181e4000 a36d  800000000000 00280007  000000000000",
    ),
    BlockVector(
        "the oldest and the newest time, the largest and the smallest id: wide, and no base",
        BY_ID,
        FOLLOWING_HEAD,
        HEAD,
        Frame(time_width=7, id_width=8, base_us=0),
        [Cursor(946_684_800_000_000, MAX_ID), Cursor(4_102_444_800_000_000, 1)],
        "0f 002c 00000000000000 56fc  035d013b37e000 3fffffffffffffff  0e9326dd03c000 0000000000000001  0000",
    ),
    BlockVector(
        "a sealed block, as narrow as can be, its offsets as small and as large as can be",
        BY_ID,
        BLOCK_5,
        0,
        Frame(time_width=4, id_width=4, base_us=T0 - (1 << 24)),
        [
            Cursor(T0, pack(0, 3, 1)),
            Cursor(T0, pack(0, 3, 2)),
            Cursor(T0, pack(1, 3, 1)),
            Cursor(T0 + 1, pack(0, 3, 2)),
            Cursor(T0 - (1 << 24) + 0xFFFFFFFF, pack(SHARDS - 1, 3, 2**19 - 1)),
        ],
        "00 003c 060a24171e4000 2b36  01000000 00000001  01000000 00000002  01000000 00080001  "
        "01000001 00000002  ffffffff ffffffff  0000000000000000",
    ),
    BlockVector(
        "a sealed block of times of five bytes, and of ids that are not short",
        BY_HASH,
        BLOCK_0,
        0,
        Frame(time_width=5, id_width=8, base_us=T0 - (1 << 32)),
        [
            Cursor(T0, 1 << 32),
            Cursor(T0 - (1 << 32) + 0xFFFFFFFFFE, 1),
            Cursor(T0 - (1 << 32) + 0xFFFFFFFFFF, MAX_ID),
        ],
        "05 003c 060a23181e4000 4946  0100000000 0000000100000000  fffffffffe 0000000000000001  "
        "ffffffffff 3fffffffffffffff  000000000000000000",
    ),
    BlockVector(
        "a user of a dormant shard has no short id",
        BY_ID,
        BLOCK_5,
        0,
        Frame(time_width=4, id_width=8, base_us=T0 - (1 << 24)),
        [Cursor(T0 + 255, pack(2**16 - 1, 3, 9))],
        "04 001c 060a24171e4000 0b1a  010000ff 3fffc03000000009  00000000",
    ),
    BlockVector(
        "the head of a long list, full to the last byte",
        BY_ID,
        FOLLOWING_HEAD,
        HEAD | LONG,
        Frame(time_width=6, id_width=4, base_us=T0 - (1 << 40)),
        [Cursor(T0, pack(7, 3, 1)), Cursor(T0 + (1 << 40), pack(7, 3, 2))],
        "8a 002c 060924181e4000 710f 0000012c 00000003 00000007  010000000000 00380001  "
        "020000000000 00380002",
        Totals(edges=300, blocks=3, next=7),
    ),
    BlockVector(
        "the head of a list with an index, some ids of which are not short",
        BY_HASH,
        FOLLOWING_HEAD,
        HEAD | LONG | INDEXED,
        Frame(time_width=6, id_width=8, base_us=T0 - (1 << 40)),
        [Cursor(T0, 1 << 61)],
        "ce 002c 060924181e4000 5c82 00000469 00000009 01000000  010000000000 2000000000000000  000000000000",
        Totals(edges=1129, blocks=9, next=1 << 24),
    ),
    BlockVector(
        "under hash placement ids below 2^32 are short",
        BY_HASH,
        FOLLOWERS_HEAD,
        HEAD,
        Frame(time_width=6, id_width=4, base_us=T0 - (1 << 47)),
        [Cursor(T0, 1), Cursor(T0, 2**32 - 1), Cursor(T0 + 1, 1 << 31)],
        "0a 002c 058a24181e4000 957d  800000000000 00000001  800000000000 ffffffff  "
        "800000000001 80000000  0000",
    ),
)


class IdVector(NamedTuple):
    """An id: its short id (0: it has none), and its name in the index."""

    ids: ShortIds
    id: int
    short: int
    index_name: int


IDS = (
    IdVector(BY_ID, pack(0, 3, 1), 0x00000001, -0x7FFFFFFF),
    IdVector(BY_ID, pack(0, 3, 2**19 - 1), 0x0007FFFF, -0x7FF80001),
    IdVector(BY_ID, pack(1, 3, 0), 0x00080000, -0x7FF80000),
    IdVector(BY_ID, pack(4096, 3, 0), 0x80000000, 0),
    IdVector(BY_ID, pack(SHARDS - 1, 3, 2**19 - 1), 0xFFFFFFFF, 0x7FFFFFFF),
    # Not short: local part 0 of shard 0, another type, a local part or a shard too large.
    IdVector(BY_ID, pack(0, 3, 0), 0, -210_453_397_504),
    IdVector(BY_ID, pack(0, 2, 1), 0, -141_733_920_769),
    IdVector(BY_ID, pack(0, 3, 2**19), 0, -210_453_921_792),
    IdVector(BY_ID, pack(SHARDS, 3, 0), 0, -576_460_962_756_820_992),
    IdVector(BY_ID, 1, 0, -4_294_967_297),
    IdVector(BY_ID, 2**32, 0, -8_589_934_592),
    IdVector(BY_ID, MAX_ID, 0, -4_611_686_022_722_355_199),
    IdVector(BY_HASH, 1, 0x00000001, -0x7FFFFFFF),
    IdVector(BY_HASH, 2**31, 0x80000000, 0),
    IdVector(BY_HASH, 2**32 - 1, 0xFFFFFFFF, 0x7FFFFFFF),
    IdVector(BY_HASH, 2**32, 0, -8_589_934_592),
    IdVector(BY_HASH, 2**36, 0, -73_014_444_032),
    IdVector(BY_HASH, pack(1, 0, 1), 0, -70_373_039_144_961),
    IdVector(BY_HASH, MAX_ID, 0, -4_611_686_022_722_355_199),
)


class SeparatorVector(NamedTuple):
    """An entry of the directory; without a mark that of the oldest block."""

    time_us: int
    id: int
    number: int
    written: str


SEPARATORS = (
    SeparatorVector(0, 0, 0, "00000000000000 0000000000000000 00000000"),
    SeparatorVector(0, 0, 0xFFFFFFFF, "00000000000000 0000000000000000 ffffffff"),
    SeparatorVector(T0, pack(5, 3, 7), 258, "060a24181e4000 0001403000000007 00000102"),
    SeparatorVector(4_102_444_800_000_000, MAX_ID, 1, "0e9326dd03c000 3fffffffffffffff 00000001"),
)


class SeedVector(NamedTuple):
    """What the check of a block that belongs somewhere begins with."""

    place: Place
    seed: int


SEEDS = (
    SeedVector(FOLLOWING_HEAD, 10945),
    SeedVector(FOLLOWERS_HEAD, 3265),
    SeedVector(Place(b">AAFAMAAAAAI"), 14466),
    SeedVector(Place(b">AAFBMAAAAAE"), 1746),
    SeedVector(BLOCK_0, 10945),
    SeedVector(BLOCK_5, 72390),
    SeedVector(Place(FOLLOWING_HEAD.head_key, 2**32 - 1), 52_780_853_099_200),
)


class CheckVector(NamedTuple):
    """The check of a header."""

    seed: int
    form: int
    length: int
    base_us: int
    totals: Totals
    check: int


CHECKS = (
    CheckVector(0, 0, 0, 0, Totals(), 0),
    CheckVector(0, 0x0A, 28, 0, Totals(), 7_206),
    CheckVector(0, 0x0F, 254, 0, Totals(), 65_293),
    CheckVector(0, 0x0F, 255, 0, Totals(), 29),
    CheckVector(0, 0, 0, 65_521, Totals(), 0),
    CheckVector(0, 0, 0, 2**52, Totals(), 54_000),
    CheckVector(0, 0, 0, 0, Totals(1, 0, 0), 18),
    CheckVector(0, 0, 0, 0, Totals(0, 1, 0), 59),
    CheckVector(0, 0, 0, 0, Totals(0, 0, 1), 63),
    CheckVector(65_520, 0x0A, 28, 0, Totals(), 7_205),
    CheckVector(2**45, 0, 0, 0, Totals(), 8612),
    CheckVector(0, 0xFF, 65_535, 4_102_444_800_000_000, Totals(2**32 - 1, 2**32 - 1, 2**32 - 1), 21_026),
)

FITS = (
    (1, 12), (12, 12), (13, 28), (28, 28), (29, 44), (44, 44), (124, 124), (125, 156), (156, 156), (157, 188),
    (252, 252), (253, 314), (314, 314), (315, 378), (506, 506), (507, 634), (1018, 1018), (1019, 1274),
    (2042, 2042), (2043, 2554), (4090, 4090), (4091, 5114),
)  # fmt: skip
"""A length that is needed, and that of the string that fills the same allocation."""
