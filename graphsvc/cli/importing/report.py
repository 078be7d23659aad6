"""What an import tells while it runs: rejected lines, a progress bar, notes between them."""

import csv
import io
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

from graphsvc.cli.edge_files.rows import Reject
from graphsvc.cli.exits import CommandError, ExitCode, exit_of
from graphsvc.cli.output import warn
from graphsvc.client.errors import CallError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_REJECTS = 20
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


class Rejects:
    """Tells rejected lines: the first ones on standard error, all in a CSV file where one is wanted."""

    def __init__(self, bar: Bar, file: BinaryIO | None) -> None:
        self._bar = bar
        self._file = file
        self._told = 0

    def tell(self, rejects: list[Reject]) -> None:
        """Tell these lines; in the order of the file."""
        for reject in rejects[: max(0, SHOWN_REJECTS - self._told)]:
            self._bar.note(f"line {reject.line}: {reject.reason}: {reject.detail}")
        before, self._told = self._told, self._told + len(rejects)
        if before <= SHOWN_REJECTS < self._told:
            self._bar.note("further rejected lines are counted, and written to --rejects FILE where given")
        if self._file is not None and rejects:
            self._file.write(_csv_lines(rejects))

    def position(self) -> int:
        """Bytes in the file so far, all handed to the system."""
        if self._file is None:
            return 0
        self._file.flush()
        return self._file.tell()


@contextmanager
def open_rejects(path: Path | None, keep_bytes: int) -> Iterator[BinaryIO | None]:
    """The file of rejects, cut to what a former run is sure to have written.

    Raises:
        CommandError: it can't be written.
    """
    if path is None:
        yield None
        return
    try:
        file = path.open("r+b" if keep_bytes and path.exists() else "w+b")
    except OSError as error:
        raise CommandError(ExitCode.USAGE, f"--rejects: {path} can't be written: {error.strerror}") from error
    with file:
        file.truncate(keep_bytes)
        file.seek(0, io.SEEK_END)
        if file.tell() == 0:
            file.write(b"line,reason,detail\n")
        yield file


def _csv_lines(rejects: list[Reject]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rejects)
    return text.getvalue().encode()
