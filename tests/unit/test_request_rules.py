"""Bad requests: each names the field and the limit."""

import pytest

from graphsvc.backends.edge_lists import Added, Inverse
from graphsvc.graph.import_columns import ImportColumns, check_columns, checked_rows
from graphsvc.graph.request_rules import (
    CLOCK_TOLERANCE_US,
    MAX_IMPORT_EDGES,
    MAX_TARGETS,
    check_count,
    check_freshness_token,
    check_lengths,
    check_time,
    page_size_of,
)
from graphsvc.model.edges import EARLIEST_TIME_US, ListKind, ListRef
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import pack
from graphsvc.model.placement import IdPlacement

NOW = 1_800_000_000_000_000
ANN, BEN, DORMANT, BOARD = pack(1, 3, 1), pack(8191, 3, 2), pack(8192, 3, 3), pack(1, 2, 4)


@pytest.mark.parametrize(("asked", "size"), [(0, 50), (1, 1), (1_000, 1_000)])
def test_page_sizes(asked: int, size: int) -> None:
    assert page_size_of(asked) == size


@pytest.mark.parametrize("asked", [-1, -(2**31), 1_001, 2**31 - 1])
def test_page_sizes_out_of_range(asked: int) -> None:
    with pytest.raises(InvalidArgument, match=r"page_size: .*0 and 1,000") as caught:
        page_size_of(asked)
    assert caught.value.reason is Reason.PAGE_SIZE_OUT_OF_RANGE


def test_counts() -> None:
    check_count(range(MAX_TARGETS), MAX_TARGETS, "ids")
    with pytest.raises(InvalidArgument, match="ids: is empty; give 1 to 1,000"):
        check_count([], MAX_TARGETS, "ids")
    with pytest.raises(InvalidArgument, match="ids: has 1,001 items; at most 1,000 a call"):
        check_count(range(MAX_TARGETS + 1), MAX_TARGETS, "ids")


def test_lengths() -> None:
    with pytest.raises(InvalidArgument, match="b: has 1 items, but a has 2"):
        check_lengths([1, 2], "a", [1], "b")


@pytest.mark.parametrize("time_us", [0, EARLIEST_TIME_US, NOW, NOW + CLOCK_TOLERANCE_US])
def test_good_times(time_us: int) -> None:
    check_time(time_us, NOW, "t")


@pytest.mark.parametrize(
    ("time_us", "problem"),
    [(-1, "before 2000"), (1, "before 2000"), (EARLIEST_TIME_US - 1, "before 2000"),
     (NOW + CLOCK_TOLERANCE_US + 1, "ahead of the server's clock"), (2**63 - 1, "ahead")],
)  # fmt: skip
def test_times_out_of_range(time_us: int, problem: str) -> None:
    with pytest.raises(InvalidArgument, match=f"t: .*{problem}"):
        check_time(time_us, NOW, "t")


def test_no_freshness_token_is_known() -> None:
    check_freshness_token(b"")
    with pytest.raises(InvalidArgument, match="freshness_token"):
        check_freshness_token(b"x")


def test_bad_rows_of_an_import_are_told_one_by_one() -> None:
    followers = [ANN, 0, ANN, 2**62, DORMANT, BOARD, ANN, ANN]
    targets = [BEN, BEN, ANN, BEN, BEN, BEN, BEN, DORMANT]
    times = [NOW, NOW, NOW, NOW, NOW, NOW, 5, NOW]
    rows, errors = checked_rows(ImportColumns(followers, targets, times), range(8), IdPlacement(), NOW)
    assert [row.position for row in rows] == [0]
    assert rows[0].edge.list.shard == 1
    assert rows[0].inverse(Added(changed=True, time_us=9, former_us=12)) == Inverse(
        ListRef(8191, ListKind.FOLLOWERS, BEN), ANN, 9, 12
    )
    assert {i: error.reason for i, error in errors.items()} == {
        1: Reason.ID_OUT_OF_RANGE,
        2: Reason.SELF_FOLLOW,
        3: Reason.ID_OUT_OF_RANGE,
        4: Reason.ID_DORMANT_SHARD,
        5: Reason.ID_WRONG_TYPE,
        6: Reason.TIME_OUT_OF_RANGE,
        7: Reason.ID_DORMANT_SHARD,
    }
    assert "follower_ids[1]" in errors[1].message


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        (ImportColumns([], [], []), "follower_ids"),
        (ImportColumns([ANN], [], []), "target_ids"),
        (ImportColumns([ANN], [BEN], [1, 2]), "followed_at_us"),
        (ImportColumns([ANN] * (MAX_IMPORT_EDGES + 1), [BEN] * (MAX_IMPORT_EDGES + 1), []), "follower_ids"),
    ],
)
def test_columns_that_do_not_fit_are_refused_whole(columns: ImportColumns, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_columns(columns)
    assert caught.value.field == field
