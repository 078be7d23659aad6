"""The file of rejected lines: CSV, taken up again on resuming, never written over another kind of file."""

import csv
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphsvc.cli.edge_files.rows import Reject
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.report import Bar
from graphsvc.cli.importing.state import ImportState, RejectsMark, printable

SHOWN_REJECTS = 20
HEADER = b"line,reason,detail\n"
"""How every file of rejects begins: so it is told from a file that is somebody else's."""

_OUTPUTS = (1, 2)


class RejectsFile:
    """An open file of rejects. Written without a buffer, so that its length is what the system has."""

    def __init__(self, path: Path, file: io.FileIO) -> None:
        self._path = path
        self._file = file
        self._length = 0

    @property
    def mark(self) -> RejectsMark:
        """Which file it is, and how much of it is whole."""
        return RejectsMark(path=printable(self._path.resolve()), length=self._length)

    def begin(self, length: int) -> None:
        """Keep so many bytes and go on after them; of an empty file, write the header.

        Raises:
            CommandError: as of `write`.
        """
        try:
            self._file.truncate(length)
        except OSError as error:
            raise self._unwritable(error) from error
        self._file.seek(length)
        self._length = length
        if not length:
            self.write(HEADER)

    def write(self, lines: bytes) -> None:
        """Append whole lines.

        Raises:
            CommandError: they can't be written, not all of them at least.
        """
        left = memoryview(lines)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise self._unwritable(error) from error
        self._length += len(lines)

    def _unwritable(self, error: OSError) -> CommandError:
        return CommandError(
            ExitCode.FAILED, f"--rejects: {self._path} can't be written: {error.strerror}; name another file"
        )


class Rejects:
    """Tells rejected lines: the first ones on standard error, all in a CSV file where one is wanted."""

    def __init__(self, bar: Bar, file: RejectsFile | None) -> None:
        self._bar = bar
        self._file = file
        self._told = 0

    @property
    def mark(self) -> RejectsMark | None:
        """How far the file is, where there is one."""
        return self._file.mark if self._file else None

    def tell(self, rejects: list[Reject]) -> None:
        """Tell these lines; in the order of the file.

        Raises:
            CommandError: the file can't be written.
        """
        for reject in rejects[: max(0, SHOWN_REJECTS - self._told)]:
            self._bar.note(f"line {reject.line}: {reject.reason}: {reject.detail}")
        before, self._told = self._told, self._told + len(rejects)
        if before <= SHOWN_REJECTS < self._told:
            self._bar.note("further rejected lines are counted, and written to --rejects FILE where given")
        if self._file is not None and rejects:
            self._file.write(_csv_lines(rejects))


@contextmanager
def open_rejects(
    asked: Path | None, state: ImportState, source: os.stat_result, bar: Bar
) -> Iterator[RejectsFile | None]:
    """The file of rejects: the one that is asked for, or else the one that the interrupted run wrote.

    Where it is the one of the interrupted run, it is cut to what belongs to the state; otherwise it begins
    anew, and it is told that earlier rejects are not in it.

    Args:
        asked: its path; None: none is asked for.
        state: where the import begins.
        source: what the file that is imported is, to tell that it isn't this one.
        bar: where it is told.

    Raises:
        CommandError: it can't be written, or is a file of something else.
    """
    former = state.rejects
    path = asked or (Path(former.path) if former else None)
    if path is None:
        yield None
        return
    with _open(path, source) as raw:
        kept = 0
        if former is not None and printable(path.resolve()) == former.path and _has(raw, former.length):
            kept = former.length
        elif state.totals.rejected:
            bar.note(
                f"{state.totals.rejected:,} lines were rejected before line {state.line + 1:,} "
                f"and are not in {path}: --restart writes all of them"
            )
        file = RejectsFile(path, raw)
        file.begin(kept)
        yield file


def _open(path: Path, source: os.stat_result) -> io.FileIO:
    """Open without changing anything, and look at what was opened: a path may change in between."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK, 0o666)
    except OSError as error:
        raise CommandError(ExitCode.USAGE, f"--rejects: {path} can't be written: {error.strerror}") from error
    file = io.FileIO(fd, "r+b")
    problem = _problem(fd, source)
    if problem:
        file.close()
        raise CommandError(ExitCode.USAGE, f"--rejects: {path} {problem}: name another file")
    return file


def _problem(fd: int, source: os.stat_result) -> str | None:
    """Why this is no file to write rejects to; None: it is one."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        return "is no ordinary file"
    if os.path.samestat(found, source):
        return "is the file that is imported"
    if any(_same(found, output) for output in _OUTPUTS):
        return "is where this command prints"
    if found.st_size and os.pread(fd, len(HEADER), 0) != HEADER:
        return "exists, is no file of rejected lines, and is not overwritten"
    return None


def _same(found: os.stat_result, fd: int) -> bool:
    try:
        return os.path.samestat(found, os.fstat(fd))
    except OSError:  # closed
        return False


def _has(file: io.FileIO, length: int) -> bool:
    """Whether the file has so many bytes, and a line ends there."""
    return os.pread(file.fileno(), 1, length - 1) == b"\n"


def _csv_lines(rejects: list[Reject]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rejects)
    return text.getvalue().encode()
