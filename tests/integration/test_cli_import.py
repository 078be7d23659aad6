"""`graphsvc import` against a real service: whole, interrupted, refused, repeated, compared."""

import asyncio
import gzip
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.model.ids import spread
from graphsvc.model.topology import ClusterSettings
from graphsvc.runtime.settings import LimitSettings
from tests.command_line import CommandLine
from tests.edge_csv import MAP, NONE, T0, listed, random_edges, write_csv
from tests.nodes import empty_and_claim_all, server_binary, two_instance_topology
from tests.services import Service, running_service

pytestmark = pytest.mark.parametrize("family", ["valkey"], indirect=True)


@pytest.fixture
def cli(service: Service, tmp_path: Path) -> CommandLine:
    return CommandLine(service.target, tmp_path / "state")


def states(cli: CommandLine) -> list[Path]:
    return list((cli.folder / "graphsvc" / "imports").glob("*.json"))


def lines_acknowledged(cli: CommandLine) -> int:
    return max((json.loads(path.read_text())["line"] for path in states(cli)), default=0)


async def assert_holds(cli: CommandLine, edges: dict[tuple[int, int], int], users: list[int]) -> None:
    """The lists of these users are those of the model, on both sides."""
    for user in users:
        assert await listed(cli, "following", user) == {str(b): t for (a, b), t in edges.items() if a == user}
        assert await listed(cli, "followers", user) == {str(a): t for (a, b), t in edges.items() if b == user}


@pytest.mark.parametrize("compress", [False, True])
async def test_a_file_is_loaded_and_loading_it_again_changes_nothing(
    cli: CommandLine, tmp_path: Path, compress: bool
) -> None:
    edges = random_edges(3_000, 200)
    path = write_csv(tmp_path / "edges.csv", edges)
    if compress:
        path.write_bytes(gzip.compress(path.read_bytes()))
    command = ("import", path, *MAP, "--time-column", 3, "--batch", 500, "--json")
    first = await cli.run(*command)
    assert first.code == 0, first.err
    totals = first.json
    assert totals.pop("seconds") > 0
    assert totals == {
        "rows": 3_000,
        "edges": 3_000,
        "changed": 3_000,
        "inverse_pending": 0,
        "rejected": 0,
        "reasons": {},
    }
    assert states(cli) == []
    again = await cli.run(*command)
    assert (again.code, again.json["changed"], again.json["edges"]) == (0, 0, 3_000)
    await assert_holds(cli, edges, [0, 1, 199])
    compared = await cli.run("import", path, *MAP, "--time-column", 3, "--compare")
    assert compared.code == 0, compared.out
    assert compared.lines[-1] == "no difference"


async def test_mutual_rows_are_edges_both_ways(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "friends.tsv"
    path.write_text("id_1\tid_2\n0\t5000\n1\t0\n")
    done = await cli.run("import", path, *MAP, "--mutual", "--batch", 1)
    assert done.code == 0, done.err
    assert "2 rows" in done.out
    assert "4 edges acknowledged" in done.out
    assert set(await listed(cli, "following", 0)) == set(await listed(cli, "followers", 0)) == {"5000", "1"}
    assert (await cli.run("import", path, *MAP, "--mutual", "--compare")).code == 0


async def test_of_a_repeated_pair_the_earliest_time_stays(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(f"1 2 {T0 + 5}.25\n1 2 {T0}.000001\n1 2 {T0 + 9}\n")
    assert (await cli.run("import", path, *MAP, "--time-column", 3, "--batch", 1)).code == 0
    assert await listed(cli, "following", 1) == {"2": T0 * 1_000_000 + 1}
    assert (await cli.run("import", path, *MAP, "--time-column", 3, "--compare")).code == 0


async def test_bad_lines_are_told_and_the_rest_is_loaded(cli: CommandLine, tmp_path: Path) -> None:
    path, rejects = tmp_path / "edges.csv", tmp_path / "rejects.csv"
    user = [spread(n, 3) for n in range(10)]
    board, dormant = (7 << 46) + (2 << 36) + 1, (8192 << 46) + (3 << 36) + 1
    path.write_text(
        "follower,followee,time\n"
        f"{user[1]},{user[2]},{T0}\n"
        f"{user[1]},{board},{T0}\n"
        f"{dormant},{user[2]},{T0}\n"
        f"{user[3]},{user[3]},{T0}\n"
        f"zero,{user[3]},{T0}\n"
        f"0,{user[3]},{T0}\n"
        f"{user[1]},{user[4]},4102444799\n"
        f"{user[1]},{user[4]},1\n"
        f"{user[1]}\n"
        f"{user[5]},{user[6]},{T0}\n"
    )
    done = await cli.run("import", path, "--rejects", rejects, "--json", "--batch", 3)
    assert done.code == 1
    assert (done.json["rows"], done.json["edges"], done.json["rejected"]) == (10, 2, 8)
    reasons = [line.split(",")[:2] for line in rejects.read_text().splitlines()[1:]]
    assert reasons == [
        ["3", "ID_WRONG_TYPE"],
        ["4", "ID_DORMANT_SHARD"],
        ["5", "SELF_FOLLOW"],
        ["6", "NOT_A_NUMBER"],
        ["7", "ID_OUT_OF_RANGE"],
        ["8", "TIME_OUT_OF_RANGE"],
        ["9", "TIME_OUT_OF_RANGE"],
        ["10", "TOO_FEW_COLUMNS"],
    ]
    assert (
        f"line 4: ID_DORMANT_SHARD: refused by the service: follower {dormant}, followee {user[2]}: "
        f"follower: {dormant} names shard 8192; shards are 0 to 8191" in done.err
    )
    assert f"followee: {board} is of type 2; users are of type 3" in done.err
    assert "time: 4102444799000000 is ahead of the server's clock" in done.err
    assert "line 6: NOT_A_NUMBER: follower: 'zero' is not a decimal number" in done.err
    assert set(await listed(cli, "followers", 6)) == {str(5)}
    assert states(cli) == []
    compared = await cli.run("import", path, "--compare", "--json")
    assert compared.code == 1
    assert compared.json["rejected"] == 5
    assert compared.json["following"] == compared.json["followers"] == NONE | {"refused": 3}
    assert "what is refused is never added" in compared.json["conclusion"]


async def test_more_follows_than_one_may_have_are_rejected_lines(
    nodes: list[NodeProcess], tmp_path: Path, cluster: ClusterSettings
) -> None:
    limits = LimitSettings(max_followed_users=3)
    async with running_service(tmp_path, cluster, two_instance_topology(nodes), limits=limits) as service:
        cli = CommandLine(service.target, tmp_path / "state")
        path = tmp_path / "edges.csv"
        path.write_text("".join(f"1,{n}\n" for n in range(2, 7)))
        done = await cli.run("import", path, *MAP, "--json")
        assert done.code == 1
        assert (done.json["edges"], done.json["reasons"]) == (3, {"FOLLOW_LIMIT": 2})
        assert (
            "line 4: FOLLOW_LIMIT: refused by the service: follower 1, followee 5: "
            "a user may follow at most 3 users" in done.err
        )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_an_interrupted_import_goes_on_where_it_was(
    cli: CommandLine, tmp_path: Path, how: signal.Signals
) -> None:
    edges = random_edges(20_000, 500)
    path = write_csv(tmp_path / "edges.csv", edges)
    rejects = tmp_path / "rejects.csv"
    path.write_text("bad,1,1\n" + path.read_text() + "bad,2,2\n")
    command = ("import", path, *MAP, "--time-column", 3, "--rejects", rejects)
    stopped = await cli.run_until(
        lambda: lines_acknowledged(cli) > 1, how, *command, "--batch", 1, "--concurrency", 1
    )
    reached = lines_acknowledged(cli)
    assert 1 < reached < 20_000
    if how is signal.SIGKILL:
        assert stopped.code == -signal.SIGKILL
    else:
        assert stopped.code == 128 + how
        assert f"stopped after line {reached:,}; the same command given again goes on" in stopped.err
    done = await cli.run(*command, "--json")
    assert done.code == 1
    assert f"resuming at line {reached + 1:,}" in done.err
    assert (done.json["rows"], done.json["edges"], done.json["rejected"]) == (20_002, 20_000, 2)
    assert [line.split(",")[0] for line in rejects.read_text().splitlines()] == ["line", "1", "20002"]
    assert states(cli) == []
    await assert_holds(cli, edges, [0, 499])
    compared = await cli.run("import", path, *MAP, "--time-column", 3, "--compare", "--passes", 3, "--json")
    assert (compared.json["differences"], compared.json["passes"]) == (0, 3)


async def test_restart_begins_anew(cli: CommandLine, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "edges.csv", random_edges(20_000, 500))
    command = ("import", path, *MAP, "--time-column", 3)
    await cli.run_until(
        lambda: lines_acknowledged(cli) > 1, signal.SIGINT, *command, "--batch", 1, "--concurrency", 1
    )
    done = await cli.run(*command, "--restart", "--json")
    assert (done.code, done.json["rows"]) == (0, 20_000)
    assert "resuming" not in done.err


async def test_a_cut_gzip_file_is_loaded_as_far_as_it_goes(cli: CommandLine, tmp_path: Path) -> None:
    edges = random_edges(5_000, 500)
    whole = write_csv(tmp_path / "edges.csv", edges)
    cut = tmp_path / "cut.csv.gz"
    data = gzip.compress(whole.read_bytes())
    cut.write_bytes(data[: len(data) * 2 // 3])
    done = await cli.run("import", cut, *MAP, "--time-column", 3, "--batch", 100, "--json")
    assert done.code == 2
    loaded = done.json["edges"]
    assert 1_000 < loaded < 5_000
    assert f"the gzip data is cut short. Imported is what comes before, to line {loaded:,}" in done.err
    compared = await cli.run("import", whole, *MAP, "--time-column", 3, "--compare", "--json")
    assert compared.json["following"] == NONE | {"missing": 5_000 - loaded}
    assert (await cli.run("import", whole, *MAP, "--time-column", 3)).code == 0
    assert (await cli.run("import", whole, *MAP, "--time-column", 3, "--compare")).code == 0


async def test_standard_input_is_read(cli: CommandLine) -> None:
    done = await cli.run("import", "-", *MAP, "--json", stdin=gzip.compress(b"# c\r\n1 2\r\n3 4\r\n"))
    assert (done.code, done.json["edges"]) == (0, 2)
    assert states(cli) == []
    compared = await cli.run("import", "-", *MAP, "--compare", stdin=b"1 2\n")
    assert compared.code == 2
    assert "--compare needs a file on disk" in compared.err


async def test_an_empty_file_is_no_error(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("")
    done = await cli.run("import", path, "--json")
    assert (done.code, done.json["rows"]) == (0, 0)
    assert (await cli.run("import", path, "--compare")).code == 0


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, (), "can't be read: No such file"),
        (b"PK\x03\x04", (), "is a zip archive"),
        (b"1,2\n", ("--delimiter", "tab"), "has 1 column"),
        (
            b"a,b\n1,2\n",
            ("--follower-column", "c"),
            "--follower-column: no column 'c'; the first line has a, b",
        ),
        (b"1,2\n", ("--rejects", "/nowhere/x"), "--rejects: /nowhere/x can't be written"),
    ],
)
async def test_what_cannot_be_read_is_refused_in_one_line(
    cli: CommandLine, tmp_path: Path, content: bytes | None, options: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "edges.csv"
    if content is not None:
        path.write_bytes(content)
    done = await cli.run("import", path, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


async def test_what_an_instance_cannot_take_now_is_kept_for_later(
    fresh_nodes: list[NodeProcess], tmp_path: Path, cluster: ClusterSettings, family: str
) -> None:
    edges = random_edges(2_000, 8_192)
    path = write_csv(tmp_path / "edges.csv", edges)
    async with running_service(tmp_path, cluster, two_instance_topology(fresh_nodes)) as service:
        cli = CommandLine(service.target, tmp_path / "state")
        command = ("import", path, *MAP, "--time-column", 3)
        down = fresh_nodes[1]
        down.kill()
        gave_up = await cli.run(*command, "--give-up-after", 0)
        assert gave_up.code == 3
        assert "SHARD_UNAVAILABLE" in gave_up.err
        assert "the same command given again goes on" in gave_up.err
        assert states(cli) == []  # nothing was acknowledged

        waiting = await cli.start(*command, "--json")
        assert waiting.stderr is not None
        while b"waiting, for 60 s at most" not in await waiting.stderr.readline():
            assert not waiting.stderr.at_eof()
        await NodeProcess.start(server_binary(family), down.folder, down.node.port)
        done = await cli.end(waiting)
        assert done.code == 0, done.err
        assert done.json["edges"] == 2_000
        assert (await cli.run(*command, "--compare")).code == 0


async def test_an_import_is_not_resumed_into_another_cluster(
    nodes: list[NodeProcess], fresh_nodes: list[NodeProcess], tmp_path: Path, cluster: ClusterSettings
) -> None:
    path = write_csv(tmp_path / "edges.csv", random_edges(20_000, 500))
    command = ("import", path, *MAP, "--time-column", 3)
    topology = two_instance_topology(nodes)
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    async with running_service(tmp_path / "one", cluster, topology) as service:
        cli = CommandLine(service.target, tmp_path / "state")
        await cli.run_until(
            lambda: lines_acknowledged(cli) > 1, signal.SIGINT, *command, "--batch", 1, "--concurrency", 1
        )
    other = cluster.model_copy(update={"id": "d" * 32})
    await empty_and_claim_all(fresh_nodes, other)
    async with running_service(tmp_path / "two", other, two_instance_topology(fresh_nodes)) as service:
        done = await CommandLine(service.target, cli.folder).run(*command, "--json")
        assert (done.code, done.json["rows"]) == (0, 20_000)
        assert "resuming" not in done.err
    async with running_service(tmp_path / "three", cluster, topology) as service:
        done = await CommandLine(service.target, cli.folder).run(*command, "--json")
        assert "resuming" in done.err  # at another address, but the same cluster
        assert states(cli) == []


async def test_rejects_never_go_into_the_file_that_is_imported(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    content = "bad,1\n" + "".join(f"{n},{n + 1}\n" for n in range(50_000))
    path.write_text(content)
    done = await cli.run("import", path, *MAP, "--rejects", path, "--json")
    assert done.code == 2
    assert "is the file that is imported" in done.json["error"]
    assert path.read_text() == content
    assert states(cli) == []


async def test_of_a_mutual_row_at_the_limit_it_is_told_what_is_written(
    nodes: list[NodeProcess], tmp_path: Path, cluster: ClusterSettings
) -> None:
    limits = LimitSettings(max_followed_users=1)
    async with running_service(tmp_path, cluster, two_instance_topology(nodes), limits=limits) as service:
        cli = CommandLine(service.target, tmp_path / "state")
        path = tmp_path / "edges.csv"
        path.write_text("1,2\n1,3\n")
        done = await cli.run("import", path, *MAP, "--mutual", "--json")
        assert (done.code, done.json["edges"], done.json["rejected"]) == (1, 3, 1)
        assert "line 2: FOLLOW_LIMIT: refused by the service: follower 1, followee 3: " in done.err
        assert "(the other direction is written)" in done.err


async def test_standard_input_that_is_closed_is_told(cli: CommandLine) -> None:
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        'exec "$0" -m graphsvc import - <&-',
        sys.executable,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"GRAPHSVC_TARGET": cli.target},
    )
    _, err = await process.communicate()
    assert (process.returncode, err) == (
        2,
        b"graphsvc: standard input is closed: there is nothing to be read\n",
    )
