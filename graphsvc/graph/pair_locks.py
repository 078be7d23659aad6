"""Locks of pairs: writes to one pair happen one after the other, in the order they came, on both sides.

Without them the two sides of a follow and an unfollow sent at once could be applied in different orders.
They hold within one process.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
Pair = tuple[int, int]


class Outcome(NamedTuple, Generic[T]):
    """What a write answers, and what of it still goes on; nobody is told, but the pairs stay locked."""

    answer: T
    rest: asyncio.Task[Any] | None = None


Write = Callable[[], Coroutine[Any, Any, Outcome[T]]]


class PairLocks:
    """A lock for every pair that is in use; others cost nothing."""

    def __init__(self) -> None:
        # Of each pair the one who came last: whoever comes next waits for her. All pairs of a write are
        # entered at once, so everybody stands in the same order in every line, and nobody waits in a ring.
        self._last: dict[Pair, asyncio.Event] = {}
        self._under_way: set[asyncio.Task[Any]] = set()

    async def run(self, pairs: Iterable[Pair], write: Write[T]) -> T:
        """Run a write when all before it of these pairs have ended.

        Cancelling it while it waits ends it; once begun the write goes on to its end.
        """
        mine, wanted = asyncio.Event(), frozenset(pairs)
        before = {self._last[pair] for pair in wanted if pair in self._last}
        self._last.update(dict.fromkeys(wanted, mine))
        try:
            for each in before:
                await each.wait()
        except asyncio.CancelledError:
            self._spawn(self._leave(before, wanted, mine))
            raise
        return await asyncio.shield(self._spawn(self._write(wanted, mine, write)))

    async def finish(self) -> None:
        """Wait for all writes that have begun."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _write(self, wanted: frozenset[Pair], mine: asyncio.Event, write: Write[T]) -> T:
        rest: asyncio.Task[Any] | None = None
        try:
            answer, rest = await write()
            return answer
        finally:
            if rest is None:
                self._release(wanted, mine)
            else:
                self._spawn(self._release_after(rest, wanted, mine))

    async def _release_after(
        self, rest: asyncio.Task[Any], wanted: frozenset[Pair], mine: asyncio.Event
    ) -> None:
        await asyncio.wait([rest])
        self._release(wanted, mine)
        self._ended(rest)

    async def _leave(self, before: set[asyncio.Event], wanted: frozenset[Pair], mine: asyncio.Event) -> None:
        # Those who came later wait for this one; they must not overtake those who came before.
        for each in before:
            await each.wait()
        self._release(wanted, mine)

    def _release(self, wanted: frozenset[Pair], mine: asyncio.Event) -> None:
        for pair in wanted:
            if self._last[pair] is mine:
                del self._last[pair]
        mine.set()

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # marks an error as seen: the caller may be gone
