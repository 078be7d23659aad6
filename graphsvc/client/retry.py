"""When a failed call is tried again: in one place, for everything that calls the service."""

from collections.abc import Callable
from threading import Event

import tenacity

from graphsvc.client.errors import CallError

_SHORTEST_S = 0.05
_LONGEST_S = 5.0


def asked_for(deadline_s: float) -> tenacity.Retrying:
    """For a person who waits: again only if the service itself says that it helps, within the deadline."""
    return _retrying(
        lambda error: error.retry_after_s is not None,
        tenacity.stop_before_delay(deadline_s),
        Event(),
    )


def patient(
    give_up_after_s: float, stopped: Event, on_wait: Callable[[CallError], None] | None = None
) -> tenacity.Retrying:
    """For long runs: whatever is transient, until it has failed for so long or `stopped` is set.

    `on_wait` is told of each failure that is waited for, in the thread that waits.
    """
    stop = tenacity.stop_any(
        tenacity.stop_after_delay(give_up_after_s), tenacity.stop_when_event_set(stopped)
    )
    return _retrying(lambda error: error.transient, stop, stopped, on_wait)


def _retrying(
    worth_it: Callable[[CallError], bool],
    stop: tenacity.stop.stop_base,
    stopped: Event,
    on_wait: Callable[[CallError], None] | None = None,
) -> tenacity.Retrying:
    def before_sleep(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if on_wait is not None and isinstance(error, CallError):
            on_wait(error)

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, CallError) and worth_it(error)),
        wait=_wait_s,
        stop=stop,
        sleep=tenacity.sleep_using_event(stopped),
        before_sleep=before_sleep,
        reraise=True,
    )


_backoff = tenacity.wait_random_exponential(multiplier=_SHORTEST_S, max=_LONGEST_S)


def _wait_s(state: tenacity.RetryCallState) -> float:
    """Growing with jitter, and never sooner than the service asks for."""
    error = state.outcome.exception() if state.outcome else None
    asked = (error.retry_after_s or 0.0) if isinstance(error, CallError) else 0.0
    return max(asked, _backoff(state))
