"""`graphsvc import --compare`: what differs, what mends it, and one answer in text, JSON and exit code."""

from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.edge_csv import MAP, NONE, T0, listed, random_edges, write_csv
from tests.services import Service

pytestmark = pytest.mark.parametrize("family", ["valkey"], indirect=True)


@pytest.fixture
def cli(service: Service, tmp_path: Path) -> CommandLine:
    return CommandLine(service.target, tmp_path / "state")


async def test_compare_finds_every_kind_of_difference_on_both_sides(cli: CommandLine, tmp_path: Path) -> None:
    edges = random_edges(2_000, 300)
    path = write_csv(tmp_path / "edges.csv", edges)
    command = ("import", path, *MAP, "--time-column", 3)
    assert (await cli.run(*command)).code == 0
    pairs = list(edges)
    await cli.run("unfollow", *MAP, *pairs[0])
    await cli.run("unfollow", *MAP, *pairs[1])
    await cli.run("follow", *MAP, *pairs[1])
    extra = next((1, n) for n in range(300) if (1, n) not in edges and n != 1)
    await cli.run("follow", *MAP, *extra)
    for passes in (1, 4):
        found = await cli.run(*command, "--compare", "--json", "--passes", passes)
        assert found.code == 1
        assert (
            found.json["following"]
            == found.json["followers"]
            == NONE
            | {
                "missing": 1,
                "extra": 1,
                "later": 1,
            }
        )
        assert found.json["differences"] == 6
        examples = {(each["list"], each["difference"]): each for each in found.json["examples"]}
        a, b = map(str, pairs[0])
        missing = examples["following", "missing"]
        assert (missing["user"], missing["other"], missing["file_us"]) == (a, b, edges[pairs[0]])
        assert (examples["followers", "missing"]["user"], examples["followers", "missing"]["other"]) == (b, a)
        assert examples["following", "later"]["file_us"] == edges[pairs[1]]
        assert examples["followers", "extra"]["other"] == "1"
    text = await cli.run(*command, "--compare", "--ignore-extra")
    assert text.code == 1
    assert f"following of {a}: {b} is missing in the service" in text.out
    assert (
        "lists of followers: 1 missing in the service, 0 only in the service, 1 since later in the service"
        in text.out
    )

    await cli.run("unfollow", *MAP, *extra)
    assert (await cli.run(*command)).code == 0
    assert (await cli.run(*command, "--compare")).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ignore-extra",), "--ignore-extra needs --compare"),
        (("--passes", 2), "--passes needs --compare"),
        (("--compare", "--rejects", "x"), "--rejects goes without --compare"),
        (("--compare", "--restart"), "--restart goes without --compare"),
        (("--compare", "--batch", 10_000), "--batch goes without --compare"),
        (("--time-unit", "s"), "--time-unit: no column of times is found"),
        (("--compare", "--time-unit", "s"), "--time-unit: no column of times is found"),
    ],
)
async def test_options_that_mean_nothing_together_are_refused(
    cli: CommandLine, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("1,2\n")
    done = await cli.run("import", path, *MAP, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert await listed(cli, "following", 1) == {}


async def test_lines_that_cannot_be_read_are_the_reason_told_for_exit_code_1(
    cli: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("1,2\nbad,2\n")
    assert (await cli.run("import", path, *MAP)).code == 1
    compared = await cli.run("import", path, *MAP, "--compare", "--json")
    assert compared.code == 1
    assert (compared.json["equal"], compared.json["differences"], compared.json["rejected"]) == (False, 0, 1)
    assert compared.json["conclusion"].startswith("no difference, but 1 lines could not be read")
    text = await cli.run("import", path, *MAP, "--compare")
    assert text.lines[-1] == compared.json["conclusion"]


async def test_what_an_import_cannot_change_is_told_apart(cli: CommandLine, tmp_path: Path) -> None:
    early, late = tmp_path / "early.csv", tmp_path / "late.csv"
    early.write_text(f"1,2,{T0}\n")
    late.write_text(f"1,2,{T0 + 1}\n")
    command = ("--time-column", 3, *MAP)
    assert (await cli.run("import", early, *command)).code == 0
    assert (await cli.run("import", late, *command)).code == 0
    compared = await cli.run("import", late, *command, "--compare", "--json")
    assert compared.json["following"] == compared.json["followers"] == NONE | {"earlier": 1}
    assert "importing the file again" not in compared.json["conclusion"]
    await cli.run("unfollow", *MAP, 1, 2)
    assert (await cli.run("import", late, *command)).code == 0
    assert (await cli.run("import", late, *command, "--compare")).code == 0
