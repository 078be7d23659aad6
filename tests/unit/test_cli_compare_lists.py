"""Comparing lists: every difference once a side, and none else; shares hold each list once."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.cli.importing.compare import takes_of
from graphsvc.cli.importing.comparison import Comparison
from graphsvc.cli.importing.delivery import EdgeColumns
from graphsvc.cli.importing.list_differences import Difference, Finding, Share, Tally, UserList, differences
from graphsvc.model.edges import ListKind
from graphsvc.v1.admin_service_pb2 import GetClusterInfoResponse, ObjectType

EDGES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3)), max_size=30)
USER, BOARD, DORMANT = (5 << 46) + (3 << 36) + 1, (5 << 46) + (2 << 36) + 1, (8192 << 46) + (3 << 36) + 1
LISTS = st.dictionaries(st.integers(1, 8), st.integers(1, 3))


def columns(edges: list[tuple[int, int, int]]) -> EdgeColumns:
    followers, followees, times = ([edge[n] for edge in edges] for n in range(3))
    return EdgeColumns(range(len(edges)), followers, followees, times)


def following(expected: dict[int, int]) -> UserList:
    share = Share(0, 1)
    share.add(columns([(99, other, time_us) for other, time_us in expected.items()]))
    found = [each for each in share.take() if each.kind is ListKind.FOLLOWING]
    return found[0]


@given(LISTS.filter(bool), LISTS, st.booleans(), st.booleans())
def test_differences_are_those_of_the_two_mappings(
    expected: dict[int, int], actual: dict[int, int], with_times: bool, ignore_extra: bool
) -> None:
    found = list(
        differences(
            following(expected),
            actual.items(),
            lambda finding: finding.other % 3 != 0,
            with_times=with_times,
            ignore_extra=ignore_extra,
        )
    )
    model = {
        *(
            (Difference.MISSING if other % 3 else Difference.REFUSED, other)
            for other in expected.keys() - actual.keys()
        ),
        *((Difference.EXTRA, other) for other in actual.keys() - expected.keys() if not ignore_extra),
        *(
            (Difference.LATER if actual[other] > expected[other] else Difference.EARLIER, other)
            for other in expected.keys() & actual.keys()
            if with_times and expected[other] != actual[other]
        ),
    }
    assert Counter((each.difference, each.other) for each in found) == Counter(model)
    for each in found:
        assert each == Finding(
            ListKind.FOLLOWING,
            99,
            each.difference,
            each.other,
            expected.get(each.other, 0),
            actual.get(each.other, 0),
        )


@given(EDGES, st.integers(1, 5))
def test_every_list_is_in_exactly_one_share_with_the_earliest_times(
    edges: list[tuple[int, int, int]], shares: int
) -> None:
    model: dict[tuple[ListKind, int], dict[int, int]] = {}
    for follower, followee, time_us in edges:
        for kind, user, other in (
            (ListKind.FOLLOWING, follower, followee),
            (ListKind.FOLLOWERS, followee, follower),
        ):
            times = model.setdefault((kind, user), {})
            times[other] = min(time_us, times.get(other, time_us))
    found: dict[tuple[ListKind, int], dict[int, int]] = {}
    for index in range(shares):
        share = Share(index, shares)
        share.add(columns(edges[:7]))
        share.add(columns(edges[7:]))
        count = len(share)
        taken = list(share.take())
        assert len(taken) == count
        assert len(share) == 0
        for each in taken:
            assert (each.kind, each.user) not in found
            found[each.kind, each.user] = each.times()
    assert found == model


def test_without_times_all_are_zero() -> None:
    share = Share(0, 1)
    share.add(EdgeColumns([1], [5], [6], []))
    assert {(each.kind, each.user): each.times() for each in share.take()} == {
        (ListKind.FOLLOWING, 5): {6: 0},
        (ListKind.FOLLOWERS, 6): {5: 0},
    }


@pytest.mark.parametrize("count", [0, 1, 20, 21, 50])
def test_a_tally_counts_all_and_keeps_the_first(count: int) -> None:
    findings = [Finding(ListKind.FOLLOWERS, 1, Difference.EXTRA, other, 0, 1) for other in range(count)]
    whole, half = Tally(), Tally()
    whole.add(findings[:15])
    half.add(findings[15:])
    whole.merge(half)
    assert whole.total() == count
    assert whole.first == findings[:20]
    assert whole.counts[ListKind.FOLLOWERS, Difference.EXTRA] == count


@pytest.mark.parametrize(
    ("kinds", "rejected", "conclusion"),
    [
        ((), 0, r"no difference$"),
        ((), 3, r"no difference, but 3 lines could not be read .*: an import tells why"),
        ((Difference.MISSING,), 0, r"there is a difference; importing the file again mends [^;]*$"),
        ((Difference.LATER,), 0, r"there is a difference; importing the file again mends [^;]*$"),
        ((Difference.EARLIER,), 0, r"there is a difference; what is since earlier stays so.*unfollow [^;]*$"),
        ((Difference.REFUSED,), 0, r"there is a difference; what is refused is never added"),
        ((Difference.EXTRA,), 1, r"there is a difference; what is only .*--ignore-extra; 1 lines could not"),
    ],
)
def test_the_conclusion_says_what_to_do_and_only_what_helps(
    kinds: tuple[Difference, ...], rejected: int, conclusion: str
) -> None:
    found = Comparison(rejected=rejected)
    found.tally.add(Finding(ListKind.FOLLOWERS, 1, kind, 2, 0, 1) for kind in kinds)
    assert re.match(conclusion, found.conclusion)
    assert found.equal is (found.conclusion == "no difference")


@pytest.mark.parametrize(
    ("placement", "user", "other", "file_us", "taken"),
    [
        ("id", USER, USER + 1, 10**15, True),
        ("id", USER, USER + 1, 0, True),
        ("id", USER, BOARD, 10**15, False),
        ("id", DORMANT, USER, 10**15, False),
        ("id", USER, USER + 1, 4 * 10**15, False),
        ("hash", USER, BOARD, 10**15, True),
    ],
)
def test_what_the_service_would_refuse_is_told_from_what_it_lacks(
    placement: str, user: int, other: int, file_us: int, taken: bool
) -> None:
    cluster = GetClusterInfoResponse(placement=placement, object_types=[ObjectType(name="user", code=3)])
    finding = Finding(ListKind.FOLLOWING, user, Difference.MISSING, other, file_us, 0)
    assert takes_of(cluster)(finding) is taken
