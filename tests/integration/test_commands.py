"""The commands in ops/bin: called from anywhere, and what they do where they cannot set up."""

import os
import shutil
import subprocess
from pathlib import Path

from graphsvc import __version__

ROOT = Path(__file__).parents[2]


def run(
    *command: str | Path, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=os.environ | (environment or {}), capture_output=True, text=True, check=False
    )


def test_a_command_works_from_any_folder_and_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "follow graph"
    link.symlink_to(ROOT / "ops/bin/graphsvc")
    for command in (ROOT / "ops/bin/graphsvc", link):
        result = run(command, "--version", cwd=tmp_path)
        assert (result.returncode, result.stdout) == (0, f"graphsvc {__version__}\n"), result.stderr
    assert list(tmp_path.iterdir()) == [link]


def test_an_interpreter_that_cannot_be_used_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ops", tmp_path / "ops")
    before = sorted(tmp_path.rglob("*"))
    result = run(tmp_path / "ops/bin/dev", cwd=tmp_path, environment={"PYTHON": "/bin/false"})
    assert result.returncode == 1
    assert result.stderr.startswith("graphsvc: needs Python 3.11 or newer, and /bin/false is not")
    assert sorted(tmp_path.rglob("*")) == before
