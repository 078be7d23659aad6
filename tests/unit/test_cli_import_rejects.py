"""Files of rejects: whole after an interruption, and never at the cost of another file."""

import os
import resource
import signal
from pathlib import Path

import pytest

from graphsvc.cli.edge_files.rows import Reject
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.rejects import Rejects, open_rejects
from graphsvc.cli.importing.report import Bar
from graphsvc.cli.importing.state import ImportState, RejectsMark

BAR = Bar(None, None)
HEADER = "line,reason,detail\n"


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("1,2\n")
    return path


@pytest.fixture
def source(edges: Path) -> os.stat_result:
    return edges.stat()


def told(path: Path | None, state: ImportState, source: os.stat_result, *lines: int) -> RejectsMark | None:
    """Reject these lines in one run, and give where its file then is."""
    with open_rejects(path, state, source, BAR) as file:
        rejects = Rejects(BAR, file)
        for line in lines:
            rejects.tell([Reject(line, "SELF_FOLLOW", "a, b")])
        return rejects.mark


def interrupted(path: Path | None, source: os.stat_result, *lines: int) -> ImportState:
    """The state of a run that rejected these lines."""
    state = ImportState(file="x", line=max(lines))
    state.totals.rejected = len(lines)
    state.rejects = told(path, ImportState(file="x"), source, *lines)
    return state


def lines_of(path: Path) -> list[str]:
    first, *rest = path.read_text().splitlines()
    assert first + "\n" == HEADER
    return [line.split(",")[0] for line in rest]


def test_what_was_written_after_the_state_is_written_once(tmp_path: Path, source: os.stat_result) -> None:
    path = tmp_path / "rejects.csv"
    state = interrupted(path, source, 1)
    with path.open("a") as file:
        file.write("2,NOT_A_NUMBER,lost: not acknowledged\n")
    told(path, state, source, 2, 3)
    assert path.read_text() == HEADER + "".join(f'{n},SELF_FOLLOW,"a, b"\n' for n in (1, 2, 3))


def test_a_resumed_run_goes_on_in_the_same_file_also_when_it_is_not_named(
    tmp_path: Path, source: os.stat_result, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rejects.csv"
    state = interrupted(path, source, 1)
    state.rejects = told(None, state, source, 2)
    told(path, state, source, 3)
    assert lines_of(path) == ["1", "2", "3"]
    assert "are not in" not in capsys.readouterr().err


def test_another_file_begins_anew_and_it_is_told_what_it_lacks(
    tmp_path: Path, source: os.stat_result, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    second.write_text(HEADER + "9,OLD,of a former import\n" * 100)
    told(second, interrupted(first, source, 1, 2), source, 3)
    assert (lines_of(first), lines_of(second)) == (["1", "2"], ["3"])
    assert (
        f"2 lines were rejected before line 3 and are not in {second}: --restart" in capsys.readouterr().err
    )


@pytest.mark.parametrize("left", [None, "", HEADER])
def test_a_file_that_lost_its_lines_begins_anew(
    tmp_path: Path, source: os.stat_result, left: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rejects.csv"
    state = interrupted(path, source, 1, 2)
    path.unlink()
    if left is not None:
        path.write_text(left)
    told(path, state, source, 3)
    assert lines_of(path) == ["3"]
    assert "2 lines were rejected before line 3" in capsys.readouterr().err


def test_a_file_first_named_on_resuming_begins_with_its_header(
    tmp_path: Path, source: os.stat_result, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rejects.csv"
    told(path, interrupted(None, source, 1), source, 2)
    assert lines_of(path) == ["2"]
    assert "1 lines were rejected before line 2" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["itself", "dotted", "symlink", "hard link"])
def test_the_file_that_is_imported_is_never_written(
    tmp_path: Path, edges: Path, source: os.stat_result, way: str
) -> None:
    path = {"itself": edges, "dotted": tmp_path / "." / ".." / tmp_path.name / edges.name}.get(way)
    if path is None:
        path = tmp_path / "link"
        (os.symlink if way == "symlink" else os.link)(edges, path)
    with pytest.raises(CommandError, match="is the file that is imported") as failure:
        told(path, ImportState(file="x"), source)
    assert failure.value.code is ExitCode.USAGE
    assert edges.read_text() == "1,2\n"


@pytest.mark.parametrize("resumed", [False, True])
def test_a_file_of_something_else_is_never_written(
    tmp_path: Path, source: os.stat_result, resumed: bool
) -> None:
    path = tmp_path / "precious.csv"
    path.write_text("precious\n" * 100)
    state = ImportState(file="x")
    if resumed:
        state = interrupted(tmp_path / "a.csv", source, 1)
    with pytest.raises(CommandError, match="is no file of rejected lines"):
        told(path, state, source, 2)
    assert path.read_text() == "precious\n" * 100


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full"])
def test_a_device_is_refused(path: str, source: os.stat_result) -> None:
    with pytest.raises(CommandError, match=f"--rejects: {path} is no ordinary file"):
        told(Path(path), ImportState(file="x"), source)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path, source: os.stat_result) -> None:
    with pytest.raises(CommandError, match=r"--rejects: .* can't be written: No such file"):
        told(tmp_path / "no" / "x.csv", ImportState(file="x"), source)


def test_a_full_disk_is_told_and_half_a_line_does_not_count(tmp_path: Path, source: os.stat_result) -> None:
    path = tmp_path / "rejects.csv"
    with open_rejects(path, ImportState(file="x"), source, BAR) as file:
        rejects = Rejects(BAR, file)
        rejects.tell([Reject(1, "SELF_FOLLOW", "x")])
        before = rejects.mark
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        signals = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, limit[1]))
        try:
            with pytest.raises(CommandError, match=r"--rejects: .* can't be written: File too large"):
                rejects.tell([Reject(2, "SELF_FOLLOW", "x")])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, signals)
        assert rejects.mark == before


def test_only_the_first_rejects_are_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    rejects = Rejects(BAR, None)
    rejects.tell([Reject(line, "SELF_FOLLOW", "x") for line in range(1, 21)])
    assert capsys.readouterr().err.count("\n") == 20
    rejects.tell([Reject(21, "SELF_FOLLOW", "x")])
    rejects.tell([Reject(22, "SELF_FOLLOW", "x")])
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--rejects FILE" in err
