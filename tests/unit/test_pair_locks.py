"""Pair locks: one at a time for a pair, in order, no waiting for others, nothing left behind."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from graphsvc.graph.pair_locks import Outcome, PairLocks


def until(event: asyncio.Event, answer: str = "") -> Callable[[], Coroutine[Any, Any, Outcome[str]]]:
    """A write that goes on until the event."""

    async def write() -> Outcome[str]:
        await event.wait()
        return Outcome(answer)

    return write


def recording(seen: list[str], name: str) -> Callable[[], Coroutine[Any, Any, Outcome[str]]]:
    """A write that notes that it ran."""

    async def write() -> Outcome[str]:
        seen.append(name)
        return Outcome(name)

    return write


async def turns(count: int = 5) -> None:
    """Let everybody else run."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_writes_to_one_pair_exclude_each_other_and_nobody_waits_for_ever() -> None:
    locks = PairLocks()
    inside: set[tuple[int, int]] = set()
    chance = random.Random(3)

    async def one() -> None:
        pairs = {(chance.randrange(6), 9) for _ in range(chance.randrange(1, 5))}

        async def write() -> Outcome[None]:
            assert not inside & pairs
            inside.update(pairs)
            await turns(chance.randrange(3))
            inside.difference_update(pairs)
            return Outcome(None)

        await locks.run(pairs, write)

    async with asyncio.timeout(10):
        calls = [asyncio.create_task(one()) for _ in range(500)]
        await turns()
        for call in chance.sample(calls, 100):
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        await locks.finish()
    assert all(each is None or isinstance(each, asyncio.CancelledError) for each in results)
    assert not locks._last


async def test_writes_to_one_pair_run_in_the_order_they_came() -> None:
    locks, seen = PairLocks(), list[str]()
    await asyncio.gather(*(locks.run([(1, 2)], recording(seen, str(i))) for i in range(50)))
    assert seen == [str(i) for i in range(50)]


async def test_a_pair_in_use_does_not_hold_up_another() -> None:
    locks, opened = PairLocks(), asyncio.Event()
    first = asyncio.create_task(locks.run([(1, 2)], until(opened, "first")))
    await turns()
    assert await locks.run([(2, 1)], recording([], "second")) == "second"
    opened.set()
    assert await first == "first"


async def test_one_who_gives_up_waiting_writes_nothing_and_lets_nobody_overtake() -> None:
    locks, opened, seen = PairLocks(), asyncio.Event(), list[str]()
    first = asyncio.create_task(locks.run([(1, 2)], until(opened)))
    await turns()
    second = asyncio.create_task(locks.run([(1, 2), (3, 4)], recording(seen, "second")))
    third = asyncio.create_task(locks.run([(1, 2)], recording(seen, "third")))
    await turns()
    second.cancel()
    await turns()
    assert second.cancelled()
    assert seen == [], "the third overtook the first"
    opened.set()
    await asyncio.gather(first, third)
    await locks.finish()
    assert seen == ["third"]
    assert not locks._last


async def test_a_write_that_has_begun_goes_on_without_its_caller() -> None:
    locks, opened, seen = PairLocks(), asyncio.Event(), list[str]()
    first = asyncio.create_task(locks.run([(1, 2)], until(opened)))
    await turns()
    first.cancel()
    second = asyncio.create_task(locks.run([(1, 2)], recording(seen, "second")))
    await turns()
    assert seen == []
    opened.set()
    await second
    await locks.finish()
    assert not locks._last


async def test_pairs_stay_locked_while_the_rest_of_a_write_goes_on() -> None:
    locks, opened, seen = PairLocks(), asyncio.Event(), list[str]()
    rest = asyncio.create_task(opened.wait())

    async def write() -> Outcome[str]:
        return Outcome("early", rest)

    assert await locks.run([(1, 2)], write) == "early"
    second = asyncio.create_task(locks.run([(1, 2)], recording(seen, "second")))
    await turns()
    assert seen == []
    opened.set()
    await second
    assert not locks._last


async def test_a_write_that_fails_frees_its_pairs() -> None:
    locks = PairLocks()

    async def write() -> Outcome[None]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await locks.run([(1, 2)], write)
    assert not locks._last
