"""The state of an import: whole or not at all, and of one file with one way to read it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graphsvc.cli.edge_files.reader import Place
from graphsvc.cli.edge_files.rows import Reject
from graphsvc.cli.exits import CommandError
from graphsvc.cli.importing.delivery import Delivery
from graphsvc.cli.importing.state import ImportState, StateFile, printable


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "graphsvc" / "imports"


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("1,2\n")
    return path


def test_a_state_comes_back_as_it_was_saved(edges: Path) -> None:
    file = StateFile.of(edges, {"cluster": "dev"})
    assert file.load() is None
    state = ImportState(file=str(edges), offset=7, line=2)
    state.totals.add(3, Delivery(edges=2, changed=1), [Reject(1, "SELF_FOLLOW", "")])
    file.save(state)
    loaded = StateFile.of(edges, {"cluster": "dev"}).load()
    assert loaded == state
    assert loaded is not None
    assert loaded.place == Place(7, 2)
    assert loaded.totals.reasons == {"SELF_FOLLOW": 1}


def test_saving_again_replaces_and_leaves_nothing_behind(edges: Path, folder: Path) -> None:
    file = StateFile.of(edges, {})
    for offset in range(3):
        file.save(ImportState(file="x", offset=offset))
    assert [path.name for path in folder.iterdir()] == [file.path.name if file.path else ""]
    file.remove()
    file.remove()
    assert file.load() is None


def test_another_file_or_another_way_to_read_it_has_another_state(edges: Path) -> None:
    first = StateFile.of(edges, {"mutual": False})
    assert StateFile.of(edges, {"mutual": False}).path == first.path
    assert StateFile.of(edges, {"mutual": True}).path != first.path
    os.utime(edges, ns=(1, 1))
    assert StateFile.of(edges, {"mutual": False}).path != first.path


def test_a_damaged_state_is_refused_by_name(edges: Path) -> None:
    file = StateFile.of(edges, {})
    file.save(ImportState(file="x"))
    assert file.path is not None
    file.path.write_text('{"format": 1')
    with pytest.raises(CommandError, match=r"can't be read: begin anew with --restart"):
        file.load()


def test_a_state_that_cannot_be_kept_is_refused_at_once(edges: Path, folder: Path) -> None:
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("in the way")
    with pytest.raises(CommandError, match="XDG_STATE_HOME"):
        StateFile.of(edges, {}).save(ImportState(file="x"))


def test_without_a_path_nothing_is_kept() -> None:
    file = StateFile(None)
    file.save(ImportState(file="-", offset=5))
    assert file.load() is None
    file.remove()


def test_another_cluster_has_another_state(edges: Path) -> None:
    assert StateFile.of(edges, {"cluster_id": "a"}).path != StateFile.of(edges, {"cluster_id": "b"}).path


@pytest.mark.parametrize("name", ["x" * 255, "\u00fc" * 127, "\udcff" * 255])
def test_a_file_of_any_name_has_a_state(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("1,2\n")
    file = StateFile.of(path, {})
    state = ImportState(file=printable(path))
    file.save(state)
    assert file.load() == state


def test_what_a_killed_run_left_goes_with_the_state(edges: Path, folder: Path) -> None:
    file = StateFile.of(edges, {})
    file.save(ImportState(file="x"))
    assert file.path is not None
    file.path.with_name(f"{file.path.name}.4711.tmp").write_text("half")
    other = folder / "other.json.4711.tmp"
    other.write_text("of another import")
    file.remove()
    assert list(folder.iterdir()) == [other]


@pytest.mark.parametrize("use", [StateFile.load, StateFile.remove])
def test_a_folder_that_cannot_be_used_is_told_with_what_to_set(
    edges: Path, folder: Path, use: Callable[[StateFile], object]
) -> None:
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("in the way")
    with pytest.raises(CommandError, match="XDG_STATE_HOME"):
        use(StateFile.of(edges, {}))
