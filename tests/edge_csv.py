"""Files of edges for imports, and the lists that the command line then shows."""

import json
import random
from pathlib import Path

from tests.command_line import CommandLine

MAP = ("--map-ids", "user")
T0 = 1_600_000_000
NONE = {"missing": 0, "extra": 0, "later": 0, "earlier": 0, "refused": 0}
"""What a comparison counts where nothing differs."""


def random_edges(count: int, users: int, seed: int = 1) -> dict[tuple[int, int], int]:
    """Pairs of mapped users, with times in microseconds."""
    dice = random.Random(seed)
    edges: dict[tuple[int, int], int] = {}
    while len(edges) < count:
        follower, followee = dice.randrange(users), dice.randrange(users)
        if follower != followee:
            edges[follower, followee] = T0 * 1_000_000 + dice.randrange(10**12)
    return edges


def write_csv(path: Path, edges: dict[tuple[int, int], int]) -> Path:
    path.write_text("".join(f"{a},{b},{time_us}\n" for (a, b), time_us in edges.items()))
    return path


async def listed(cli: CommandLine, kind: str, user: int) -> dict[str, int]:
    done = await cli.run(kind, *MAP, user, "--all", "--json")
    edges = [json.loads(line) for line in done.out.splitlines()]
    return {edge["id"]: edge["followed_at_us"] for edge in edges}
