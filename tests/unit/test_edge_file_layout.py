"""What the columns of a file are."""

import pytest

from graphsvc.cli.edge_files.layout import FileUnusable, Layout, LayoutOptions, TimeUnit, detect_layout

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


def test_unknown_names_leave_the_first_two_columns() -> None:
    found = layout("a,b,time", "1,2,1700000000")
    assert (found.follower, found.followee, found.time, found.header_line) == (0, 1, None, 1)


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
    )
