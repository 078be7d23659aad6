"""Stopping a long run: calls in flight may end, for a while; and nobody waits for them after that."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Thread
from types import FrameType
from typing import Any

GRACE_S = 5.0
"""Seconds that calls in flight have once a run is stopped."""


class Interruption:
    """SIGINT or SIGTERM, asked for politely: a second one raises KeyboardInterrupt at once."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.stop = Event()
        """Set: send nothing more, and wait for no retry."""
        self.signal: int | None = None
        """Which signal came."""
        self._grace_s = grace_s
        self._over: Future[None] = Future()
        self._ended = Event()

    @contextmanager
    def listening(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Listen while the context is open; a thread of its own tells people what is waited for."""
        watcher = Thread(target=self._watch, args=(tell,), name="interruption", daemon=True)
        before = {number: signal.signal(number, self._came) for number in (signal.SIGINT, signal.SIGTERM)}
        watcher.start()
        try:
            yield
        finally:
            self._ended.set()
            self.stop.set()
            for number, handler in before.items():
                signal.signal(number, handler)

    def wait_for(self, future: "Future[Any]") -> bool:
        """Wait for a call; False: it is not done, and the time after a signal is over."""
        wait((future, self._over), return_when=FIRST_COMPLETED)
        return future.done()

    def _came(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        self.stop.set()

    def _watch(self, tell: Callable[[str], None]) -> None:
        self.stop.wait()
        if self._ended.is_set() or self.signal is None:
            return
        tell(f"stopping: calls in flight have {self._grace_s:g} s to end; a second signal ends at once")
        if not self._ended.wait(self._grace_s):
            self._over.set_result(None)


@contextmanager
def calls_in_flight(count: int, stop: Event) -> Iterator[ThreadPoolExecutor]:
    """Threads for calls, so many at a time. After a stop or a failure nobody waits for them.

    They end by themselves when the connection is closed, which ends every call.
    """
    pool = ThreadPoolExecutor(count, "call")
    try:
        yield pool
    except BaseException:
        stop.set()
        raise
    finally:
        stopped = stop.is_set()
        pool.shutdown(wait=not stopped, cancel_futures=stopped)
