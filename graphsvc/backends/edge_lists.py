"""The Protocol of the edge lists of one instance. Drivers: `graphsvc.backends.redis`.

Calls of one method act on many lists of the instance at once; what they do to one list is atomic, what
they do to several is not. Every method may raise

- `ConnectionLost`: the connection broke before the answer; whether a write happened is not known,
- `ShardUnavailable`: the instance refuses or cannot be reached,
- `Overloaded`: too many calls wait for it already.

All writes are idempotent: any of these errors may be answered by calling again. A list whose stored form is
damaged gives `ListDamaged`: methods that act on many lists answer with it in that list's place, and do the
rest; those that act on one raise it. Nothing is then written to that list.

Lists are of two sorts, by who writes them. Those written with `add` are asked which ids they hold, and know
it at any size, which is at most 65,000. Those written with `put` are the inverses of such lists: their
writers know the time of each edge, and name it; they hold an edge (time, id) once, and what else they hold of
that id is the writer's care. Ids are 1 to 2^62-1, times those from 2000 to 2100; `ValueError` else.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from graphsvc.model.edges import Cursor, ListRef, Order, Page
from graphsvc.model.errors import ListDamaged
from graphsvc.model.list_inspection import ListInspection

WALK_STEP = 1_000
"""Edges of one step of a walk."""


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
    former_us: int = 0
    """Of the edge before, where it took an earlier time; else 0."""


class Inverse(NamedTuple):
    """An edge to put: it stands at `time_us`, and no longer at `former_us` (0: it stood at no other time)."""

    list: ListRef
    id: int
    time_us: int
    former_us: int = 0


class Removal(NamedTuple):
    """An edge to remove, and its time; 0: not known."""

    list: ListRef
    id: int
    time_us: int = 0


class EdgeLists(Protocol):
    """The edge lists of one instance."""

    async def add(self, additions: Sequence[Addition], limit: int) -> list[Added | ListDamaged]:
        """Add edges. One that stands already keeps the earlier of both times, or its own where now is asked.

        Edges that would make a list longer than `limit` are not added. Answers in the order asked.
        """
        ...

    async def put(self, inverses: Sequence[Inverse]) -> list[bool | ListDamaged]:
        """Make edges stand with exactly these times (never 0); whether that changed their lists.

        Where a former time is not given, one is replaced that stands among the newest edges, the whole of a
        list of up to 200.
        """
        ...

    async def remove(self, removals: Sequence[Removal]) -> list[int | ListDamaged]:
        """Remove edges; the times at which they stood, 0 where they did not.

        Where the time is not known the edge is looked for: in lists written with `put` in the newest 64
        blocks, which hold some thousands.
        """
        ...

    async def contains(
        self, queries: Sequence[tuple[ListRef, Sequence[int]]]
    ) -> list[list[bool] | ListDamaged]:
        """Whether lists hold ids; per query, in the order asked."""
        ...

    async def time_of(self, list_ref: ListRef, edge_id: int) -> int:
        """The time of an edge, 0 where there is none. In a list written with `put` it is searched for."""
        ...

    async def page(self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int) -> Page:
        """At most `limit` edges after the cursor (None: from the beginning)."""
        ...

    async def sizes(self, lists: Sequence[ListRef]) -> list[int | ListDamaged]:
        """The number of edges of each list: exact, O(1)."""
        ...

    async def drop(self, list_ref: ListRef) -> int:
        """Remove all edges, the oldest first, in bounded steps; how many they were.

        Between two steps, and where it ends early, the list is a good one with the rest of its edges.
        """
        ...

    async def inspect(self, list_ref: ListRef, *, check: bool) -> ListInspection:
        """How the list is stored; with `check` every part of it is verified. Never raises `ListDamaged`."""
        ...

    async def ping(self) -> None:
        """Return if the instance answers and is the one that the map means."""
        ...

    async def close(self) -> None:
        """Close all connections; calls under way fail as transient."""
        ...


async def walk(
    lists: EdgeLists, list_ref: ListRef, order: Order, step: int = WALK_STEP
) -> AsyncIterator[Page]:
    """A whole list in pages of at most `step` edges.

    Edges that are neither added nor removed meanwhile are seen exactly once.
    """
    after: Cursor | None = None
    more = True
    while more:
        page = await lists.page(list_ref, order, after, step)
        if page.ids:
            yield page
            after = Cursor(page.times_us[-1], page.ids[-1])
        more = page.more
