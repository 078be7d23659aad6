"""The Protocol of the edge lists of one instance. Drivers: `graphsvc.backends.redis`.

Calls of one method act on many lists of the instance at once; what they do in one shard is atomic, what
they do in several is not. Every method may raise

- `ConnectionLost`: the connection broke before the answer; whether a write happened is not known,
- `ShardUnavailable`: the instance refuses or cannot be reached,
- `Overloaded`: too many calls wait for it already.

All writes are idempotent: any of these errors may be answered by calling again.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from graphsvc.model.edges import Cursor, ListRef, Order, Page


class Addition(NamedTuple):
    """An edge to add. `time_us` 0 means now, by the clock of the list's node."""

    list: ListRef
    id: int
    time_us: int


class Added(NamedTuple):
    """What became of an addition."""

    changed: bool
    time_us: int
    """Of the edge as it now stands; 0: not added, since the list is full."""


class EdgeLists(Protocol):
    """The edge lists of one instance."""

    async def add(self, additions: Sequence[Addition], limit: int) -> list[Added]:
        """Add edges. One that stands already keeps the earlier of both times, or its own where now is asked.

        Edges that would make a list longer than `limit` are not added. Answers in the order asked.
        """
        ...

    async def put(self, additions: Sequence[Addition]) -> None:
        """Make edges stand with exactly these times (never 0), whatever stood before."""
        ...

    async def remove(self, list_ref: ListRef, edge_id: int) -> bool:
        """Remove an edge; whether it stood."""
        ...

    async def times(self, queries: Sequence[tuple[ListRef, Sequence[int]]]) -> list[list[int]]:
        """The times of edges, 0 where there is none; per query, in the order asked."""
        ...

    async def page(self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int) -> Page:
        """At most `limit` edges after the cursor (None: from the beginning)."""
        ...

    async def sizes(self, lists: Sequence[ListRef]) -> list[int]:
        """The number of edges of each list: exact, O(1)."""
        ...

    async def ping(self) -> None:
        """Return if the instance answers and is the one that the map means."""
        ...

    async def close(self) -> None:
        """Close all connections; calls under way fail as transient."""
        ...
