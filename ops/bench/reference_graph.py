"""The reference follow graph, as rows `follower_id,followee_id,followed_at_us`, oldest first.

The skew is that of a real site: how many a user follows is log-normal (median 40, at most 5,000), and
whom is drawn by Zipf's law (exponent 0.9). By default (20,000 users) these are 1,514,709 edges over five
years, and the most followed user has 15,432 followers. All ids are of type 3 (user). Equal arguments give
the same graph.

usage: python -m ops.bench.reference_graph [--users N] [--edges N] [--years Y] [--shards N] [--seed N]
"""

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

USER_TYPE = 3
SHARDS = 8192
START_US = 1_600_000_000_000_000
YEAR_US = 365.25 * 86400e6
MEDIAN_FOLLOWING = 40
SPREAD = 1.35
MAX_FOLLOWING = 5_000
ZIPF_EXPONENT = 0.9


class GraphShape(NamedTuple):
    """What graph to make."""

    users: int = 20_000
    edges: int = 0
    """Stop after so many; 0: all."""
    years: float = 5
    shards: int = SHARDS
    """Users live on the first so many shards (few edges on 8192 databases measure the databases)."""
    seed: int = 7


class Edge(NamedTuple):
    """One row."""

    follower_id: int
    followee_id: int
    followed_at_us: int


def reference_graph(shape: GraphShape) -> Iterator[Edge]:
    """The graph's edges, each pair once, nobody with himself, no two of the same microsecond."""
    # The order of the draws is part of the graph.
    rng = np.random.default_rng(shape.seed)
    users = shape.users
    following = np.clip(
        rng.lognormal(np.log(MEDIAN_FOLLOWING), SPREAD, users), 1, min(MAX_FOLLOWING, users // 4)
    ).astype(int)
    ids = [
        (int(rng.integers(SHARDS)) % shape.shards << 46) | (USER_TYPE << 36) | number
        for number in range(1, users + 1)
    ]
    followers = np.repeat(np.arange(users), following)
    rng.shuffle(followers)
    popularity = np.cumsum(1 / np.arange(1, users + 1) ** ZIPF_EXPONENT)
    drawn = np.searchsorted(popularity / popularity[-1], rng.random(len(followers)))
    followees = np.minimum(drawn, users - 1)
    mean_gap_us = shape.years * YEAR_US / len(followers)
    gaps = rng.integers(1, max(2, int(2 * mean_gap_us)), len(followers))

    seen: set[tuple[int, int]] = set()
    clock_us = START_US
    for follower, followee, gap in zip(followers.tolist(), followees.tolist(), gaps.tolist(), strict=True):
        if follower == followee or (follower, followee) in seen:
            continue
        seen.add((follower, followee))
        clock_us += gap
        yield Edge(ids[follower], ids[followee], clock_us)
        if len(seen) == shape.edges:
            return


def _shape_of_arguments() -> GraphShape:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    default = GraphShape()
    parser.add_argument("--users", type=int, default=default.users)
    parser.add_argument("--edges", type=int, default=default.edges, help="stop after so many (0: all)")
    parser.add_argument("--years", type=float, default=default.years)
    parser.add_argument("--shards", type=int, default=default.shards)
    parser.add_argument("--seed", type=int, default=default.seed)
    return GraphShape(**vars(parser.parse_args()))


if __name__ == "__main__":
    for edge in reference_graph(_shape_of_arguments()):
        sys.stdout.write(f"{edge.follower_id},{edge.followee_id},{edge.followed_at_us}\n")
