"""The graph of `graphsvc demo`: small, skewed as on a real site, the same every time. Pure."""

import random
from typing import NamedTuple

USERS = 300
SEED = 7
FIRST_US = 1_704_067_200_000_000
"""2024-01-01T00:00:00Z."""
SPAN_US = 180 * 86_400_000_000


class DemoEdge(NamedTuple):
    """User `follower` follows user `followee` since then; users are numbers from 1."""

    follower: int
    followee: int
    time_us: int


def demo_edges() -> list[DemoEdge]:
    """All edges, oldest first: popularity falls as 1/rank^0.9, and most users follow few."""
    dice = random.Random(SEED)  # noqa: S311 (a graph, not a secret)
    users = range(1, USERS + 1)
    popularity = [1 / rank**0.9 for rank in users]
    pairs: list[tuple[int, int]] = []
    for follower in users:
        count = min(USERS // 3, max(1, round(dice.lognormvariate(2.3, 1.0))))
        drawn = dict.fromkeys(dice.choices(users, popularity, k=count))
        pairs += [(follower, followee) for followee in drawn if followee != follower]
    dice.shuffle(pairs)
    times = sorted(FIRST_US + dice.randrange(SPAN_US) for _ in pairs)
    return [DemoEdge(*pair, time_us) for pair, time_us in zip(pairs, times, strict=True)]
