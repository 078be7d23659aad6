"""The main job on real input: three public graphs, imported and compared again after kill -9."""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from graphsvc.v1 import follower_graph_service_pb2 as pb
from tests.dev_process import DevProcess
from tests.follow_ledger import graph_at
from tests.nodes import server_binary
from tests.real_graphs import PlainGraph, add_bitcoin, add_github, add_wiki_vote, shared_data

if TYPE_CHECKING:  # for type checkers only
    from graphsvc.v1.follower_graph_service_pb2_grpc import FollowerGraphServiceAsyncStub

DATA = shared_data()
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the public graphs are not beside this checkout")
SAMPLED_CHECKS = 100_000
AT_ONCE = 32


def run_import(target: str, *arguments: str) -> dict[str, Any]:
    """`graphsvc import ... --json` as its user runs it; gives what it prints."""
    command = [sys.executable, "-m", "graphsvc", "import", *arguments, "--map-ids", "user"]
    done = subprocess.run(
        [*command, "--target", target, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def load_all(target: str) -> PlainGraph:
    """Import the three files, and make the model of what must then stand."""
    graph = PlainGraph()
    github, wiki, bitcoin = (
        str(DATA / name) for name in ("musae_git_edges.csv", "Wiki-Vote.txt", "soc-sign-bitcoinotc.csv")
    )
    assert run_import(target, github, "--mutual")["edges"] == add_github(graph, DATA) == 578_006
    assert run_import(target, wiki)["edges"] == add_wiki_vote(graph, DATA) == 103_689
    report = run_import(target, bitcoin, "--time-column", "time", "--time-unit", "s")
    assert report["edges"] == add_bitcoin(graph, DATA) == 35_592
    return graph


@pytest.mark.timeout(900)
def test_three_public_graphs_are_the_same_after_everything_was_killed(
    start_dev: Callable[..., DevProcess], family: str
) -> None:
    program = ("--redis-server", str(server_binary(family)))
    began_us = time.time_ns() // 1_000
    dev = start_dev(*program).wait_until_ready()
    graph = load_all(dev.target)
    imported_us = time.time_ns() // 1_000
    asyncio.run(_compare_counts_and_checks(dev.target, graph))

    dev.kill_all()
    dev = start_dev(*program).wait_until_ready()
    asyncio.run(_compare_counts_and_checks(dev.target, graph))
    times = asyncio.run(_compare_lists(dev.target, graph))
    assert min(times) >= began_us, "an edge without a time of its own is older than its import"
    assert max(times) <= imported_us
    assert dev.stop() == 0


async def _compare_counts_and_checks(target: str, graph: PlainGraph) -> None:
    async with graph_at(target) as service:
        users = graph.users()
        for i in range(0, len(users), 1_000):
            asked = users[i : i + 1_000]
            answer = await service.GetCounts(pb.GetCountsRequest(user_ids=asked))
            assert [(each.following, each.followers) for each in answer.users] == [
                (len(graph.following.get(user, {})), len(graph.followers.get(user, {}))) for user in asked
            ]
        pairs = _sample(graph, users)
        for i in range(0, len(pairs), 1_000):
            part = pairs[i : i + 1_000]
            checks = await service.BatchCheckFollows(
                pb.BatchCheckFollowsRequest(
                    follower_ids=[a for a, _ in part], followee_ids=[b for _, b in part]
                )
            )
            assert list(checks.following) == [b in graph.following.get(a, {}) for a, b in part]


def _sample(graph: PlainGraph, users: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs to check: half of them edges, half of them drawn blindly."""
    chance = random.Random(5)
    followers = list(graph.following)
    pairs = []
    for _ in range(SAMPLED_CHECKS // 2):
        a = chance.choice(followers)
        pairs += [(a, chance.choice(list(graph.following[a]))), (chance.choice(users), chance.choice(users))]
    return pairs


async def _compare_lists(target: str, graph: PlainGraph) -> list[int]:
    """Hold every list of every user against the model; gives the times that the model does not know."""
    unknown_times: dict[tuple[int, int], int] = {}
    async with graph_at(target) as service:
        waiting = iter(graph.users())

        async def work() -> None:
            for user in waiting:
                following = await _whole_list(service, "ListFollowing", user)
                _compare(following, graph.following.get(user, {}))
                for other, time_us in following.items():
                    if graph.following[user][other] is None:
                        unknown_times[user, other] = time_us
                _compare(await _whole_list(service, "ListFollowers", user), graph.followers.get(user, {}))

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        # Where the model knows no time, both sides must still have the same one.
        chance = random.Random(6)
        for a, b in chance.sample(sorted(unknown_times), 2_000):
            followers = await service.ListFollowers(pb.ListUserEdgesRequest(user_id=b, page_size=1_000))
            both = dict(zip(followers.ids, followers.followed_at_us, strict=True))
            assert a not in both or both[a] == unknown_times[a, b]
    return list(unknown_times.values())


def _compare(found: dict[int, int], expected: dict[int, int | None]) -> None:
    assert found.keys() == expected.keys()
    assert all(time_us is None or found[user] == time_us for user, time_us in expected.items())


async def _whole_list(service: "FollowerGraphServiceAsyncStub", method: str, user: int) -> dict[int, int]:
    """A list by pages of 1,000: the time of each user, after checking that the order is newest first."""
    edges: list[tuple[int, int]] = []
    token = ""
    while True:
        request = pb.ListUserEdgesRequest(user_id=user, page_size=1_000, page_token=token)
        page = await getattr(service, method)(request)
        edges += zip(page.followed_at_us, page.ids, strict=True)
        token = page.next_page_token
        if not token:
            break
    assert edges == sorted(edges, reverse=True)
    assert page.total_size == len(edges)
    return {user: time_us for time_us, user in edges}
