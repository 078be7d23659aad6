"""Every command against a real service, as a user runs it."""

import asyncio
import signal
from pathlib import Path

import pytest

from graphsvc import __version__
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.cli.demo_graph import USERS, demo_edges
from graphsvc.model.branded import to_branded
from graphsvc.model.ids import spread
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings
from tests.command_line import CommandLine
from tests.nodes import cluster_of, empty_and_claim_all, two_instance_topology
from tests.services import Service, running_service

pytestmark = pytest.mark.parametrize("family", ["valkey"], indirect=True)

MAP = ("--map-ids", "user")


@pytest.fixture
def cli(service: Service, tmp_path: Path) -> CommandLine:
    return CommandLine(service.target, tmp_path)


async def test_follow_check_unfollow(cli: CommandLine) -> None:
    followed = await cli.run("follow", *MAP, 7, 8)
    assert followed.code == 0
    assert followed.out.startswith("7 follows 8 since 20")
    again = await cli.run("follow", *MAP, 7, 8, "--json")
    assert again.json["changed"] is False
    assert (again.json["follower"], again.json["followee"]) == ("7", "8")
    assert f"since {again.json['followed_at']}" in followed.out

    yes = await cli.run("check", *MAP, 7, 8)
    assert (yes.code, yes.out) == (0, f"yes: 7 follows 8 since {again.json['followed_at']}\n")
    no = await cli.run("check", *MAP, 8, 7)
    assert (no.code, no.out) == (1, "no: 8 does not follow 7\n")

    ended = await cli.run("unfollow", *MAP, 7, 8)
    assert (ended.code, ended.out) == (0, "7 no longer follows 8\n")
    assert (await cli.run("unfollow", *MAP, 7, 8)).out == "7 did not follow 8\n"
    gone = await cli.run("check", *MAP, 7, 8, "--json")
    assert gone.code == 1
    assert gone.json == {
        "follower": "7",
        "followee": "8",
        "following": False,
        "followed_at": None,
        "followed_at_us": None,
    }


async def test_a_screenful_is_checked_at_once(cli: CommandLine) -> None:
    await cli.run("follow", *MAP, 1, 2)
    await cli.run("follow", *MAP, 1, 5000)
    both = await cli.run("check", *MAP, 1, 2, 5000, "--json")
    assert both.code == 0
    assert both.json["checks"] == [
        {"followee": "2", "following": True},
        {"followee": "5000", "following": True},
    ]
    mixed = await cli.run("check", *MAP, 1, 3, 2)
    assert mixed.code == 1
    assert [line.split() for line in mixed.lines] == [
        ["user", "followed", "by", "1"],
        ["3", "no"],
        ["2", "yes"],
    ]


async def test_pages_go_on_where_they_ended(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("".join(f"{n},1,{1_700_000_000 + n}\n" for n in range(2, 2_502)))
    assert (await cli.run("import", path, *MAP, "--time-column", 3)).code == 0
    newest = [str(n) for n in range(2_501, 1, -1)]

    first = (await cli.run("followers", *MAP, 1, "--limit", 1_200, "--json")).json
    assert (first["user"], first["list"], first["total"]) == ("1", "followers", 2_500)
    assert [edge["id"] for edge in first["edges"]] == newest[:1_200]
    assert first["edges"][0]["followed_at_us"] == 1_700_002_501_000_000
    assert first["edges"][0]["followed_at"] == "2023-11-14T22:55:01.000000Z"
    rest = (
        await cli.run(
            "followers", *MAP, 1, "--limit", 5_000, "--page-token", first["next_page_token"], "--json"
        )
    ).json
    assert [edge["id"] for edge in rest["edges"]] == newest[1_200:]
    assert rest["next_page_token"] is None

    whole = await cli.run("followers", *MAP, 1, "--all", "--oldest-first")
    assert whole.lines[0] == "followers of 1: 2,500 in all, oldest first"
    assert [line.split()[0] for line in whole.lines if line[:1].isdigit()] == newest[::-1]
    lines = await cli.run("followers", *MAP, 1, "--all", "--json")
    assert lines.out.count("\n") == 2_500


async def test_the_command_for_the_next_page_works(cli: CommandLine) -> None:
    for followee in (2, 3, 4):
        await cli.run("follow", *MAP, 1, followee)
    page = await cli.run("following", *MAP, 1, "--limit", 2, "--oldest-first")
    words = page.lines[-1].split()
    assert words[:2] == ["more:", "graphsvc"]
    rest = await cli.run(*words[2:])
    assert rest.lines[0] == "following of 1: 3 in all, oldest first"
    assert [line.split()[0] for line in rest.lines[2:]] == ["4"]


async def test_an_empty_list(cli: CommandLine) -> None:
    empty = await cli.run("followers", *MAP, 77)
    assert (empty.code, empty.out) == (0, "followers of 77: 0 in all, newest first\n")
    assert (await cli.run("followers", *MAP, 77, "--json")).json["edges"] == []


async def test_counts(cli: CommandLine) -> None:
    await cli.run("follow", *MAP, 1, 2)
    await cli.run("follow", *MAP, 1, 5000)
    counts = await cli.run("counts", *MAP, 1, 5000, 9)
    assert [line.split() for line in counts.lines] == [
        ["user", "following", "followers"],
        ["1", "2", "0"],
        ["5000", "0", "1"],
        ["9", "0", "0"],
    ]
    assert (await cli.run("counts", spread(1, 3), "--json")).json == {
        "users": [{"user": str(spread(1, 3)), "following": 2, "followers": 0}]
    }


async def test_status(cli: CommandLine) -> None:
    status = await cli.run("status")
    assert status.code == 0
    assert status.lines[0] == f"service    {cli.target} SERVING, version {__version__}"
    assert [line.split()[:2] for line in status.lines[-2:]] == [
        ["instance-0", "0-4095"],
        ["instance-1", "4096-8191"],
    ]
    document = (await cli.run("status", "--json")).json
    assert document["placement"] == "id"
    assert document["object_types"] == {"pin": 1, "board": 2, "user": 3}
    assert [each["reachable"] for each in document["instances"]] == [True, True]


async def test_ids_are_shown_with_their_instance(cli: CommandLine) -> None:
    assert "instance   instance-1" in (await cli.run("id", "show", spread(5000, 3))).out
    assert (await cli.run("id", "show", *MAP, 5, "--json")).json["instance"] == "instance-0"
    pin = await cli.run("id", "show", 241294492511762325)
    assert "instance   none: 241294492511762325 is of type 1; users are of type 3" in pin.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("follow", "5", "6"), "follower_id: 5 is of type 0; users are of type 3"),
        (("follow", *MAP, "5", "5"), "followee_id:"),
        (("check", *MAP, "5", "x"), "followee: 'x' is not three letters"),
        (("followers", *MAP, "5", "--page-token", "x"), "page_token:"),
        (("counts", *MAP, "5", str((8192 << 46) + (3 << 36) + 1)), "user_ids[1]:"),
    ],
)
async def test_bad_input_is_one_line_that_names_the_field(
    cli: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    refused = await cli.run(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"graphsvc: {message}")
    assert refused.err.count("\n") == 1


async def test_the_demo_shows_what_is_really_there(cli: CommandLine) -> None:
    refused = await cli.run("demo")
    assert refused.code == 2
    assert "--any-cluster" in refused.err
    edges = demo_edges()
    demo = await cli.run("demo", "--any-cluster")
    assert demo.code == 0, demo.err
    assert demo.lines[0] == f"loaded {len(edges):,} follows of {USERS} users, {len(edges):,} of them new"
    for command in [line.removeprefix("$ graphsvc ") for line in demo.lines if line.startswith("$ ")]:
        answer = await cli.run(*command.split())
        assert answer.out in demo.out
        assert answer.code in {0, 1}
    again = await cli.run("demo", "--any-cluster")
    assert again.lines[0] == f"loaded {len(edges):,} follows of {USERS} users, 0 of them new"
    counts = (await cli.run("counts", *MAP, 1, "--json")).json["users"]
    assert counts == [
        {
            "user": "1",
            "following": sum(edge.follower == 1 for edge in edges),
            "followers": sum(edge.followee == 1 for edge in edges),
        }
    ]


async def test_under_hash_placement_people_see_branded_ids_too(
    nodes: list[NodeProcess], tmp_path: Path, family: str
) -> None:
    cluster = cluster_of(family, PlacementName.HASH)
    await empty_and_claim_all(nodes, cluster)
    async with running_service(tmp_path, cluster, two_instance_topology(nodes)) as service:
        cli = CommandLine(service.target, tmp_path)
        followed = await cli.run("follow", "USR0KHTOWnGLuC", 77)
        brand = to_branded(77, "USR")
        assert followed.out.startswith(f"274557032793636864 (USR0KHTOWnGLuC) follows 77 ({brand}) since")
        followers = await cli.run("followers", brand)
        assert followers.lines[0] == f"followers of 77 ({brand}): 1 in all, newest first"
        assert followers.lines[2].split()[:2] == ["274557032793636864", "USR0KHTOWnGLuC"]
        assert (await cli.run("followers", brand, "--json")).json["edges"][0]["id"] == "274557032793636864"
        assert (await cli.run("check", "USR0KHTOWnGLuC", brand, 78)).code == 1


async def test_with_an_instance_down_the_rest_is_told(
    fresh_nodes: list[NodeProcess], tmp_path: Path, cluster: ClusterSettings
) -> None:
    async with running_service(tmp_path, cluster, two_instance_topology(fresh_nodes)) as service:
        cli = CommandLine(service.target, tmp_path)
        await cli.run("follow", *MAP, 1, 2)
        fresh_nodes[1].kill()
        status = await cli.run("status")
        assert status.code == 3
        assert [line.split()[3] for line in status.lines[-2:]] == ["yes", "NO"]
        counts = await cli.run("counts", *MAP, 1, 5000, "--json")
        assert counts.code == 3
        assert counts.json["users"] == [
            {"user": "1", "following": 1, "followers": 0},
            {"user": "5000", "error": "SHARD_UNAVAILABLE"},
        ]
        check = await cli.run("check", *MAP, 5000, 1, "--timeout", 1)
        assert (check.code, check.out) == (3, "")
        assert "try again later" in check.err


@pytest.mark.parametrize(
    "command", ["follow", "check", "followers", "following", "counts", "unfollow", "status", "id show"]
)
async def test_the_examples_in_the_help_are_right(cli: CommandLine, command: str) -> None:
    told = await cli.run(*command.split(), "--help")
    examples = [line.split() for line in told.lines if line.strip().startswith("graphsvc ")]
    assert examples
    for words in examples:
        if "--target" in words or "--page-token" in words:
            continue  # these name a host or a token that is the reader's own
        end = next((i for i, word in enumerate(words) if word in ("&&", "|")), len(words))
        done = await cli.run(*words[1:end])
        assert done.code in (0, 1), (words, done.err)


async def test_errors_of_the_service_are_in_the_users_numbers(cli: CommandLine) -> None:
    done = await cli.run("follow", "7", "7", "--map-ids", "user")
    assert done.code == 2
    assert "7 is the follower" in done.err
    assert "492787367673863" not in done.err


async def test_ctrl_c_while_it_loads_is_quiet(cli: CommandLine) -> None:
    for after_s in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4):
        process = await cli.start("demo")
        await asyncio.sleep(after_s)
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        # Before the interpreter itself has started there is nothing of ours that could be quiet.
        assert b"graphsvc/cli" not in err, err.decode()
