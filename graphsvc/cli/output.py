"""What commands print: tables for people, JSON for programs, times in ISO 8601 UTC."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import typer

_WIDE = 10_000


def iso(time_us: int) -> str:
    """A time of microseconds, as 2024-01-31T12:00:00.000001Z; empty for 0."""
    if not time_us:
        return ""
    seconds, micros = divmod(time_us, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros:06}Z"


def say(line: str) -> None:
    """A line on standard output."""
    typer.echo(line)


def warn(line: str) -> None:
    """A line on standard error."""
    typer.echo(line, err=True)


def put_json(document: Any) -> None:
    """One JSON document on one line of standard output."""
    typer.echo(json.dumps(document, ensure_ascii=False))


def put_table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> None:
    """A table on standard output.

    Args:
        columns: their headings.
        rows: their cells.
        right: headings of the columns to be aligned to the right (numbers).
    """
    # Loaded when a table is printed, not at every start.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in columns:
        table.add_column(heading, justify="right" if heading in right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(str, row))
    # What goes into a pipe is never cut to a width.
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False, markup=False)
    console.print(table)
