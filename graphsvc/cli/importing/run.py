"""The import itself: several batches in flight, settled in the order of the file."""

import signal
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from types import FrameType
from typing import NamedTuple

import tenacity

from graphsvc.cli.edge_files.layout import FileUnusable
from graphsvc.cli.edge_files.reader import EdgeReader, FileDamaged, Place, Source
from graphsvc.cli.edge_files.rows import Reject, Rows
from graphsvc.cli.importing.delivery import Delivery, EdgeColumns, Name, Send, deliver
from graphsvc.cli.importing.report import Bar, Rejects, Waiting
from graphsvc.cli.importing.state import ImportState, StateFile
from graphsvc.client import retry

SAVE_EVERY_S = 1.0


class Interruption:
    """SIGINT or SIGTERM, asked for politely: a second one ends the process."""

    def __init__(self) -> None:
        self.stop = Event()
        """Set: take no further batches, and wait for no retry."""
        self.signal: int | None = None
        """Which signal came."""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the context is open."""
        before = {number: signal.signal(number, self._came) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _came(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        self.stop.set()


class _Batch(NamedTuple):
    rows: int
    rejects: list[Reject]
    end: Place
    position: int
    """Bytes of the file that were read for it."""
    delivery: "Future[Delivery]"


@dataclass(frozen=True, slots=True)
class Plan:
    """How an import goes."""

    mutual: bool
    concurrency: int
    """Batches in flight."""
    give_up_after_s: float
    """Seconds that a batch may fail for."""


class Import:
    """One run over a file."""

    def __init__(
        self,
        plan: Plan,
        send: Send,
        name: Name,
        state: ImportState,
        state_file: StateFile,
        rejects: Rejects,
        bar: Bar,
    ) -> None:
        """`state` says where to begin, and is kept up to date."""
        self._plan = plan
        self._send = send
        self._name = name
        self._state = state
        self._state_file = state_file
        self._rejects = rejects
        self._bar = bar
        self._waiting = Waiting(bar, plan.give_up_after_s)
        self._saved_at = self._began = time.monotonic()
        self._seconds_before = state.totals.seconds
        self._edges_before = state.totals.edges

    def run(self, reader: EdgeReader, source: Source, interruption: Interruption) -> None:
        """Import until the end, or until interrupted; what is acknowledged is in the state.

        Raises:
            CallError: a batch failed for too long, or for good.
            FileDamaged, FileUnusable: the file can't be read on; all before that is imported.
        """
        window: deque[_Batch] = deque()
        retrying = retry.patient(self._plan.give_up_after_s, interruption.stop, self._waiting.tell)
        try:
            with ThreadPoolExecutor(self._plan.concurrency, "batch") as pool:
                try:
                    self._feed(reader, source, interruption, window, pool, retrying)
                    self._acknowledge(window, down_to=0, total=source.size)
                except (FileDamaged, FileUnusable):
                    self._acknowledge(window, down_to=0, total=source.size)
                    raise
                except BaseException:
                    interruption.stop.set()  # nobody waits for what else is in flight to be tried again
                    raise
        finally:
            self._save()

    def _feed(
        self,
        reader: EdgeReader,
        source: Source,
        interruption: Interruption,
        window: deque[_Batch],
        pool: ThreadPoolExecutor,
        retrying: tenacity.Retrying,
    ) -> None:
        for rows, end in reader.batches(self._state.place):
            delivery = pool.submit(self._deliver, rows, retrying)
            count = len(rows.lines) + len(rows.rejects)
            window.append(_Batch(count, rows.rejects, end, source.position(), delivery))
            self._acknowledge(window, down_to=2 * self._plan.concurrency, total=source.size)
            if interruption.stop.is_set():
                for batch in window:
                    batch.delivery.cancel()  # only those that have not begun
                return

    def _deliver(self, rows: Rows, retrying: tenacity.Retrying) -> Delivery:
        return deliver(EdgeColumns.of(rows, mutual=self._plan.mutual), self._send, self._name, retrying)

    def _acknowledge(self, window: deque[_Batch], down_to: int, total: int | None) -> None:
        """Take the oldest batches out of the window, in order: only so one offset says what is done."""
        while len(window) > down_to:
            batch = window.popleft()
            if batch.delivery.cancelled():
                return
            delivery = batch.delivery.result()
            rejects = sorted([*batch.rejects, *delivery.rejects])
            state = self._state
            state.totals.add(batch.rows, delivery, rejects)
            self._rejects.tell(rejects)
            state.offset, state.line = batch.end
            rate = (state.totals.edges - self._edges_before) / max(0.001, time.monotonic() - self._began)
            self._bar.show(batch.position, total, f"{state.totals.edges:,} edges, {rate:,.0f}/s")
            if time.monotonic() - self._saved_at >= SAVE_EVERY_S:
                self._save()

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        self._state.totals.seconds = self._seconds_before + self._saved_at - self._began
        self._state.rejects_bytes = self._rejects.position()
        self._state_file.save(self._state)
