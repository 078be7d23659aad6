"""Lines to columns: exact, and alike whether taken whole columns at a time or line by line."""

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphsvc.cli.edge_files import rows as edge_rows
from graphsvc.cli.edge_files.layout import LATEST_TIME_US, Layout, TimeUnit
from graphsvc.cli.edge_files.rows import Reject, read_rows, time_us
from graphsvc.model.edges import EARLIEST_TIME_US
from graphsvc.model.ids import MAX_ID, MAX_LOCAL, spread


def layout(
    delimiter: bytes | None = b",", width: int = 2, time: int | None = None, unit: TimeUnit = TimeUnit.SECONDS
) -> Layout:
    return Layout(delimiter, width, 0, 1, time, unit, 0, ())


def edges(rows: edge_rows.Rows) -> list[tuple[int, ...]]:
    columns = [rows.lines, rows.followers, rows.followees]
    return list(zip(*columns, *([rows.times_us] if rows.times_us else []), strict=True))


def test_plain_rows() -> None:
    rows = read_rows([b"1,2", b"3,4"], 11, layout(), None)
    assert edges(rows) == [(11, 1, 2), (12, 3, 4)]
    assert rows.rejects == []


def test_blank_lines_comments_and_blanks_around_values() -> None:
    rows = read_rows([b"# x,y", b"", b" 1 , 2\r", b"  #", b"3,4 "], 1, layout(), None)
    assert edges(rows) == [(3, 1, 2), (5, 3, 4)]


def test_runs_of_blanks_separate() -> None:
    rows = read_rows([b"1 \t 2", b"  3 4\r"], 1, layout(None), None)
    assert edges(rows) == [(1, 1, 2), (2, 3, 4)]


def test_more_columns_than_the_first_row_are_no_harm() -> None:
    assert edges(read_rows([b"1,2", b"3,4,x", b"5,6"], 1, layout(), None)) == [
        (1, 1, 2),
        (2, 3, 4),
        (3, 5, 6),
    ]


@pytest.mark.parametrize("map_code", [None, 3])
def test_rows_of_the_right_total_width_but_wrong_shape_are_not_mixed_up(map_code: int | None) -> None:
    rows = read_rows([b"1,2,3", b"4", b"5,6"], 1, layout(), map_code)
    assert [line for line, *_ in edges(rows)] == [1, 3]
    assert rows.rejects == [
        Reject(2, "TOO_FEW_COLUMNS", "1 column(s); 2 are needed; --delimiter tells what separates them")
    ]


@pytest.mark.parametrize("separator", [b",", b"\t", b" "])
def test_a_carriage_return_joins_and_separates_nothing(separator: bytes) -> None:
    lines = [
        separator.join(pair) for pair in [(b"1", b"2\r"), (b"3", b"4\r5"), (b"6\r7", b"8"), (b"9", b"10")]
    ]
    rows = read_rows(lines, 1, layout(None if separator == b" " else separator), None)
    assert edges(rows) == [(1, 1, 2), (4, 9, 10)]
    assert [(reject.line, reject.reason) for reject in rows.rejects] == [
        (2, "BARE_CARRIAGE_RETURN"),
        (3, "BARE_CARRIAGE_RETURN"),
    ]


def test_a_comment_of_the_shape_of_a_row_is_a_comment() -> None:
    kind = Layout(b",", 3, 1, 2, None, TimeUnit.SECONDS, 0, ())
    assert edges(read_rows([b"x,1,2", b"#x,3,4", b"y,5,6"], 1, kind, None)) == [(1, 1, 2), (3, 5, 6)]


def test_a_nul_byte_cannot_stand_for_the_end_of_a_line() -> None:
    rows = read_rows([b"1 2 \0 3 4", b"5", b""], 1, layout(None), None)
    assert edges(rows) == [(1, 1, 2)]
    assert [reject.line for reject in rows.rejects] == [2]


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (b"x,2", "NOT_A_NUMBER", "follower: 'x' is not a decimal number"),
        (b"1,", "NOT_A_NUMBER", "followee: '' is not a decimal number"),
        (b"1,2.0", "NOT_A_NUMBER", "followee: '2.0' is not a decimal number"),
        (b"1,+2", "NOT_A_NUMBER", "followee: '+2' is not a decimal number"),
        (b"1_0,2", "NOT_A_NUMBER", "follower: '1_0' is not a decimal number"),
        (b"1," + b"9" * 5_000, "NOT_A_NUMBER", "followee: '" + "9" * 40 + "' is not a decimal number"),
        ("1,²".encode(), "NOT_A_NUMBER", "followee: '²' is not a decimal number"),
        (b"\xff\xfe,2", "UNDECODABLE_BYTES", r"follower: '\xff\xfe' is not UTF-8"),
        (b"0,2", "ID_OUT_OF_RANGE", f"follower: 0 is not an id: ids are 1 to 2^62-1 ({MAX_ID})"),
        (b"-1,2", "ID_OUT_OF_RANGE", f"follower: -1 is not an id: ids are 1 to 2^62-1 ({MAX_ID})"),
        (b"1,4611686018427387904", "ID_OUT_OF_RANGE", None),
        (b"7,7", "SELF_FOLLOW", "follower and followee are both '7'"),
        (b"1", "TOO_FEW_COLUMNS", "1 column(s); 2 are needed; --delimiter tells what separates them"),
        (b'1,"2', "BAD_QUOTES", "unexpected end of data"),
        (b"1033,10\r34", "BARE_CARRIAGE_RETURN", "a carriage return within the line"),
        (b'1,2,"a"\rb', "BARE_CARRIAGE_RETURN", "a carriage return within the line"),
        (b'1,2,"%s"' % (b"x" * 200_000), "BAD_QUOTES", "field larger than field limit (131072)"),
        (b'1,"2"3', "BAD_QUOTES", "',' expected after '\"'"),
    ],
)
def test_bad_lines_are_rejected_with_their_reason_and_no_others(
    line: bytes, reason: str, detail: str | None
) -> None:
    rows = read_rows([b"1,2", line, b"3,4"], 1, layout(), None)
    assert edges(rows) == [(1, 1, 2), (3, 3, 4)]
    (reject,) = rows.rejects
    assert (reject.line, reject.reason) == (2, reason)
    assert detail is None or reject.detail == detail


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        (b"", "NOT_A_NUMBER"),
        (b"nan", "NOT_A_NUMBER"),
        (b"Infinity", "NOT_A_NUMBER"),
        (b"1e999999999", "NOT_A_NUMBER"),
        (b"1_700_000_000", "NOT_A_NUMBER"),
        (b"1.2.3", "NOT_A_NUMBER"),
        (b"2024-01-01", "NOT_A_NUMBER"),
        (b"0", "TIME_OUT_OF_RANGE"),
        (b"-1700000000", "TIME_OUT_OF_RANGE"),
        (b"946684799.999999", "TIME_OUT_OF_RANGE"),
        (b"4102444801", "TIME_OUT_OF_RANGE"),
        (b"1700000000000", "TIME_OUT_OF_RANGE"),
    ],
)
def test_bad_times_are_rejected(time: bytes, reason: str) -> None:
    rows = read_rows([b"1,2,1700000000", b"3,4," + time], 1, layout(width=3, time=2), None)
    assert edges(rows) == [(1, 1, 2, 1_700_000_000_000_000)]
    assert [(reject.line, reject.reason) for reject in rows.rejects] == [(2, reason)]


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        (b"1289241911.72836", 6, 1_289_241_911_728_360),
        (b"1289241911", 6, 1_289_241_911_000_000),
        (b"1289241911.", 6, 1_289_241_911_000_000),
        (b"1289241911.7283609", 6, 1_289_241_911_728_360),
        (b"1.28924191172836e+09", 6, 1_289_241_911_728_360),
        (b"1289241911728.36", 3, 1_289_241_911_728_360),
        (b"1289241911728360.9", 0, 1_289_241_911_728_360),
    ],
)
def test_times_are_exact_to_the_microsecond(text: bytes, places: int, expected: int) -> None:
    assert time_us(text, places) == expected


@given(st.integers(EARLIEST_TIME_US, LATEST_TIME_US), st.sampled_from(list(TimeUnit)))
def test_every_microsecond_comes_back(time: int, unit: TimeUnit) -> None:
    places = {TimeUnit.SECONDS: 6, TimeUnit.MILLISECONDS: 3, TimeUnit.MICROSECONDS: 0}[unit]
    whole, fraction = divmod(time, 10**places)
    text = f"{whole}.{fraction:0{places}}" if places else str(whole)
    assert Fraction(text) * 10**places == time
    rows = read_rows([f"1,2,{text}".encode()], 1, layout(width=3, time=2, unit=unit), None)
    assert rows.times_us == [time]


def test_mapped_integers_become_ids() -> None:
    rows = read_rows([b"0,8193", b"%d,5" % MAX_LOCAL, b"%d,5" % (MAX_LOCAL + 1)], 1, layout(), 3)
    assert edges(rows) == [(1, spread(0, 3), spread(8193, 3)), (2, spread(MAX_LOCAL, 3), spread(5, 3))]
    assert [(reject.line, reject.reason) for reject in rows.rejects] == [(3, "ID_OUT_OF_RANGE")]


def test_quotes_are_read_as_csv_does() -> None:
    lines = [b'"1","2","a ""b"", c"', b'3, "4","two', b'lines, 5,6"', b'#,"', b"7,8,x", b'"9","10",\xff']
    rows = read_rows(lines, 1, layout(width=3), None)
    assert edges(rows) == [(1, 1, 2), (2, 3, 4), (5, 7, 8), (6, 9, 10)]
    assert rows.rejects == []


def test_a_record_left_open_is_left_for_the_next_batch() -> None:
    rows = read_rows([b"1,2", b'3,4,"open', b"5,6"], 1, layout(), None, final=False)
    assert edges(rows) == [(1, 1, 2)]
    assert (rows.unread, rows.rejects) == (2, [])


def test_quotes_mean_nothing_where_tabs_separate() -> None:
    rows = read_rows([b'1\t2\t5" disk', b"3\t4\tx"], 1, layout(b"\t", width=3), None)
    assert edges(rows) == [(1, 1, 2), (2, 3, 4)]


def test_a_quote_that_never_ends_costs_one_line() -> None:
    lines = [b"1,2", b'3,4,"', *(b"%d,%d" % (n, n + 1) for n in range(5, 50_000))]
    rows = read_rows(lines, 1, layout(), None, final=True)
    assert [reject.line for reject in rows.rejects] == [2]
    assert len(rows.followers) == len(lines) - 1


VALUES = st.one_of(
    st.integers(-2, 12).map(str),
    st.sampled_from([str(MAX_ID), str(MAX_ID + 1), str(MAX_LOCAL), str(MAX_LOCAL + 1), "00007", "-0"]),
    st.sampled_from(["", " ", "x", "+1", "1_0", " 3", "\x00", "1\x0c", '"4"', '"', "#5", "1.5", "٣"]),
)
TIMES = st.one_of(
    st.sampled_from(["1700000000", "1700000000.5", "1700000000.1234567", "0", "4102444800", "4102444800.1"]),
    st.sampled_from(["", "-1", "x", "1.7e9", "1.7.1", ".5", "1700000000.", "1_700_000_000", " 1700000000"]),
)


@given(
    st.lists(
        st.tuples(st.lists(VALUES, max_size=3), TIMES, st.sampled_from(["", "\r"])), min_size=1, max_size=6
    ),
    st.sampled_from([b",", b"\t", None]),
    st.sampled_from([None, 3]),
    st.booleans(),
)
@example([(["1", "2"], "1700000000.5", "\r")], b",", None, True)
@settings(max_examples=500, deadline=None)
def test_whole_columns_and_line_by_line_read_the_same(
    table: list[tuple[list[str], str, str]], delimiter: bytes | None, map_code: int | None, timed: bool
) -> None:
    separator = (delimiter or b" ").decode()
    lines = [(separator.join([*values[:2], time, *values[2:]]) + end).encode() for values, time, end in table]
    kind = layout(delimiter, width=3, time=2 if timed else None)
    together = read_rows(lines, 1, kind, map_code)
    apart = [read_rows([line, b"#"], number, kind, map_code) for number, line in enumerate(lines, start=1)]
    if not any(b'"' in line for line in lines):
        assert edges(together) == [edge for rows in apart for edge in edges(rows)]
        assert together.rejects == [reject for rows in apart for reject in rows.rejects]
    assert not {edge[0] for edge in edges(together)} & {reject.line for reject in together.rejects}
