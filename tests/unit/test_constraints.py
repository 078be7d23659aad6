"""ops/constraints.txt pins all that is installed, so that everyone tests the same set."""

import re
from importlib.metadata import distributions
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[2] / "ops/constraints.txt"
NOT_PINNED = {"graphsvc", "pip"}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    named = [line.split("==") for line in lines]
    return {canonical(name): version for name, version in named}


def test_everything_installed_is_pinned_at_its_version() -> None:
    installed = {canonical(each.name): each.version for each in distributions()}
    assert "grpcio" in installed
    pinned = pins()
    assert {
        name: version
        for name, version in installed.items()
        if name not in NOT_PINNED and pinned.get(name) != version
    } == {}


def test_every_pin_is_exact_and_names_no_place() -> None:
    for line in CONSTRAINTS.read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line
