"""Stopping: what is in flight may end for a while, what waits is not sent, a second signal ends all."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Event

import pytest

from graphsvc.cli.edge_files.layout import LayoutOptions
from graphsvc.cli.edge_files.reader import EdgeReader, open_source
from graphsvc.cli.importing.delivery import Send
from graphsvc.cli.importing.interruption import Interruption, calls_in_flight
from graphsvc.cli.importing.rejects import Rejects
from graphsvc.cli.importing.report import Bar
from graphsvc.cli.importing.run import Import, Plan
from graphsvc.cli.importing.state import ImportState, StateFile
from graphsvc.client.errors import CallError
from graphsvc.v1.admin_service_pb2 import BatchImportEdgesRequest, BatchImportEdgesResponse

BAR = Bar(None, None)


class Service:
    """Answers the first calls, and then none until it is released."""

    def __init__(self, answers: int, on_hang: int | None) -> None:
        self.asked = 0
        self.released = Event()
        self._answers = answers
        self._on_hang = on_hang

    def __call__(self, request: BatchImportEdgesRequest) -> BatchImportEdgesResponse:
        self.asked += 1
        if self.asked > self._answers:
            if self._on_hang is not None:
                os.kill(os.getpid(), self._on_hang)
            assert self.released.wait(60)
            raise CallError("UNAVAILABLE", "gone")
        return BatchImportEdgesResponse(changed=len(request.follower_ids))


def run(tmp_path: Path, send: Send, interruption: Interruption, tell: Callable[[str], None]) -> ImportState:
    """Import 100 rows, one a call, one call in flight."""
    path = tmp_path / "edges.csv"
    path.write_text("".join(f"{n},1000\n" for n in range(1, 101)))
    state, kept = ImportState(file="x"), StateFile(tmp_path / "state.json")
    loading = Import(Plan(False, 1, 60), send, str, state, kept, Rejects(BAR, None), BAR)
    with open_source(path) as source, interruption.listening(tell):
        loading.run(EdgeReader(source, LayoutOptions(), None, 1), source, interruption)
    saved = kept.load()
    assert saved is not None
    return saved


def test_after_a_signal_a_hung_call_is_waited_for_and_what_is_queued_is_not_sent(tmp_path: Path) -> None:
    service, interruption, told = Service(3, signal.SIGINT), Interruption(grace_s=0.05), list[str]()
    try:
        state = run(tmp_path, service, interruption, told.append)
    finally:
        service.released.set()
    assert interruption.signal == signal.SIGINT
    assert (state.line, state.totals.edges, service.asked) == (3, 3, 4)
    assert told == ["stopping: calls in flight have 0.05 s to end; a second signal ends at once"]


def test_a_call_that_ends_in_time_counts(tmp_path: Path) -> None:
    interruption = Interruption(grace_s=60)
    service = Service(100, None)

    def stopping(request: BatchImportEdgesRequest) -> BatchImportEdgesResponse:
        if service.asked == 3:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interruption.stop.wait(60)
        return service(request)

    state = run(tmp_path, stopping, interruption, lambda _: None)
    assert (state.line, service.asked) == (4, 4)


def test_a_second_signal_ends_at_once_with_the_state_that_was_saved_last(tmp_path: Path) -> None:
    interruption = Interruption(grace_s=3_600)
    service = Service(3, signal.SIGINT)

    def again(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, service, interruption, again)
    finally:
        service.released.set()
    assert service.asked == 4


def test_one_failure_for_good_ends_the_run_without_sending_what_is_queued(tmp_path: Path) -> None:
    service, interruption = Service(100, None), Interruption()
    failed: list[BatchImportEdgesRequest] = []

    def failing(request: BatchImportEdgesRequest) -> BatchImportEdgesResponse:
        if service.asked == 3:
            failed.append(request)
            raise CallError("UNIMPLEMENTED", "not offered")
        return service(request)

    with pytest.raises(CallError, match="not offered"):
        run(tmp_path, failing, interruption, lambda _: None)
    state = StateFile(tmp_path / "state.json").load()
    assert state is not None
    assert (state.line, service.asked, len(failed)) == (3, 3, 1)


def test_nobody_waits_for_calls_once_the_run_failed() -> None:
    released, stop = Event(), Event()
    hung: list[Future[bool]] = []

    def fail() -> None:
        with calls_in_flight(1, stop) as pool:
            hung.extend(pool.submit(released.wait, 60) for _ in range(3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert stop.is_set()
    assert not hung[0].done()
    assert [each.cancelled() for each in hung[1:]] == [True, True]
    released.set()
