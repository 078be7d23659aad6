"""How an edge file is laid out: what the caller says of it, and what is known in the end. Pure."""

from dataclasses import dataclass
from enum import StrEnum

LATEST_TIME_US = 4_102_444_800_000_000
"""2100-01-01T00:00:00Z: no edge is later. The service is stricter: it refuses what is ahead of its clock."""


class TimeUnit(StrEnum):
    """The unit of a column of times; fractions are allowed in each."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"


PLACES = {TimeUnit.SECONDS: 6, TimeUnit.MILLISECONDS: 3, TimeUnit.MICROSECONDS: 0}
"""Decimal places by which a unit is larger than a microsecond."""


class FileUnusable(Exception):
    """The file, or an option that describes it, is not what an import can read; the message says what is."""


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """What the caller says about the file; None means: find out.

    Columns are names (of the header, any case) or numbers from 1; the time's may be `none`: read no times.
    """

    delimiter: str | None = None
    follower: str | None = None
    followee: str | None = None
    time: str | None = None
    time_unit: TimeUnit | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the values stand. Columns count from 0 here."""

    delimiter: bytes | None
    """One byte; None: runs of blanks."""
    width: int
    """Columns of the first row; other rows may have more or fewer."""
    follower: int
    followee: int
    time: int | None
    unit: TimeUnit
    header_line: int
    """The line number of the header; 0 where there is none."""
    names: tuple[str, ...]
    """The names in the header; empty where there is none."""

    @property
    def quoted(self) -> bool:
        """Whether a quote means something: not in files separated by blanks or tabs, which quote nothing."""
        return self.delimiter not in {None, b"\t"}

    def describe(self) -> str:
        """One line for people: which column is taken as what, and which line as the header."""
        follower, followee = self._column(self.follower), self._column(self.followee)
        time = "no times" if self.time is None else f"times ({self.unit}) from {self._column(self.time)}"
        header = f"; line {self.header_line} is taken as the header" if self.header_line else ""
        return f"followers from {follower}, followees from {followee}, {time}{header}"

    def _column(self, index: int) -> str:
        return f"column {index + 1} ({printable(self.names[index])})" if self.names else f"column {index + 1}"


def is_data(line: bytes) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = line.strip()
    return bool(text) and not text.startswith(b"#")


def printable(text: str, longest: int = 40) -> str:
    """Text of a file or an option as a terminal may get it: no control characters, and not too much of it."""
    shown = text if len(text) <= longest else f"{text[:longest]}..."
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in shown)
