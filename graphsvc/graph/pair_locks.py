"""Locks of pairs: writes to one pair happen one after the other, on both sides.

Without them the two sides of a follow and an unfollow sent at once could be applied in different orders.
They hold within one process.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

Pair = tuple[int, int]


class PairLocks:
    """A lock for every pair that is in use; others cost nothing."""

    def __init__(self) -> None:
        self._held: dict[Pair, asyncio.Event] = {}

    @asynccontextmanager
    async def hold(self, pairs: Iterable[Pair]) -> AsyncIterator[None]:
        """Hold the locks of all these pairs; taken all at once, so that nobody waits in a ring."""
        wanted = frozenset(pairs)
        while (released := self._in_use(wanted)) is not None:
            await released.wait()
        mine = asyncio.Event()
        self._held.update(dict.fromkeys(wanted, mine))
        try:
            yield
        finally:
            for pair in wanted:
                del self._held[pair]
            mine.set()

    def _in_use(self, wanted: frozenset[Pair]) -> asyncio.Event | None:
        return next((self._held[pair] for pair in wanted if pair in self._held), None)
