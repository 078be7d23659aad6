"""The graph of the demo: the same every time, and one that the service takes."""

from collections import Counter

from graphsvc.cli.demo_graph import USERS, demo_edges
from graphsvc.model.edges import EARLIEST_TIME_US


def test_it_is_the_same_every_time() -> None:
    assert demo_edges() == demo_edges()


def test_it_has_no_self_follow_and_no_pair_twice() -> None:
    edges = demo_edges()
    pairs = {(edge.follower, edge.followee) for edge in edges}
    assert len(pairs) == len(edges)
    assert all(follower != followee for follower, followee in pairs)
    assert {user for pair in pairs for user in pair} == set(range(1, USERS + 1))


def test_its_times_rise_and_are_in_the_past() -> None:
    times = [edge.time_us for edge in demo_edges()]
    assert times == sorted(times)
    assert times[0] >= EARLIEST_TIME_US
    assert times[-1] < 1_735_689_600_000_000


def test_its_popularity_is_skewed() -> None:
    followers = Counter(edge.followee for edge in demo_edges())
    assert followers[1] > 20 * followers[USERS]
