"""The import itself: several batches in flight, settled in the order of the file."""

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import tenacity

from graphsvc.cli.edge_files.layout import FileUnusable
from graphsvc.cli.edge_files.reader import EdgeReader, FileDamaged, Place, Source
from graphsvc.cli.edge_files.rows import Reject, Rows
from graphsvc.cli.importing.delivery import Delivery, EdgeColumns, Name, Send, deliver
from graphsvc.cli.importing.interruption import Interruption, calls_in_flight
from graphsvc.cli.importing.rejects import Rejects
from graphsvc.cli.importing.report import Bar, Waiting
from graphsvc.cli.importing.state import ImportState, StateFile
from graphsvc.client import retry

SAVE_EVERY_S = 1.0


class _Batch(NamedTuple):
    rows: int
    rejects: list[Reject]
    end: Place
    position: int
    """Bytes of the file that were read for it."""
    delivery: "Future[Delivery | None]"
    """None: stopped before it was sent."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How an import goes."""

    mutual: bool
    concurrency: int
    """Batches in flight."""
    give_up_after_s: float
    """Seconds after which a batch that fails is not tried again."""


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
            CommandError: the state or the rejects can't be written.
            FileDamaged, FileUnusable: the file can't be read on; all before that is imported.
            KeyboardInterrupt: interrupted twice; the state is as it was saved last.
        """
        try:
            with calls_in_flight(self._plan.concurrency, interruption.stop) as pool:
                self._run(reader, source, interruption, pool)
        except KeyboardInterrupt:
            raise  # not saved: it may have come in the middle of a change of the state
        except BaseException:
            self._save()
            raise
        self._save()

    def _run(
        self, reader: EdgeReader, source: Source, interruption: Interruption, pool: ThreadPoolExecutor
    ) -> None:
        window: deque[_Batch] = deque()
        retrying = retry.patient(self._plan.give_up_after_s, interruption.stop, self._waiting.tell)

        failures: list[BaseException] = []

        def send(rows: Rows) -> Delivery | None:
            # Decided in the thread: what waits for its turn must not begin once another failed or all stops.
            if interruption.stop.is_set():
                return None
            try:
                return self._deliver(rows, retrying)
            except BaseException as error:
                failures.append(error)
                interruption.stop.set()
                raise

        try:
            for rows, end in reader.batches(self._state.place):
                count = len(rows.lines) + len(rows.rejects)
                batch = _Batch(count, rows.rejects, end, source.position(), pool.submit(send, rows))
                window.append(batch)
                self._acknowledge(window, 2 * self._plan.concurrency, source.size, interruption)
                if interruption.stop.is_set():
                    break
        except (FileDamaged, FileUnusable):
            self._acknowledge(window, 0, source.size, interruption)
            raise
        self._acknowledge(window, 0, source.size, interruption)
        if failures:  # of a batch after one that did not begin
            raise failures[0]

    def _deliver(self, rows: Rows, retrying: tenacity.Retrying) -> Delivery:
        return deliver(EdgeColumns.of(rows, mutual=self._plan.mutual), self._send, self._name, retrying)

    def _acknowledge(
        self, window: deque[_Batch], down_to: int, total: int | None, interruption: Interruption
    ) -> None:
        """Take the oldest batches out of the window, in order: only so one offset says what is done."""
        while len(window) > down_to and interruption.wait_for(window[0].delivery):
            batch = window.popleft()
            delivery = batch.delivery.result()
            if delivery is None:
                window.clear()  # what comes after it doesn't count either
                return
            rejects = sorted([*batch.rejects, *delivery.rejects])
            self._rejects.tell(rejects)
            state = self._state
            state.totals.add(batch.rows, delivery, rejects)
            state.offset, state.line = batch.end
            rate = (state.totals.edges - self._edges_before) / max(0.001, time.monotonic() - self._began)
            self._bar.show(batch.position, total, f"{state.totals.edges:,} edges, {rate:,.0f}/s")
            if time.monotonic() - self._saved_at >= SAVE_EVERY_S:
                self._save()

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        self._state.totals.seconds = self._seconds_before + self._saved_at - self._began
        self._state.rejects = self._rejects.mark
        self._state_file.save(self._state)
