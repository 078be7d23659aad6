"""Logs: nobody reading them is no reason to fail; many like events are one line a second."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from graphsvc.runtime.logs import OnceASecond, configure_logs
from graphsvc.runtime.settings import LogSettings


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_log_that_cannot_be_written_fails_nobody(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    configure_logs(LogSettings(format=form))
    full = Path("/dev/full").open("w")  # noqa: SIM115 (closing it fails, as it should)
    monkeypatch.setattr(sys, "stderr", full)
    structlog.get_logger().warning("something", user=1)
    monkeypatch.undo()
    with pytest.raises(OSError, match="No space left"):
        full.close()


def test_json_logs_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSettings(format="json", level="warning"))
    structlog.get_logger().info("not this")
    structlog.get_logger().warning("this", shard=7)
    [line] = capsys.readouterr().err.splitlines()
    assert '"event": "this"' in line
    assert '"shard": 7' in line


def test_of_many_events_one_a_second_is_logged_with_the_number_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("graphsvc.runtime.logs.time.monotonic", lambda: now)
    events = OnceASecond()
    assert [events.due() for _ in range(4)] == [0, None, None, None]
    now = 101.5
    assert [events.due() for _ in range(2)] == [3, None]
    now = 110.0
    assert events.due() == 1


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_logged_error_shows_no_values(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSettings(format=form))
    secret = "canary" + str(len(form))
    try:
        int("told")
    except ValueError:
        structlog.get_logger().exception("failed")
    text = capsys.readouterr().err
    assert "ValueError: invalid literal" in text
    assert secret not in text
