"""What the columns of an edge file are: told by options, by the header, or by the first rows. Pure."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from graphsvc.model.edges import EARLIEST_TIME_US

LATEST_TIME_US = 4_102_444_800_000_000
"""2100-01-01T00:00:00Z: no edge is later. The service is stricter: it refuses what is ahead of its clock."""

SAMPLE_ROWS = 1_000
"""The rows that are looked at: the same ones whatever the size of a batch."""

FOLLOWER_NAMES = (
    "follower_id",
    "follower",
    "from_id",
    "from",
    "fromnodeid",
    "source_id",
    "source",
    "src",
    "id_1",
)
FOLLOWEE_NAMES = ("followee_id", "followee", "to_id", "to", "tonodeid", "target_id", "target", "dst", "id_2")
TIME_NAMES = ("followed_at_us", "followed_at_ms", "followed_at", "timestamp", "time")

_DELIMITERS = {"comma": ",", "tab": "\t", "\\t": "\t", "semicolon": ";", "pipe": "|", "space": " "}


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

    Columns are names (of the header, any case) or numbers from 1.
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
        """One line for people: which column is taken as what."""
        follower, followee = self._column(self.follower), self._column(self.followee)
        time = "no times" if self.time is None else f"times ({self.unit}) from {self._column(self.time)}"
        return f"followers from {follower}, followees from {followee}, {time}"

    def _column(self, index: int) -> str:
        return f"column {index + 1} ({self.names[index]})" if self.names else f"column {index + 1}"


def is_data(line: bytes) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = line.strip()
    return bool(text) and not text.startswith(b"#")


def detect_layout(lines: Sequence[bytes], options: LayoutOptions) -> Layout | None:
    """The layout of a file that begins with these lines; None: no row in them.

    Args:
        lines: line 1 first, without a byte order mark.
        options: what the caller says.

    Raises:
        FileUnusable: an option names no column, or the file has a single one.
    """
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if is_data(line))
    data = list(islice(numbered, SAMPLE_ROWS))
    if not data:
        return None
    header_line, first = data[0]
    delimiter = _delimiter(options.delimiter, first)
    fields = split_line(first, delimiter)
    names = fields if _is_header(fields, options) else []
    columns = _columns(names, len(fields), options)
    rows = (split_line(line, delimiter) for _, line in data[1 if names else 0 :])
    follower, followee, time = columns
    unit = options.time_unit or _unit(row[time] for row in rows if time is not None and time < len(row))
    return Layout(
        delimiter, len(fields), follower, followee, time, unit, header_line if names else 0, tuple(names)
    )


def split_line(line: bytes, delimiter: bytes | None) -> list[str]:
    """The fields of one line, without blanks and quotes around them."""
    text = line.decode("utf-8", "replace").strip("\r\n")
    if delimiter is None:
        return text.split()
    if delimiter == b"\t" or '"' not in text:
        return [field.strip() for field in text.split(delimiter.decode("latin-1"))]
    reader = csv.reader([text], delimiter=delimiter.decode("latin-1"), skipinitialspace=True)
    return [field.strip() for field in next(reader)]


def _delimiter(given: str | None, first: bytes) -> bytes | None:
    if given is None:
        found = next((mark for mark in (b",", b"\t", b";", b"|") if mark in first), None)
    else:
        mark = _DELIMITERS.get(given, given)
        if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n':
            known = ", ".join(name for name in _DELIMITERS if name.isalpha())
            raise FileUnusable(f"--delimiter: {given!r} is not one character or one of {known}")
        found = None if mark == " " else mark.encode()
    return found


def _is_header(fields: list[str], options: LayoutOptions) -> bool:
    """A header is a first line without any number; and there must be one when a column is given by name."""
    named = any(name and not name.isdigit() for name in (options.follower, options.followee, options.time))
    return named or not any(_is_number(field) for field in fields)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()


def _columns(names: list[str], width: int, options: LayoutOptions) -> tuple[int, int, int | None]:
    lower = [name.lower() for name in names]
    follower = _chosen("--follower-column", options.follower, lower, width)
    followee = _chosen("--followee-column", options.followee, lower, width)
    time = _chosen("--time-column", options.time, lower, width)
    if follower is None and followee is None:
        known = _known(FOLLOWER_NAMES, lower), _known(FOLLOWEE_NAMES, lower)
        if None not in known:
            follower, followee = known
            time = time if options.time else _known(TIME_NAMES, lower)
    taken = {follower, followee, time}
    free = (index for index in range(width) if index not in taken)
    follower = next(free, None) if follower is None else follower
    followee = next(free, None) if followee is None else followee
    if follower is None or followee is None:
        raise FileUnusable(
            f"the first row has {width} column(s), and two are needed; --delimiter tells what separates them"
        )
    if len({follower, followee, time}) != 3:
        raise FileUnusable("--follower-column, --followee-column and --time-column must be different columns")
    return follower, followee, time


def _chosen(option: str, given: str | None, lower: list[str], width: int) -> int | None:
    if given is None:
        return None
    if given.lower() in lower:
        return lower.index(given.lower())
    if not given.isdigit():
        raise FileUnusable(f"{option}: no column {given!r}; the first line has {', '.join(lower)}")
    if not 1 <= int(given) <= width:
        raise FileUnusable(f"{option}: {given} is not between 1 and {width}, the columns of the first row")
    return int(given) - 1


def _known(candidates: Sequence[str], lower: list[str]) -> int | None:
    return next((lower.index(name) for name in candidates if name in lower), None)


def _unit(times: Iterator[str]) -> TimeUnit:
    """The unit in which the first number is a possible time; they differ by 1,000, so only one can be."""
    for text in times:
        whole = text.partition(".")[0]
        if not whole.isdigit() or len(whole) > len(str(LATEST_TIME_US)):
            continue
        for unit, places in PLACES.items():
            if EARLIEST_TIME_US <= int(whole) * 10**places < LATEST_TIME_US:
                return unit
    return TimeUnit.SECONDS
