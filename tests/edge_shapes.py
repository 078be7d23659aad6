"""Ids, times and orders of edges that are likely to find what a store of packed blocks does wrong."""

import random
from bisect import insort
from collections.abc import Sequence
from enum import Enum

from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor
from graphsvc.model.ids import MAX_ID, SHARDS, pack

T0 = 1_700_000_000_000_000
LATEST_TIME_US = 4_102_444_800_000_000
"""2100-01-01T00:00:00Z."""
UNLIMITED = 10**9

TINY = BlockSizes(head_rows=24, sealed_rows=10, block_rows=20, pull_below=4, merge_below=17, merged_rows=18)
"""Sizes with which some dozens of edges cross all forms. Blocks look for neighbours only each time they have
lost eight rows, so merging needs `merge_below` above 8, and `merged_rows` above that."""
PRODUCT = BlockSizes()

USER = 3

BORDER_IDS = (
    1, 2, 2**19 - 1, 2**19, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**36 - 1, 2**36, 2**53 + 1,
    pack(0, USER, 0), pack(0, USER, 1), pack(0, USER, 2**19 - 1), pack(0, USER, 2**19), pack(0, USER - 1, 1),
    pack(0, USER, 2**32 - 1), pack(0, USER, 2**36 - 1), pack(1, USER, 0), pack(1, USER + 1, 0),
    pack(SHARDS - 1, USER, 2**19 - 1), pack(SHARDS - 1, USER, 2**19), pack(SHARDS, USER, 0),
    pack(SHARDS, USER, 1), pack(2**16 - 1, USER, 1), MAX_ID - 1, MAX_ID,
)  # fmt: skip
"""Where ids begin or end to be short, under either placement, and what is extreme."""


class IdShape(Enum):
    """Where an id comes from."""

    STANDING = "one of the list's"
    SHORT = "short under both placements: few, so that they come again"
    USER = "a user's, short under id placement"
    BORDER = "one of BORDER_IDS"
    ANY = "any of 62 bits"


class TimeShape(Enum):
    """Where a time comes from."""

    NEWEST = "after all edges of the list"
    OLDEST = "before all edges of the list"
    TIE = "one of three microseconds"
    BESIDE = "that of an edge of the list, or the microsecond before or after"
    APART = "as far from an edge of the list as one more byte of time reaches, or nearly"
    ANY = "any from 2000 to 2100"


class Arrival(Enum):
    """In which order edges are imported."""

    FORWARD = "oldest first"
    REVERSE = "newest first"
    RANDOM = "in no order"


def pick_id(shape: IdShape, chance: random.Random, standing: Sequence[Cursor]) -> int:
    """An id of this shape."""
    match shape:
        case IdShape.STANDING if standing:
            return chance.choice(standing).id
        case IdShape.BORDER:
            return chance.choice(BORDER_IDS)
        case IdShape.USER:
            return pack(chance.randrange(SHARDS), USER, chance.randrange(1, 2**19))
        case IdShape.ANY:
            return chance.randint(1, MAX_ID)
        case _:
            return chance.randint(1, 500)


def pick_time(shape: TimeShape, chance: random.Random, standing: Sequence[Cursor]) -> int:
    """A time of this shape, in microseconds; `standing` is in order."""
    oldest, newest = (standing[0].time_us, standing[-1].time_us) if standing else (T0, T0)
    beside = chance.choice(standing).time_us if standing else T0
    pause: int = 10 ** chance.randrange(11)
    match shape:
        case TimeShape.NEWEST:
            time_us = newest + pause
        case TimeShape.OLDEST:
            time_us = oldest - pause
        case TimeShape.TIE:
            time_us = T0 + chance.randrange(3)
        case TimeShape.BESIDE:
            time_us = beside + chance.randint(-1, 1)
        case TimeShape.APART:
            reach = 1 << 8 * chance.randint(4, 6)
            reach -= chance.choice([0, reach // 256])
            time_us = beside + chance.choice([-reach, reach]) + chance.randint(-1, 1)
        case TimeShape.ANY:
            time_us = chance.randint(EARLIEST_TIME_US, LATEST_TIME_US)
    return min(max(time_us, EARLIEST_TIME_US), LATEST_TIME_US)


def pick_edges(
    count: int,
    ids: IdShape,
    times: TimeShape,
    arrival: Arrival,
    chance: random.Random,
    standing: Sequence[Cursor],
) -> list[Cursor]:
    """So many edges, as an import brings them; fewer where the shape has no more ids."""
    known, edges = list(standing), dict[int, Cursor]()
    for _ in range(count):
        edge = Cursor(pick_time(times, chance, known), pick_id(ids, chance, standing))
        if edge.id not in edges:
            edges[edge.id] = edge
            insort(known, edge)
    picked = sorted(edges.values(), reverse=arrival is Arrival.REVERSE)
    if arrival is Arrival.RANDOM:
        chance.shuffle(picked)
    return picked
