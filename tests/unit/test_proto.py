"""The checks on proto/ bite: what they are there to refuse, they refuse."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).parent / "buf"
SERVICE = "graphsvc/v1/follower_graph_service.proto"


@pytest.fixture
def proto(tmp_path: Path) -> Path:
    """A copy of proto/, to be spoilt."""
    return shutil.copytree(ROOT / "proto", tmp_path / "proto")


def buf(proto: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"BUF_CACHE_DIR": str(proto.parent / "cache")}
    return subprocess.run(
        [BUF, *arguments], cwd=proto, env=environment, capture_output=True, text=True, check=False
    )


def breaking(proto: Path) -> subprocess.CompletedProcess[str]:
    return buf(proto, "breaking", ".", "--against", str(ROOT / "proto/released.binpb"))


def change(file: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, file.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1, f"{pattern} is not in {file.name} any more"
    file.write_text(text)


def test_the_api_as_it_stands_is_clean(proto: Path) -> None:
    for result in (breaking(proto), buf(proto, "lint"), buf(proto, "format", "--diff", "--exit-code")):
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("pattern", "replacement", "complaint"),
    [
        (r"fixed64 followee_id = 2;", "fixed64 followee_id = 9;", '"2" with name "followee_id"'),
        (r"^ *fixed64 followee_id = 2;.*\n", "", '"2" with name "followee_id"'),
        (r"fixed64 followee_id = 2;", "uint64 followee_id = 2;", "changed type"),
        (r"fixed64 followee_id = 2;", "fixed64 followed_id = 2;", 'from "followee_id" to "followed_id"'),
        (r"^ *rpc CheckFollow\(.*\n", "", '"CheckFollow"'),
    ],
)
def test_a_change_that_breaks_callers_is_refused(
    proto: Path, pattern: str, replacement: str, complaint: str
) -> None:
    change(proto / SERVICE, pattern, replacement)
    result = breaking(proto)
    assert result.returncode != 0
    assert complaint in result.stdout


def test_an_added_field_is_no_break(proto: Path) -> None:
    change(proto / SERVICE, r"(fixed64 followee_id = 2;.*)", r"\1\n  string note = 1000;")
    result = breaking(proto)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("pattern", "replacement", "complaint"),
    [
        ("fixed64 followee_id = 2;", "fixed64 followeeId = 2;", "lower_snake_case"),
        ("^service FollowerGraphService", "service FollowerGraph", 'suffixed with "Service"'),
        (r"rpc CheckFollow\(", "rpc check_follow(", "PascalCase"),
    ],
)
def test_a_bad_name_is_refused(proto: Path, pattern: str, replacement: str, complaint: str) -> None:
    change(proto / SERVICE, pattern, replacement)
    result = buf(proto, "lint")
    assert result.returncode != 0
    assert complaint in result.stdout


def test_a_file_out_of_form_is_refused(proto: Path) -> None:
    change(proto / SERVICE, "^  rpc CheckFollow\\(", "      rpc CheckFollow(")
    assert buf(proto, "format", "--diff", "--exit-code").returncode != 0


def test_proto_files_import_nothing_from_outside_the_package() -> None:
    files = sorted((ROOT / "proto").rglob("*.proto"))
    assert files
    for file in files:
        imported = re.findall(r'^import (?:public )?"(.+?)";', file.read_text(), re.MULTILINE)
        assert all(name.startswith("graphsvc/v1/") for name in imported), file


def test_generated_code_is_what_proto_gives() -> None:
    result = subprocess.run([ROOT / "ops/bin/proto", "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
