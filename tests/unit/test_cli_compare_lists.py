"""Comparing lists: every difference once a side, and none else; shares hold each list once."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.cli.importing.delivery import EdgeColumns
from graphsvc.cli.importing.list_differences import Difference, Finding, Share, Tally, UserList, differences
from graphsvc.model.edges import ListKind

EDGES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3)), max_size=30)
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
        differences(following(expected), actual.items(), with_times=with_times, ignore_extra=ignore_extra)
    )
    model = {
        *((Difference.MISSING, other) for other in expected.keys() - actual.keys()),
        *((Difference.EXTRA, other) for other in actual.keys() - expected.keys() if not ignore_extra),
        *(
            (Difference.TIME, other)
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
