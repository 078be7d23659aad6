"""Reading files: any size of batch, from any place, compressed or not, whole or cut."""

import gzip
import io
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphsvc.cli.edge_files.layout import FileUnusable, LayoutOptions, TimeUnit
from graphsvc.cli.edge_files.reader import START, EdgeReader, FileDamaged, Place, Source, open_source


def write(folder: Path, data: bytes, *, compress: bool = False) -> Path:
    path = folder / ("edges.gz" if compress else "edges.csv")
    path.write_bytes(gzip.compress(data) if compress else data)
    return path


Edge = tuple[int, int, int]


def read(path: Path, lines: int = 3, start: Place = START) -> Iterator[tuple[list[Edge], Place]]:
    with open_source(path) as source:
        for rows, end in EdgeReader(source, LayoutOptions(), None, lines).batches(start):
            yield list(zip(rows.lines, rows.followers, rows.followees, strict=True)), end


def read_all(path: Path, lines: int = 3, start: Place = START) -> list[Edge]:
    return [edge for edges, _ in read(path, lines, start) for edge in edges]


def read_to_damage(path: Path, start: Place = START) -> tuple[list[Edge], str]:
    edges: list[Edge] = []
    try:
        for batch, _ in read(path, 100, start):
            edges += batch
    except FileDamaged as error:
        return edges, str(error)
    raise AssertionError("no damage was found")


MIXED = b"\n".join(
    [
        b'\xef\xbb\xbf# a comment, with a "quote',
        b"from,to,name\r",
        b'1,2,"one"',
        b"",
        b'3,4,"two,',
        b"2,3,",
        b'lines"',
        b"5,6,x\r",
        b"# 7,8",
        b'9,10,"a ""word"""',
        b"11,12,z",
    ]
)
MIXED_EDGES = [(3, 1, 2), (5, 3, 4), (8, 5, 6), (10, 9, 10), (11, 11, 12)]


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("lines", range(1, 12))
def test_batches_of_any_size_hold_the_same(tmp_path: Path, lines: int, compress: bool) -> None:
    assert read_all(write(tmp_path, MIXED, compress=compress), lines) == MIXED_EDGES


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("lines", [1, 2, 4])
def test_reading_goes_on_from_the_end_of_any_batch(tmp_path: Path, lines: int, compress: bool) -> None:
    path = write(tmp_path, MIXED, compress=compress)
    before: list[Edge] = []
    for edges, end in read(path, lines):
        before += edges
        assert before + read_all(path, 3, end) == MIXED_EDGES


def test_the_last_line_needs_no_newline(tmp_path: Path) -> None:
    assert read_all(write(tmp_path, b"1,2\n3,4")) == read_all(write(tmp_path, b"1,2\n3,4\n"))


@pytest.mark.parametrize("data", [b"", b"\n", b"# nothing\n", b"from,to\n"])
def test_a_file_without_rows_has_none(tmp_path: Path, data: bytes) -> None:
    assert read_all(write(tmp_path, data)) == []


def test_the_header_may_come_after_more_comments_than_a_batch_holds(tmp_path: Path) -> None:
    data = b"# comment\n" * 10 + b"to,from\n1,2\n"
    assert read_all(write(tmp_path, data), 3) == [(12, 2, 1)]


@pytest.mark.parametrize("lines", [1, 2, 10_000])
def test_the_layout_does_not_depend_on_the_size_of_a_batch(tmp_path: Path, lines: int) -> None:
    rows = [b"1,2,no time"] * 600 + [b"3,4,1700000000000"] * 300 + [b"5,6,1700000000"] * 9_000
    with open_source(write(tmp_path, b"\n".join(rows))) as source:
        layout = EdgeReader(source, LayoutOptions(time="3"), None, lines).detect()
    assert layout is not None
    assert layout.unit is TimeUnit.MILLISECONDS


def test_joined_gzip_members_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "edges"
    path.write_bytes(gzip.compress(b"1,2\n3") + gzip.compress(b",4\n"))
    assert read_all(path) == [(1, 1, 2), (2, 3, 4)]


def test_a_cut_gzip_file_gives_whole_lines_only_and_then_says_so(tmp_path: Path) -> None:
    dice = random.Random(1)
    pairs = [(dice.randrange(1, 1 << 60), dice.randrange(1, 1 << 60)) for _ in range(2_000)]
    data = gzip.compress("".join(f"{a},{b}\n" for a, b in pairs).encode())
    expected = [(line, a, b) for line, (a, b) in enumerate(pairs, start=1)]
    whole = 0
    for cut in [*range(20, len(data), 997), len(data) - 8, len(data) - 1]:
        path = tmp_path / "cut.gz"
        path.write_bytes(data[:cut])
        edges, damage = read_to_damage(path)
        assert "cut short" in damage
        assert edges == expected[: len(edges)]
        whole = len(edges)
    assert whole == len(expected)


def test_a_gzip_file_damaged_in_the_middle_gives_what_is_before(tmp_path: Path) -> None:
    dice = random.Random(2)
    lines = [f"{dice.randrange(1, 1 << 60)},{dice.randrange(1, 1 << 60)}" for _ in range(20_000)]
    data = bytearray(gzip.compress("\n".join(lines).encode()))
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    path = tmp_path / "damaged.gz"
    path.write_bytes(data)
    edges, damage = read_to_damage(path)
    assert "damaged" in damage
    assert len(edges) > 5_000


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (b"PK\x03\x04", "zip archive"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh9", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"PAR1", "Parquet"),
        (b"\xff\xfe1\x00", "UTF-16"),
    ],
)
def test_other_formats_are_refused_by_name(tmp_path: Path, begin: bytes, what: str) -> None:
    with pytest.raises(FileUnusable, match=what):
        read_all(write(tmp_path, begin + b"1,2\n"))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="can't be read: No such file"):
        read_all(tmp_path / "absent")
    with pytest.raises(FileUnusable, match="is a folder"):
        read_all(tmp_path)


def test_a_gzip_file_in_a_gzip_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="compressed twice"):
        read_all(write(tmp_path, gzip.compress(b"1,2\n"), compress=True))
    with pytest.raises(FileUnusable, match="decompressed, is a zip archive"):
        read_all(write(tmp_path, b"PK\x03\x041,2\n", compress=True))


@pytest.mark.parametrize("compress", [False, True])
def test_a_pipe_that_begins_with_a_single_byte_loses_nothing(tmp_path: Path, compress: bool) -> None:
    data = b"1,2\n" * 3 + b"3,4\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def fill() -> None:
        with pipe.open("wb", buffering=0) as file:
            for byte in gzip.compress(data) if compress else data:
                file.write(bytes([byte]))
                time.sleep(0.001)  # so that most reads see one byte

    with ThreadPoolExecutor(1) as pool:
        filled = pool.submit(fill)
        assert read_all(pipe) == [(1, 1, 2), (2, 1, 2), (3, 1, 2), (4, 3, 4)]
        filled.result()


def test_a_binary_file_is_refused() -> None:
    with pytest.raises(FileUnusable, match="no text"):
        read_all(Path(sys.executable))


def test_a_file_of_lone_carriage_returns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="carriage returns alone"):
        read_all(write(tmp_path, b"40031,40032\r40033,40034\r"))


def test_batches_and_the_sample_are_bounded_in_bytes(tmp_path: Path) -> None:
    long = b"x" * (1 << 20)
    with open_source(
        write(tmp_path, b"".join(b"%d,%d,%s\n" % (n, n + 1, long) for n in range(1, 31)))
    ) as source:
        reader = EdgeReader(source, LayoutOptions(), None, 10_000)
        reader.detect()
        assert source.position() <= 6 << 20
        counts = [len(rows.lines) for rows, _ in reader.batches()]
    assert sum(counts) == 30
    assert max(counts) <= 5


def test_a_damaged_checksum_is_told_as_such_wherever_reading_begins(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"1,2\n3,4\n5,6\n"))
    data[-8] ^= 1
    path = tmp_path / "damaged.gz"
    path.write_bytes(data)
    for start, expected in ((START, 3), (Place(4, 1), 2), (Place(12, 3), 0)):
        edges, damage = read_to_damage(path, start)
        assert "damaged (CRC check failed" in damage
        assert len(edges) == expected


PIECES = [
    "\r",
    "\n",
    "\r\n",
    ",",
    "1",
    "23",
    "4,5",
    "\n6,7",
    '"',
    '"8"',
    "\0",
    "\ufeff",
    " ",
    "#",
    "x",
    ",9\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=24), st.sampled_from([None, ",", "tab", "space"]))
@example(["4,5", "\n", "6,1", "\r", "3", "\n"], None)
@example(["4,5", "\n", '"8"', ",9", "\r", "1", "\n", "6,7"], ",")
@settings(max_examples=500, deadline=None)
def test_the_size_of_a_batch_changes_no_row_and_no_reject(pieces: list[str], delimiter: str | None) -> None:
    data = "".join(pieces).encode()

    def outcome(lines: int) -> object:
        stream = io.BytesIO(data)
        reader = EdgeReader(Source(stream, stream, False, len(data)), LayoutOptions(delimiter), 3, lines)
        try:
            batches = [rows for rows, _ in reader.batches()]
        except FileUnusable as error:
            return str(error)
        edges = [
            edge for rows in batches for edge in zip(rows.lines, rows.followers, rows.followees, strict=True)
        ]
        return edges, [reject for rows in batches for reject in rows.rejects]

    assert outcome(1) == outcome(3) == outcome(10_000)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"1,2\n")
        for _ in range(40):
            file.write(bytes(1 << 20))
    with pytest.raises(FileUnusable, match="line 2 is longer than 16 MiB"):
        read_all(path)


def test_the_number_of_lines_is_judged_by_the_first(tmp_path: Path) -> None:
    dice = random.Random(3)
    data = "".join(
        f"{dice.randrange(1, 1 << 30)},{dice.randrange(1, 1 << 30)}\n" for _ in range(50_000)
    ).encode()
    for compress in (False, True):
        path = write(tmp_path, data, compress=compress)
        with open_source(path) as source:
            reader = EdgeReader(source, LayoutOptions(), None, 10_000)
            reader.detect()
            assert 40_000 <= reader.lines_in_file() <= 60_000
