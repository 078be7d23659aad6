"""The values of edge lists: which list, which edge, where in the order, one page.

An edge list is a set of ids in the order (time, id). Times are microseconds since the Unix epoch.
"""

from enum import Enum, StrEnum
from typing import NamedTuple

EARLIEST_TIME_US = 946_684_800_000_000
"""2000-01-01T00:00:00Z: no edge is older."""

LATEST_TIME_US = 4_102_444_800_000_000
"""2100-01-01T00:00:00Z: no edge is newer."""


class ListKind(StrEnum):
    """The lists of a user."""

    FOLLOWING = "following"
    FOLLOWERS = "followers"


class Order(Enum):
    """The order of a page; edges of one microsecond are ordered by id."""

    NEWEST_FIRST = 1
    OLDEST_FIRST = 2


class ListRef(NamedTuple):
    """Names one edge list: it is a key in the database `shard`."""

    shard: int
    kind: ListKind
    user_id: int


class Cursor(NamedTuple):
    """A place in a list: just after the edge of this time and id, which need not exist any more."""

    time_us: int
    id: int


class Page(NamedTuple):
    """Edges in the order asked, as columns of one length."""

    ids: list[int]
    times_us: list[int]
    more: bool
    """Whether edges follow this page."""
    size: int
    """Edges in the whole list."""
