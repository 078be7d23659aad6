"""Locks of pairs: writes to one pair happen one after the other, on both sides.

Without them the two sides of a follow and an unfollow sent at once could be applied in different orders.
They hold within one process.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

_STRIPES = 4_096


class PairLocks:
    """Locks shared by all pairs of a hash value: bounded memory, however many pairs there are."""

    def __init__(self) -> None:
        self._locks = [asyncio.Lock() for _ in range(_STRIPES)]

    @asynccontextmanager
    async def hold(self, pairs: Iterable[tuple[int, int]]) -> AsyncIterator[None]:
        """Hold the locks of all these pairs; taken in one order by everybody, so that nobody waits in a ring."""
        async with AsyncExitStack() as held:
            for stripe in sorted({hash(pair) % _STRIPES for pair in pairs}):
                await held.enter_async_context(self._locks[stripe])
            yield
