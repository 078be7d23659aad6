"""ops/constraints.txt pins all that an installation brings, so that everyone tests the same set."""

import re
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parents[2] / "ops/constraints.txt"
INSTALLED = ("graphsvc[dev]", "hatchling", "editables")
"""What ops/bin/test asks pip for."""


def pins() -> dict[str, str]:
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    named = [line.split("==") for line in lines]
    return {canonicalize_name(name): pinned for name, pinned in named}


def closure(roots: tuple[str, ...]) -> set[str]:
    """The names of all that the roots need here, themselves included."""
    todo = [Requirement(root) for root in roots]
    seen: set[tuple[str, str]] = set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                needed = map(Requirement, requires(name) or ())
                todo += [each for each in needed if not each.marker or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in seen}


def test_everything_that_is_needed_is_pinned_at_the_version_that_is_here() -> None:
    needed = closure(INSTALLED) - {"graphsvc"}
    assert {"grpcio", "pytest", "buf-bin", "pluggy"} <= needed
    assert {name: version(name) for name in needed} == {name: pins().get(name) for name in needed}


def test_every_pin_is_exact_and_names_no_place() -> None:
    for line in CONSTRAINTS.read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line
