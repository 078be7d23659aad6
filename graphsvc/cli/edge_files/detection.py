"""Finds out how a file is laid out, by its header and its first rows. Pure."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from graphsvc.cli.edge_files.columns import choose_columns, is_known_name, is_name
from graphsvc.cli.edge_files.layout import (
    LATEST_TIME_US,
    PLACES,
    FileUnusable,
    Layout,
    LayoutOptions,
    TimeUnit,
    is_data,
)
from graphsvc.model.edges import EARLIEST_TIME_US

SAMPLE_ROWS = 1_000
SAMPLE_BYTES = 4 << 20
"""The rows that are looked at, and at most so many bytes of them: the same whatever the size of a batch."""

_NAMED_DELIMITERS = {
    "comma": ",",
    "tab": "\t",
    "\\t": "\t",
    "semicolon": ";",
    "pipe": "|",
    "space": " ",
}
_DELIMITERS = (b",", b"\t", b";", b"|", None)
"""What is tried, in this order: blanks last, since the others may have blanks around them."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?")
_MISSING = frozenset({"null", "none", "na", "n/a", "nil", "\\n"})
"""What exports write in place of a value."""


def detect_layout(lines: Sequence[bytes], options: LayoutOptions) -> Layout | None:
    """The layout of a file that begins with these lines; None: no row in them.

    Args:
        lines: line 1 first, without a byte order mark.
        options: what the caller says.

    Raises:
        FileUnusable: an option names no column, a role can't be told, the file has a single column, or it is
            no text.
    """
    data = list(_sample(lines))
    if not data:
        return None
    header_line, first = data[0]
    rows = [line for _, line in data]
    _refuse_what_is_no_text(rows)
    delimiter = _best_delimiter(rows) if options.delimiter is None else _given_delimiter(options.delimiter)
    fields = split_line(first, delimiter)
    names = fields if _is_header(fields, options) else []
    follower, followee, time = choose_columns(options, names, len(fields))
    unit = options.time_unit
    if unit is None:
        table = (split_line(row, delimiter) for row in rows[1 if names else 0 :])
        unit = _unit(row[time] for row in table if time is not None and time < len(row))
    return Layout(
        delimiter, len(fields), follower, followee, time, unit, header_line if names else 0, tuple(names)
    )


def split_line(line: bytes, delimiter: bytes | None) -> list[str]:
    """The fields of one line, without blanks and quotes around them."""
    line = line.strip(b"\r\n")
    if delimiter not in {None, b"\t"} and b'"' in line:
        text = line.decode("utf-8", "replace")
        try:
            reader = csv.reader([text], delimiter=(delimiter or b" ").decode(), skipinitialspace=True)
            return [field.strip() for field in next(reader)]
        except csv.Error:
            pass  # what is wrong with it is told when it is read as a row
    # Split before it is decoded, as rows are: text knows more kinds of blanks.
    return [field.decode("utf-8", "replace").strip() for field in line.split(delimiter)]


def _sample(lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The rows to be looked at, with their line numbers."""
    size = 0
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if is_data(line))
    for number, line in islice(numbered, SAMPLE_ROWS):
        yield number, line
        size += len(line)
        if size >= SAMPLE_BYTES:
            return


def _refuse_what_is_no_text(rows: Sequence[bytes]) -> None:
    """One odd row is a bad row; an oddity in every row is another format."""
    if sum(row.count(b"\0") for row in rows) > len(rows):
        raise FileUnusable("this is no text: it is full of NUL bytes; write it as CSV in UTF-8 first")
    # In quotes a carriage return may be part of a text.
    bare = sum(row.rstrip(b"\r").count(b"\r") for row in rows if b'"' not in row)
    if bare >= len(rows):
        raise FileUnusable(
            "its lines end with carriage returns alone; convert it into the command: "
            "tr '\\r' '\\n' < FILE | graphsvc import -"
        )


def _given_delimiter(given: str) -> bytes | None:
    mark = _NAMED_DELIMITERS.get(given, given)
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n':
        known = ", ".join(name for name in _NAMED_DELIMITERS if name.isalpha())
        raise FileUnusable(f"--delimiter: {given!r} is not one character or one of {known}")
    return None if mark == " " else mark.encode()


def _best_delimiter(rows: Sequence[bytes]) -> bytes | None:
    """The one by which most rows have two numbers; where none has, the one that the first row has."""
    counts = [sum(_has_two_numbers(split_line(row, mark)) for row in rows) for mark in _DELIMITERS]
    most = max(counts)
    if most:
        return _DELIMITERS[counts.index(most)]
    return next(mark for mark in _DELIMITERS if mark is None or mark in rows[0])


def _has_two_numbers(fields: Iterable[str]) -> bool:
    return len(list(islice(filter(_NUMBER.fullmatch, fields), 2))) == 2


def _is_header(fields: Sequence[str], options: LayoutOptions) -> bool:
    """A header is a first line of words; and there must be one when a column is given by name."""
    if any(map(is_name, (options.follower, options.followee, options.time))):
        return True
    if any(map(_is_numeric, fields)):
        return False
    return any(map(is_known_name, fields)) or _are_words(fields)


def _are_words(fields: Sequence[str]) -> bool:
    words = {field.lower() for field in fields if field}
    return len(words) >= 2 and not words & _MISSING and all(map(_is_word, words))


def _is_word(text: str) -> bool:
    readable = text.isprintable() and "\ufffd" not in text
    return readable and not text[0].isdigit() and any(map(str.isalpha, text))


def _is_numeric(text: str) -> bool:
    """Whether it is a number in any notation, also those that a row may not have."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unit(times: Iterator[str]) -> TimeUnit:
    """The unit in which the first number is a possible time; they differ by 1,000, so only one can be."""
    for text in times:
        whole = text.partition(".")[0]
        if not (whole.isascii() and whole.isdigit()) or len(whole) > len(str(LATEST_TIME_US)):
            continue
        for unit, places in PLACES.items():
            if EARLIEST_TIME_US <= int(whole) * 10**places < LATEST_TIME_US:
                return unit
    return TimeUnit.SECONDS
