"""Three public graphs, read by code of their own, and the union of them as a plain model.

Independent of the product's reader on purpose: the suite compares the two.
"""

import csv
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

USER_TYPE = 3


def shared_data() -> Path:
    """Where the graphs are: beside the checkout, not in it."""
    return Path(__file__).parents[2] / "shared" / "data"


def mapped(number: int) -> int:
    """The documented rule of --map-ids user."""
    return number % 8192 << 46 | USER_TYPE << 36 | number


@dataclass
class PlainGraph:
    """Followees and followers of each user, with times in microseconds; None where no file has one."""

    following: dict[int, dict[int, int | None]] = field(default_factory=dict)
    followers: dict[int, dict[int, int | None]] = field(default_factory=dict)

    def add(self, follower: int, followee: int, time_us: int | None) -> None:
        """Add an edge given in the file's own numbers; the earliest time stays."""
        if follower == followee:
            return
        a, b = mapped(follower), mapped(followee)
        known = self.following.setdefault(a, {}).get(b)
        if time_us is None or (known is not None and known <= time_us):
            time_us = known
        self.following[a][b] = time_us
        self.followers.setdefault(b, {})[a] = time_us

    def edges(self) -> int:
        """How many there are."""
        return sum(map(len, self.following.values()))

    def users(self) -> list[int]:
        """Everybody, in a fixed order."""
        return sorted(self.following.keys() | self.followers.keys())


def add_github(graph: PlainGraph, folder: Path) -> int:
    """Mutual follows of GitHub users; gives the edges in the file."""
    with (folder / "musae_git_edges.csv").open(newline="") as file:
        rows = [(int(row["id_1"]), int(row["id_2"])) for row in csv.DictReader(file)]
    for a, b in rows:
        graph.add(a, b, None)
        graph.add(b, a, None)
    return 2 * len(rows)


def add_wiki_vote(graph: PlainGraph, folder: Path) -> int:
    """Votes in Wikipedia's elections; gives the edges in the file."""
    rows = [line.split() for line in (folder / "Wiki-Vote.txt").read_text().splitlines() if line[:1] != "#"]
    for a, b in rows:
        graph.add(int(a), int(b), None)
    return len(rows)


def add_bitcoin(graph: PlainGraph, folder: Path) -> int:
    """Ratings of Bitcoin traders, with times in fractional seconds; gives the edges in the file."""
    with (folder / "soc-sign-bitcoinotc.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        graph.add(int(row["from"]), int(row["to"]), int(Decimal(row["time"]) * 1_000_000))
    return len(rows)
