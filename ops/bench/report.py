"""What a benchmark says: progress on standard error, the result as one JSON object on standard output."""

import json
import sys
from collections.abc import Mapping, Sequence


def progress(line: str) -> None:
    """Say what goes on."""
    print(line, file=sys.stderr, flush=True)


def result(values: Mapping[str, str | int | float | Sequence[float]]) -> None:
    """Print the result; nothing may follow it."""
    print(json.dumps(values), flush=True)
