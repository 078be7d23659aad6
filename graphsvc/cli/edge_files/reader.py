"""Reads an edge file of any size as batches of columns: plain or gzip, from a path or standard input.

Every batch knows where it ends, in bytes and lines, so that a reader can begin there again. What the batches
hold is decided in detection.py and rows.py.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from graphsvc.cli.edge_files.detection import SAMPLE_BYTES, SAMPLE_ROWS, detect_layout
from graphsvc.cli.edge_files.layout import FileUnusable, Layout, LayoutOptions, is_data
from graphsvc.cli.edge_files.rows import Rows, read_rows

STDIN = Path("-")

_PIECE = 1 << 18
_BATCH_BYTES = 4 << 20
_LONGEST_LINE = 16 << 20
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_OTHER_FORMATS = {
    b"\x28\xb5\x2f\xfd": "zstd-compressed; decompress it into the command: zstd -dc FILE | graphsvc import -",
    b"BZh": "bzip2-compressed; decompress it into the command: bzip2 -dc FILE | graphsvc import -",
    b"\xfd7zXZ": "xz-compressed; decompress it into the command: xz -dc FILE | graphsvc import -",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"PAR1": "a Parquet file; write it as CSV first",
    b"\xff\xfe": "UTF-16; convert it first: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert it first: iconv -f UTF-16 -t UTF-8",
}
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)
_MAGIC_BYTES = 8


class FileDamaged(Exception):
    """The file ends or breaks in the middle; all before that was given out already."""


class _Stream(Protocol):
    """What is asked of a binary stream."""

    def read1(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, /) -> int: ...


class _Begun(io.RawIOBase):
    """A stream whose first bytes were read already: a pipe can't be sought, and a peek may see one byte."""

    def __init__(self, begin: bytes, rest: _Stream) -> None:
        super().__init__()
        self._begin = begin
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override] # it is no other
        piece = self._begin or self._rest.read1(len(buffer))
        count = min(len(buffer), len(piece))
        buffer[:count] = piece[:count]
        self._begin = self._begin[count:]
        return count


class Place(NamedTuple):
    """A place between two lines."""

    offset: int
    """Bytes before it, uncompressed."""
    line: int
    """Lines before it."""


START = Place(0, 0)


@dataclass(frozen=True, slots=True)
class Source:
    """An open file."""

    stream: _Stream
    raw: BinaryIO
    compressed: bool
    size: int | None
    """Bytes on disk; None: not known (standard input)."""

    def position(self) -> int:
        """Bytes read so far, of `size`."""
        return self.raw.tell() if self.size is not None else 0


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a file, or standard input as `-`; gzip is told by its first bytes.

    Raises:
        FileUnusable: it can't be opened, or is of a format that isn't read.
    """
    if path == STDIN:
        yield _source(cast("BinaryIO", sys.stdin.buffer), None, path)
        return
    try:
        if path.is_dir():
            raise FileUnusable(f"{path} is a folder; name a file in it")
        raw = path.open("rb")
    except OSError as error:
        raise FileUnusable(f"{path} can't be read: {error.strerror}") from error
    with raw:
        yield _source(cast("BinaryIO", raw), path.stat().st_size if path.is_file() else None, path)


def _source(raw: BinaryIO, size: int | None, path: Path) -> Source:
    begin = raw.read(_MAGIC_BYTES)
    other = _other_format(begin)
    if other is not None:
        raise FileUnusable(f"{path} is {other}")
    if size is None:
        raw = io.BufferedReader(_Begun(begin, cast("_Stream", raw)))
    else:
        raw.seek(0)
    compressed = begin.startswith(_GZIP)
    stream = gzip.GzipFile(fileobj=raw) if compressed else raw
    return Source(cast("_Stream", stream), raw, compressed, size)


def _other_format(begin: bytes) -> str | None:
    return next((what for magic, what in _OTHER_FORMATS.items() if begin.startswith(magic)), None)


def _refuse_inner_format(begin: bytes) -> None:
    """Refuse compressed data that holds no text."""
    if begin.startswith(_GZIP):
        raise FileUnusable(
            "the file is compressed twice; decompress it into the command: gzip -dc FILE | graphsvc import -"
        )
    other = _other_format(begin)
    if other is not None:
        raise FileUnusable(f"the gzip data, decompressed, is {other}")


class EdgeReader:
    """Reads the rows of a source."""

    def __init__(
        self, source: Source, options: LayoutOptions, map_code: int | None, batch_lines: int
    ) -> None:
        """See `read_rows` for `map_code`; `batch_lines` is the most lines a batch has."""
        self._source = source
        self._options = options
        self._map_code = map_code
        self._batch_lines = batch_lines
        self._begin: list[bytes] = []
        """The lines that `detect` read."""
        self._lines = _line_batches(source.stream, batch_lines, START)
        self._damage: FileDamaged | None = None
        self.layout: Layout | None = None
        """Set by `detect`; None: the file has no rows."""

    def detect(self) -> Layout | None:
        """Read as far as the first rows and tell the layout; `batches` gives those rows again.

        Raises:
            FileUnusable: no two columns, or options that don't fit.
        """
        rows = size = 0
        try:
            while (
                rows < SAMPLE_ROWS and size < SAMPLE_BYTES and (batch := next(self._lines, None)) is not None
            ):
                self._begin += batch
                data = [len(line) for line in batch if is_data(line)]
                rows, size = rows + len(data), size + sum(data)
        except FileDamaged as error:
            self._damage = error
        lines = self._begin.copy()
        if lines:
            if self._source.compressed:
                _refuse_inner_format(lines[0])
            lines[0] = lines[0].removeprefix(_BOM)
        self.layout = detect_layout(lines, self._options)
        return self.layout

    def lines_in_file(self) -> int:
        """About how many lines the file has, judged by those that `detect` read; 0: its size is not known."""
        lines = self._begin
        if not lines or self._source.size is None:
            return 0
        read = self._source.position() if self._source.compressed else sum(map(len, lines)) + len(lines)
        return self._source.size * len(lines) // read

    def batches(self, start: Place = START) -> Iterator[tuple[Rows, Place]]:
        """The rows from a place on (the start, or one that a former reader gave), each batch with its end.

        To be called once.

        Raises:
            FileUnusable: as of `detect`, or a line is longer than 16 MiB.
            FileDamaged: after the last whole line before the damage.
        """
        layout = self.layout or self.detect()
        if layout is not None:
            yield from self._rows(self._from(start), start, layout)
        if self._damage is not None:
            raise self._damage

    def _from(self, start: Place) -> Iterable[list[bytes]]:
        held, count = self._begin, self._batch_lines
        # Of a damaged stream nothing can be read again: what could be read is held.
        if start.line <= len(held) or self._damage is not None:
            begin = (held[first : first + count] for first in range(start.line, len(held), count))
            return chain(begin, self._lines)
        try:
            self._source.stream.seek(start.offset)
        except _DAMAGE as error:
            raise FileDamaged(_describe(error)) from error
        return _line_batches(self._source.stream, count, start)

    def _rows(
        self, batches: Iterable[list[bytes]], start: Place, layout: Layout
    ) -> Iterator[tuple[Rows, Place]]:
        place = start
        open_lines: list[bytes] = []
        for batch in batches:
            lines = open_lines + batch
            rows, end = self._read(lines, place, layout, final=False)
            open_lines = lines[len(lines) - rows.unread :]
            place = end
            yield rows, end
        if open_lines:
            yield self._read(open_lines, place, layout, final=True)

    def _read(self, lines: list[bytes], place: Place, layout: Layout, final: bool) -> tuple[Rows, Place]:
        readable = lines
        if place == START or place.line < layout.header_line:
            readable = lines.copy()
            if place == START:
                readable[0] = readable[0].removeprefix(_BOM)
            if place.line < layout.header_line <= place.line + len(lines):
                readable[layout.header_line - place.line - 1] = b""
        rows = read_rows(readable, place.line + 1, layout, self._map_code, final)
        used = len(lines) - rows.unread
        size = sum(map(len, lines[:used] if rows.unread else lines)) + used
        return rows, Place(place.offset + size, place.line + used)


def _line_batches(stream: _Stream, count: int, start: Place) -> Iterator[list[bytes]]:
    """Batches of at most `count` lines and about 4 MiB, without their newlines."""
    lines: list[bytes] = []
    rest = b""
    before, held = start.line, 0
    failure: Exception | None = None
    while failure is None:
        try:
            # read1 gives what was read before a damage, where read would lose it.
            piece = stream.read1(_PIECE)
        except _DAMAGE as error:
            failure = FileDamaged(_describe(error))
            break
        if not piece:
            break
        *whole, rest = (rest + piece).split(b"\n")
        lines += whole
        held += len(piece)
        full = len(lines) if held >= _BATCH_BYTES else len(lines) - len(lines) % count
        for first in range(0, full, count):
            yield lines[first : first + count]
        if full:
            del lines[:full]
            before, held = before + full, sum(map(len, lines))
        if len(rest) > _LONGEST_LINE:
            number = before + len(lines) + 1
            failure = FileUnusable(f"line {number} is longer than 16 MiB: this is no file of edges")
    # A last line may be cut in the middle of a number, so it isn't given out after a failure.
    if rest and failure is None:
        lines.append(rest)
    if lines:
        yield lines
    if failure is not None:
        raise failure


def _describe(damage: Exception) -> str:
    if isinstance(damage, EOFError):
        return "the gzip data is cut short"
    return f"the gzip data is damaged ({damage}), and what comes just before the damage may be wrong already"
