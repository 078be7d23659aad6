"""Structured logs on standard error: readable lines or JSON, one event a line."""

import logging
import sys
import time
from contextlib import suppress

import structlog

from graphsvc.runtime.settings import LogSettings


def configure_logs(settings: LogSettings) -> None:
    """Set up logging for this process; fields never hold user data beyond ids."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            # Others show the values of variables too: users' data, and secrets.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *([structlog.processors.format_exc_info] if settings.format == "json" else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[settings.level.upper()]
        ),
        logger_factory=lambda *_: _Logger(),
        cache_logger_on_first_use=False,
    )


class _Logger:
    """Writes lines to standard error as it is now. That nobody can read them is no reason to fail a call."""

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a full disk, a reader gone, a closed stream
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = exception = msg


class OnceASecond:
    """Decides which of many like events is logged: the first of each second, with the number passed over."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._passed_over = 0

    def due(self) -> int | None:
        """The number of events passed over before this one; None: this one is passed over too."""
        if time.monotonic() < self._next_s:
            self._passed_over += 1
            return None
        self._next_s = time.monotonic() + 1.0
        passed_over, self._passed_over = self._passed_over, 0
        return passed_over
