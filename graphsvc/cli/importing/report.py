"""What an import tells while it runs: a progress bar, and notes above it."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from graphsvc.cli.exits import exit_of
from graphsvc.cli.output import warn
from graphsvc.client.errors import CallError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WAITING_EVERY_S = 5.0


class Bar:
    """A progress bar on standard error, or none."""

    def __init__(self, progress: "Progress | None", task: "TaskID | None") -> None:
        self._progress = progress
        self._task = task

    def show(self, completed: int, total: int | None, note: str) -> None:
        """Show so much of so much (None: not known), and a note."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=completed, total=total, note=note)

    def note(self, line: str) -> None:
        """A line on standard error, above the bar."""
        if self._progress is None:
            warn(line)
        else:
            self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def open_bar(title: str, *, wanted: bool) -> Iterator[Bar]:
    """A bar for as long as the context is open; none where it isn't wanted or nobody would see it."""
    if not wanted or not sys.stderr.isatty():
        yield Bar(None, None)
        return
    from rich.console import Console  # noqa: PLC0415 (loaded only where there is a terminal)
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress, progress.add_task(title, total=None, note=""))


class Waiting:
    """Tells that something is waited for: at once, then now and then. Threads may share it."""

    def __init__(self, bar: Bar, give_up_after_s: float) -> None:
        self._bar = bar
        self._give_up_after_s = give_up_after_s
        self._told_at = -math.inf
        self._lock = Lock()

    def tell(self, error: CallError) -> None:
        """Tell that this failed and will be tried again."""
        with self._lock:
            now = time.monotonic()
            if now - self._told_at < WAITING_EVERY_S:
                return
            self._told_at = now
        _, problem = exit_of(error)
        self._bar.note(f"waiting, for {self._give_up_after_s:g} s at most: {problem}")
