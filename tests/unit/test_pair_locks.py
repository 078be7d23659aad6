"""Pair locks: one at a time for a pair, no waiting for others, nothing left behind."""

import asyncio
import random

from graphsvc.graph.pair_locks import PairLocks


async def test_writes_to_one_pair_exclude_each_other_and_nobody_waits_for_ever() -> None:
    locks = PairLocks()
    inside: set[tuple[int, int]] = set()
    chance = random.Random(3)

    async def write() -> None:
        pairs = {(chance.randrange(6), 9) for _ in range(chance.randrange(1, 5))}
        async with locks.hold(pairs):
            assert not inside & pairs
            inside.update(pairs)
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            inside.difference_update(pairs)

    async with asyncio.timeout(10):
        await asyncio.gather(*(write() for _ in range(500)))
    assert not locks._held


async def test_a_held_pair_does_not_hold_up_another() -> None:
    locks = PairLocks()
    async with locks.hold([(1, 2)]), asyncio.timeout(5), locks.hold([(2, 1)]):
        assert set(locks._held) == {(1, 2), (2, 1)}


async def test_one_who_gives_up_waiting_holds_nothing() -> None:
    locks = PairLocks()

    async def wait() -> None:
        async with locks.hold([(1, 2), (3, 4)]):
            raise AssertionError("was held by another")

    async with locks.hold([(1, 2)]):
        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait([waiter])
        assert waiter.cancelled()
    assert not locks._held
