"""What is tried again, and how long."""

from threading import Event

import pytest

from graphsvc.client import retry
from graphsvc.client.errors import CallError

ASKED = CallError("UNAVAILABLE", "gone", "SHARD_UNAVAILABLE", retry_after_s=0.001)
UNREACHABLE = CallError("UNAVAILABLE", "no answer")
REFUSED = CallError("INVALID_ARGUMENT", "bad", "ID_OUT_OF_RANGE")


class Failing:
    """Fails in turn with each of these errors, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_a_person_waits_only_where_the_service_asks_for_it() -> None:
    assert retry.asked_for(60)(Failing(ASKED, ASKED)) == "done"
    for error in (UNREACHABLE, REFUSED, ValueError("no")):
        failing = Failing(ASKED, error)
        with pytest.raises(type(error)):
            retry.asked_for(60)(failing)
        assert failing.calls == 2


def test_a_person_does_not_wait_beyond_the_deadline() -> None:
    failing = Failing(CallError("UNAVAILABLE", "gone", "SHARD_UNAVAILABLE", retry_after_s=3_600))
    with pytest.raises(CallError, match="gone"):
        retry.asked_for(60)(failing)
    assert failing.calls == 1


def test_a_long_run_waits_for_whatever_is_transient_and_tells_so() -> None:
    told: list[CallError] = []
    failing = Failing(UNREACHABLE, ASKED)
    assert retry.patient(60, Event(), told.append)(failing) == "done"
    assert told == [UNREACHABLE, ASKED]


def test_a_long_run_does_not_repeat_what_is_refused() -> None:
    failing = Failing(REFUSED)
    with pytest.raises(CallError, match="bad"):
        retry.patient(60, Event())(failing)
    assert failing.calls == 1


def test_a_long_run_ends_when_it_is_stopped() -> None:
    stopped = Event()
    failing = Failing(*[UNREACHABLE] * 5)
    with pytest.raises(CallError):
        retry.patient(60, stopped, lambda _: stopped.set())(failing)
    assert failing.calls == 2
