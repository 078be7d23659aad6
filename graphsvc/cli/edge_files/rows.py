"""Lines of an edge file to columns of integers. Pure, and made for speed: no object an edge.

A batch whose lines are all plain goes whole columns at a time (`_plain`), at about 1 us a row; any oddity
in it (a comment, a quote, a blank, a bad value) sends the batch line by line (`_careful`), where each bad
line gets its reason. Both read the same values; tests hold them against each other, and batches of any size.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from operator import eq
from typing import NamedTuple

from graphsvc.cli.edge_files.layout import LATEST_TIME_US, PLACES, Layout, is_data
from graphsvc.model.edges import EARLIEST_TIME_US
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import MAX_ID, MAX_LOCAL, check_id, spread

NOT_A_NUMBER = "NOT_A_NUMBER"
UNDECODABLE = "UNDECODABLE_BYTES"
TOO_FEW_COLUMNS = "TOO_FEW_COLUMNS"
BAD_QUOTES = "BAD_QUOTES"
BARE_CARRIAGE_RETURN = "BARE_CARRIAGE_RETURN"

_SHOWN = 40


class Reject(NamedTuple):
    """A line that is no edge. `reason` is one of this module's, or a published one of errors.proto."""

    line: int
    reason: str
    detail: str


@dataclass(slots=True)
class Rows:
    """Edges as columns of one length, and the lines that were rejected."""

    lines: Sequence[int] = ()
    """The line number of each row, from 1."""
    followers: list[int] = field(default_factory=list)
    followees: list[int] = field(default_factory=list)
    times_us: list[int] = field(default_factory=list)
    """Empty where the file has no times."""
    rejects: list[Reject] = field(default_factory=list)
    unread: int = 0
    """Lines at the end that begin a record in quotes and do not end it: they belong before the next batch."""


def read_rows(
    lines: Sequence[bytes], first_line: int, layout: Layout, map_code: int | None, final: bool = True
) -> Rows:
    """Read a batch of lines.

    Args:
        lines: without their newlines; the first has the number `first_line`.
        map_code: a type code: the file has small integers, which `spread` maps to ids; None: it has ids.
        final: no lines follow; a quote that is still open is an error, not `Rows.unread`.
    """
    if layout.delimiter is not None and layout.quoted and b'"' in b",".join(lines):
        records, unread = _quoted_records(lines, layout.delimiter, final)
        rows = _careful(records, first_line, layout, map_code)
        rows.unread = unread
        return rows
    plain = _plain(lines, first_line, layout, map_code)
    return plain or _careful(_records(lines, layout), first_line, layout, map_code)


def time_us(text: bytes, places: int) -> int:
    """Microseconds from a decimal number of a unit that is 10^places of them; what is finer is cut off.

    Integer arithmetic: a float would be off by up to 0.2 us.

    Raises:
        ValueError: not a number, or absurdly long.
    """
    whole, _, fraction = text.partition(b".")
    if (whole + fraction).isdigit():
        return int(whole + (fraction + b"000000")[:places])
    try:
        number = Decimal(text.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError) as error:
        raise ValueError("not a number") from error
    # A number such as 1e999999 would take all memory as an integer.
    if b"_" in text or not number.is_finite() or number.adjusted() > _SHOWN:
        raise ValueError("not a number")
    return int(number.scaleb(places))


def _plain(lines: Sequence[bytes], first_line: int, layout: Layout, map_code: int | None) -> Rows | None:
    """All lines at once; None where any is not plain and right."""
    table = _table(lines, layout)
    if table is None:
        return None
    step = layout.width + 1
    times: list[int] = []
    try:
        followers = _integers(table[layout.follower :: step])
        followees = _integers(table[layout.followee :: step])
        if layout.time is not None:
            times = _times(table[layout.time :: step], PLACES[layout.unit])
    except ValueError:
        return None
    low, high = (1, MAX_ID) if map_code is None else (0, MAX_LOCAL)
    if (
        _outside(followers, low, high)
        or _outside(followees, low, high)
        or any(map(eq, followers, followees))
        or (times and _outside(times, EARLIEST_TIME_US, LATEST_TIME_US))
    ):
        return None
    if map_code is not None:
        followers = [spread(number, map_code) for number in followers]
        followees = [spread(number, map_code) for number in followees]
    return Rows(range(first_line, first_line + len(lines)), followers, followees, times)


def _outside(column: list[int], low: int, high: int) -> bool:
    return min(column) < low or max(column) > high


def _table(lines: Sequence[bytes], layout: Layout) -> list[bytes] | None:
    """All fields of all lines, with a mark after each line; None unless every line has the same columns."""
    # The mark can't be in a field, so that its positions prove the shape.
    mark = b"\0" if layout.delimiter is None else b"\n"
    separator = layout.delimiter or b" "
    between = separator + mark + separator
    text = between.join(lines)
    if b"\r" in text:
        text = text.replace(b"\r" + between, between).removesuffix(b"\r")
    # Within a line a carriage return is a fault; a comment may have the shape of a row.
    if b"\r" in text or b"#" in text:
        return None
    breaks = len(lines) - 1
    if text.count(mark) != breaks:
        return None
    table = text.split(layout.delimiter)
    step = layout.width + 1
    if len(table) != len(lines) * step - 1 or table[layout.width :: step].count(mark) != breaks:
        return None
    return table


def _integers(fields: list[bytes]) -> list[int]:
    """Digits only: int() alone would take signs, blanks and underscores too."""
    if not b"".join(fields).isdigit():
        raise ValueError("not plain")
    return list(map(int, fields))


def _times(fields: list[bytes], places: int) -> list[int]:
    joined = b"".join(fields)
    if joined.isdigit():
        scale = 10**places
        return [scale * number for number in map(int, fields)]
    if not joined.replace(b".", b"").isdigit():
        raise ValueError("not plain")
    return [time_us(each, places) for each in fields]


class _Bad(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


class _Record(NamedTuple):
    """Its fields, or what is wrong with it."""

    first: int
    """Position of its first line in the batch."""
    fields: list[bytes] | _Bad


def _records(lines: Sequence[bytes], layout: Layout) -> Iterator[_Record]:
    for index, line in enumerate(lines):
        if is_data(line):
            yield _Record(index, _split(line, layout.delimiter))


def _split(line: bytes, delimiter: bytes | None) -> list[bytes] | _Bad:
    line = line.rstrip(b"\r")
    return _bare_carriage_return() if b"\r" in line else line.split(delimiter)


def _quoted_records(lines: Sequence[bytes], delimiter: bytes, final: bool) -> tuple[list[_Record], int]:
    """Records that may be quoted and go over several lines, and the lines of an open one at the end.

    A record without quotes is read as in a batch without any.
    """
    records: list[_Record] = []
    index = 0
    while index < len(lines):
        first = index
        index += 1
        if not is_data(lines[first]):
            continue
        if b'"' not in lines[first]:
            records.append(_Record(first, _split(lines[first], delimiter)))
            continue
        # Latin-1 maps bytes to characters one to one: what they mean matters only in the columns read.
        text = (lines[at].decode("latin-1") for at in range(first, len(lines)))
        reader = csv.reader(text, delimiter=delimiter.decode(), strict=True, skipinitialspace=True)
        try:
            fields = [value.encode("latin-1") for value in next(reader)]
        except csv.Error as error:
            # csv bounds a field at 128 KiB, so that an open quote can't collect the whole file.
            if "end of data" in str(error) and not final:
                return records, len(lines) - first
            bare = "new-line" in str(error)
            records.append(_Record(first, _bare_carriage_return() if bare else _Bad(BAD_QUOTES, str(error))))
        else:
            records.append(_Record(first, fields))
            index = first + reader.line_num
    return records, 0


def _bare_carriage_return() -> _Bad:
    return _Bad(BARE_CARRIAGE_RETURN, "a carriage return within the line")


def _careful(records: Iterable[_Record], first_line: int, layout: Layout, map_code: int | None) -> Rows:
    """Record by record, each bad one with its reason."""
    rows = Rows()
    numbers: list[int] = []
    for index, fields in records:
        line = first_line + index
        try:
            follower, followee, time = _values(fields, layout, map_code)
        except _Bad as bad:
            rows.rejects.append(Reject(line, bad.reason, bad.detail))
            continue
        numbers.append(line)
        rows.followers.append(follower)
        rows.followees.append(followee)
        if layout.time is not None:
            rows.times_us.append(time)
    rows.lines = numbers
    return rows


def _values(fields: list[bytes] | _Bad, layout: Layout, map_code: int | None) -> tuple[int, int, int]:
    """Follower, followee and time (0 where the file has none)."""
    if isinstance(fields, _Bad):
        raise fields
    needed = max(layout.follower, layout.followee, -1 if layout.time is None else layout.time) + 1
    if len(fields) < needed:
        hint = "; --delimiter tells what separates them" if len(fields) == 1 else ""
        raise _Bad(TOO_FEW_COLUMNS, f"{len(fields)} column(s); {needed} are needed{hint}")
    follower = _id("follower", fields[layout.follower], map_code)
    followee = _id("followee", fields[layout.followee], map_code)
    if follower == followee:
        raise _Bad(Reason.SELF_FOLLOW, f"follower and followee are both {_shown(fields[layout.follower])}")
    return follower, followee, 0 if layout.time is None else _time(fields[layout.time], layout)


def _id(column: str, field: bytes, map_code: int | None) -> int:
    digits = field.strip()
    if not digits.removeprefix(b"-").isdigit():
        raise _not_a_number(column, field)
    try:
        number = int(digits)
        return check_id(number, column) if map_code is None else spread(number, map_code)
    except InvalidArgument as error:
        raise _Bad(error.reason, f"{column}: {error.problem}") from error
    except ValueError as error:  # thousands of digits
        raise _not_a_number(column, field) from error


def _time(field: bytes, layout: Layout) -> int:
    try:
        time = time_us(field.strip(), PLACES[layout.unit])
    except ValueError as error:
        raise _not_a_number("time", field) from error
    if not EARLIEST_TIME_US <= time <= LATEST_TIME_US:
        raise _Bad(
            Reason.TIME_OUT_OF_RANGE,
            f"time: {_shown(field)} {layout.unit} is not between 2000 and 2100; --time-unit tells the unit",
        )
    return time


def _not_a_number(column: str, field: bytes) -> _Bad:
    try:
        field.decode("utf-8")
    except UnicodeDecodeError:
        return _Bad(UNDECODABLE, f"{column}: {_shown(field)} is not UTF-8")
    return _Bad(NOT_A_NUMBER, f"{column}: {_shown(field)} is not a decimal number")


def _shown(field: bytes) -> str:
    begin = field.strip()[:_SHOWN]
    try:
        return repr(begin.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(begin).removeprefix("b")
