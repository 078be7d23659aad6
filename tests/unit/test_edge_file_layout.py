"""What the columns of a file are."""

import pytest

from graphsvc.cli.edge_files.detection import detect_layout
from graphsvc.cli.edge_files.layout import FileUnusable, Layout, LayoutOptions, TimeUnit

NOTHING_SAID = LayoutOptions()


def layout(*lines: str, options: LayoutOptions = NOTHING_SAID) -> Layout:
    found = detect_layout([line.encode() for line in lines], options)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [("1,2", b","), ("1\t2", b"\t"), ("1;2", b";"), ("1|2", b"|"), ("1 2", None), ("  1   2 ", None)],
)
def test_the_delimiter_is_told_by_the_first_row(line: str, delimiter: bytes | None) -> None:
    found = layout("# made by hand, in 2024", "", line)
    assert found.delimiter == delimiter
    assert (found.follower, found.followee, found.time, found.header_line) == (0, 1, None, 0)


@pytest.mark.parametrize(
    ("given", "delimiter"),
    [
        ("tab", b"\t"),
        ("\\t", b"\t"),
        ("\t", b"\t"),
        ("comma", b","),
        ("space", None),
        (" ", None),
        (":", b":"),
    ],
)
def test_the_delimiter_can_be_given(given: str, delimiter: bytes | None) -> None:
    separator = " " if delimiter is None else delimiter.decode()
    found = layout(f"1{separator}2", options=LayoutOptions(delimiter=given))
    assert found.delimiter == delimiter


@pytest.mark.parametrize("given", ["", "ab", '"', "7", "x", "é", "\n"])
def test_what_cannot_delimit_is_refused(given: str) -> None:
    with pytest.raises(FileUnusable, match="--delimiter"):
        layout("1,2", options=LayoutOptions(delimiter=given))


def test_known_names_choose_the_columns_and_the_time() -> None:
    found = layout("from,to,feature,time", "6,2,4,1289241911.72836")
    assert (found.follower, found.followee, found.time) == (0, 1, 3)
    assert found.unit is TimeUnit.SECONDS
    assert found.header_line == 1


def test_known_names_are_found_in_any_order_and_case() -> None:
    found = layout("# c", "Followee_ID;note;FOLLOWER_ID", "1;x;2")
    assert (found.follower, found.followee, found.time, found.header_line) == (2, 0, None, 2)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("a,b,c", (0, 1, None)),
        ("a,b,time", (0, 1, 2)),
        ("time,a,b", (1, 2, 0)),
        (",a,b", (1, 2, None)),
        ("id_1,id_2", (0, 1, None)),
        ("user_id,follower_id", (1, 0, None)),
        ("id,follower,followed", (1, 2, None)),
        ("followeeId,followerId", (1, 0, None)),
        ("followed_at,user_id,following_id", (1, 2, 0)),
        ("Follower ID,x,Followee ID", (0, 2, None)),
        ("source,id,follower_id,followee_id", (2, 3, None)),
    ],
)
def test_columns_are_taken_by_their_names_and_else_by_their_place(
    header: str, columns: tuple[int, int, int | None]
) -> None:
    found = layout(header, ",".join("1234"[: header.count(",") + 1]))
    assert (found.follower, found.followee, found.time) == columns
    assert found.header_line == 1


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (LayoutOptions(follower="follower_id"), (1, 2, 3)),
        (LayoutOptions(followee="id"), (1, 0, 3)),
        (LayoutOptions(follower="2", followee="3"), (1, 2, 3)),
        (LayoutOptions(time="1"), (1, 2, 0)),
        (LayoutOptions(time="none"), (1, 2, None)),
    ],
)
def test_a_role_that_is_not_given_is_taken_by_name(
    options: LayoutOptions, columns: tuple[int, int, int | None]
) -> None:
    found = layout("id,follower_id,followee_id,time", "1,2,3,1700000000", options=options)
    assert (found.follower, found.followee, found.time) == columns


def test_a_column_of_times_may_be_called_none() -> None:
    found = layout("none,a,b,time", "1700000000,1,2,3", options=LayoutOptions(time="none"))
    assert (found.follower, found.followee, found.time) == (1, 2, 0)


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        (
            "id,user,follower_id",
            NOTHING_SAID,
            r"followees can't be told \(.*id, user, follower_id.*--followee-c",
        ),
        ("follower,time", NOTHING_SAID, "followees can't be told"),
        ("to,a,b", NOTHING_SAID, "followers can't be told"),
        ("time,a", NOTHING_SAID, "followers and the followees can't be told"),
        ("follower,followee", LayoutOptions(follower="followee"), "followees can't be told"),
        ("a,b,c", LayoutOptions(follower="b"), "followees can't be told"),
        ("1,2", LayoutOptions(time="2"), "can't be told .there is no header"),
        ("a,b", LayoutOptions(follower="²"), "no column '²'"),
        ("1,2", LayoutOptions(followee="9" * 5_000), "9{40}... is not between 1 and 2"),
        (
            "a\x1b[31m,b",
            LayoutOptions(time="c\x07"),
            r"no column 'c\\+x07'; the first line has a\\x1b\[31m, b$",
        ),
        ("a" * 3_000 + ",b", LayoutOptions(time="c"), "has a{200}...$"),
    ],
)
def test_what_cannot_be_told_is_asked_for(header: str, options: LayoutOptions, message: str) -> None:
    with pytest.raises(FileUnusable, match=message):
        layout(header, "1,2,3", options=options)


@pytest.mark.parametrize(
    "first", ["1e5,2e5", "NULL,NULL", "NULL,b", "nan,x", "0x1f,0x2f", ",", "a,a", "a\x01,b"]
)
def test_a_first_row_that_is_not_of_words_is_a_row(first: str) -> None:
    assert layout(first, "1,2").header_line == 0


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["Smith, J\t1\t2", "Jones, K\t3\t4"], b"\t"),
        (["name, first\tfrom\tto", "Smith\t1\t2"], b"\t"),
        (["1;2;1600000000,5", "3;4;1600000001,5"], b";"),
        (["1,2,a b", "3,4,c d"], b","),
        (["a;b", "c;d"], b";"),
    ],
)
def test_the_delimiter_is_the_one_that_gives_numbers(lines: list[str], delimiter: bytes | None) -> None:
    assert layout(*lines, options=LayoutOptions(follower="1", followee="2")).delimiter == delimiter


def test_a_header_of_another_delimiter_than_the_rows_is_refused() -> None:
    with pytest.raises(FileUnusable, match="--delimiter tells"):
        layout("x,y", "1 2", "3 4")


def test_odd_rows_among_the_first_do_not_end_the_reading() -> None:
    odd = ["971041,971042,²", "1,2," + "9" * 5_000, '3,4,"' + "x" * 200_000, '5,6,"a"\rb', "7,8,\x00\x00"]
    found = layout("1,2,1700000000000", *odd, options=LayoutOptions(time="3"))
    assert (found.delimiter, found.unit) == (b",", TimeUnit.MILLISECONDS)
    assert layout(*odd, "1,2,1700000000000", options=LayoutOptions(time="3")).unit is TimeUnit.MILLISECONDS


@pytest.mark.parametrize(
    ("line", "message"),
    [("1,2\r3,4\r5,6\r", "carriage returns alone"), ("\x7fELF\x02\x00\x00\x00", "no text")],
)
def test_what_is_no_text_of_lines_is_refused(line: str, message: str) -> None:
    with pytest.raises(FileUnusable, match=message):
        layout(line)


def test_columns_are_given_by_name_or_number() -> None:
    options = LayoutOptions(follower="who", followee="3", time="SINCE")
    found = layout("since,whom,x,who", "1700000000000,1,2,3", options=options)
    assert (found.follower, found.followee, found.time) == (3, 2, 0)
    assert found.unit is TimeUnit.MILLISECONDS


def test_a_column_that_is_given_is_not_taken_for_another() -> None:
    found = layout("1700000000,1,2", options=LayoutOptions(time="1"))
    assert (found.follower, found.followee, found.time) == (1, 2, 0)


def test_a_bad_first_row_is_no_header() -> None:
    assert layout("x,5", "1,2").header_line == 0


def test_quoted_names_are_names() -> None:
    assert layout('"from","to, or so"', '"1","2"').names == ("from", "to, or so")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (LayoutOptions(follower="who"), "--follower-column: no column 'who'; the first line has from, to"),
        (LayoutOptions(followee="0"), "--followee-column: 0 is not between 1 and 2"),
        (LayoutOptions(time="3"), "--time-column: 3 is not between 1 and 2"),
        (LayoutOptions(follower="from", followee="1"), "must be different columns"),
        (LayoutOptions(delimiter="tab"), "has 1 column"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: LayoutOptions, message: str) -> None:
    with pytest.raises(FileUnusable, match=message):
        layout("from,to", "1,2", options=options)


@pytest.mark.parametrize(
    ("time", "unit"),
    [
        ("946684800", TimeUnit.SECONDS),
        ("1289241911.72836", TimeUnit.SECONDS),
        ("4102444799", TimeUnit.SECONDS),
        ("946684800000", TimeUnit.MILLISECONDS),
        ("1700000000000.5", TimeUnit.MILLISECONDS),
        ("946684800000000", TimeUnit.MICROSECONDS),
        ("4102444799999999", TimeUnit.MICROSECONDS),
    ],
)
def test_the_unit_is_told_by_the_size_of_the_first_time(time: str, unit: TimeUnit) -> None:
    found = layout("1,2,never", f"3,4,{time}", "5,6,1", options=LayoutOptions(time="3"))
    assert found.unit is unit


def test_a_given_unit_stands() -> None:
    options = LayoutOptions(time="3", time_unit=TimeUnit.MICROSECONDS)
    assert layout("1,2,1700000000", options=options).unit is TimeUnit.MICROSECONDS


def test_nothing_but_comments_has_no_layout() -> None:
    assert detect_layout([b"", b"# 1,2", b"   "], LayoutOptions()) is None


def test_the_description_names_the_columns() -> None:
    described = layout("from,to,feature,time", "6,2,4,1289241911").describe()
    assert (
        described
        == "followers from column 1 (from), followees from column 2 (to), times (s) from column 4 (time)"
        "; line 1 is taken as the header"
    )
    assert layout("1,2").describe() == "followers from column 1, followees from column 2, no times"


def test_the_description_is_fit_for_a_terminal() -> None:
    described = layout(f"\x1b[2Ja,{'b' * 500}", "1,2", options=LayoutOptions(follower="\x1b[2ja")).describe()
    assert r"column 1 (\x1b[2Ja)" in described
    assert f"column 2 ({'b' * 40}...)" in described
