"""Verifying what a picture of a list shows: decisions only, no I/O. block.py has the rules."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import lt
from typing import NamedTuple, Self

from graphsvc.backends.redis.packed.block import (
    HEAD,
    INDEXED,
    LONG,
    OLDEST,
    WIDE_IDS,
    Block,
    Damage,
    Separator,
    decode_separator,
)
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import HEAD_NAME, block_name
from graphsvc.backends.redis.packed.pictures import NO_KEY, Directory, Index, Picture
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor
from graphsvc.model.ids import MAX_ID

_KNOWN_FLAGS = LONG | INDEXED | HEAD | WIDE_IDS | 3
_SHOWN_IDS = 3


class Problem(NamedTuple):
    """Something that is wrong with a list."""

    what: str
    """By which it is known again when the list is read a second time."""
    detail: str = ""
    """Figures, which may be others then."""

    def __str__(self) -> str:
        return f"{self.what}: {self.detail}" if self.detail else self.what


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a block, oldest first. Kept as bytes: there are millions, and their order is the same."""

    block: Block
    raw: list[bytes]
    first: Cursor
    last: Cursor

    @classmethod
    def of(cls, block: Block, ids: ShortIds) -> Self:
        """Cut them."""
        end = block.header + block.rows * block.row
        raw = [block.data[at : at + block.row] for at in range(block.header, end, block.row)]
        first_ids, first_times = block.columns(ids, 0, 1)
        last_ids, last_times = block.columns(ids, block.rows - 1)
        return cls(block, raw, Cursor(first_times[0], first_ids[0]), Cursor(last_times[0], last_ids[0]))

    def ids(self, ids: ShortIds) -> list[int]:
        """Their ids."""
        return self.block.columns(ids)[0]


def check_keys(picture: Picture) -> Iterator[Problem]:
    """Whether head, directory and index belong together."""
    if picture.head.type == NO_KEY:
        others = [
            name
            for name, key in (("a directory", picture.directory), ("an index", picture.index))
            if key.type != NO_KEY
        ]
        if others:
            yield Problem(f"{HEAD_NAME} is missing, but there is {' and '.join(others)}")
        return
    try:
        head = picture.head.block()
    except Damage as damage:
        yield Problem(str(damage))
        return
    yield from _check_totals(head)
    yield from _check_directory(picture.directory, head)
    yield from _check_index(picture.index, head)


def check_readable(picture: Picture) -> Iterator[Problem]:
    """The same, and whether the headers of its sealed blocks are good."""
    yield from check_keys(picture)
    for stored in picture.blocks.values():
        try:
            stored.block()
        except Damage as damage:
            yield Problem(str(damage))


def check_rows(rows: Rows) -> Iterator[Problem]:
    """Whether a block is what the format says, but for its place in the list."""
    block = rows.block
    end = block.header + block.rows * block.row
    yield from _check_form(block)
    # Readers look for the first row that begins with 0 by bisection, and so need not have come across all.
    if 0 in block.data[block.header : end : block.row] or any(block.data[end:]):
        yield Problem(f"{block.part} has rows or other bytes behind the end of its rows")
    ids = [row[block.time_width :] for row in rows.raw]
    if not int.from_bytes(min(ids), "big") or int.from_bytes(max(ids), "big") > MAX_ID:
        yield Problem(f"{block.part} has an id that is none")
    if block.base_us + int.from_bytes(min(rows.raw)[: block.time_width], "big") < EARLIEST_TIME_US:
        yield Problem(f"{block.part} has a time before the year 2000")
    if not all(map(lt, rows.raw, rows.raw[1:])):
        yield Problem(f"{block.part} has rows out of order")


def check_place(rows: Rows, separator: Separator, end: Cursor | None, newer: str) -> Iterator[Problem]:
    """Whether the rows of a sealed block stand where they will be looked for.

    Args:
        rows: of the block.
        separator: of the block.
        end: all rows are before it; None: not known.
        newer: what begins there.
    """
    if rows.first < (separator.time_us, separator.id):
        yield Problem(f"{rows.block.part} has rows before its separator")
    if end is not None and rows.last >= end:
        yield Problem(f"{rows.block.part} has rows that belong to {newer} or behind it")


def check_entry(entry: bytes, before: bytes | None, next_number: int | None) -> Iterator[Problem]:
    """Whether an entry of the directory is a separator, and in its place.

    Args:
        entry: the entry.
        before: the one before; None: this is the first.
        next_number: of the list; None: not known.
    """
    try:
        separator = decode_separator(entry)
    except Damage as damage:
        yield Problem(str(damage))
        return
    begin, name = entry[: len(OLDEST)], block_name(separator.number)
    if before is None and begin != OLDEST:
        yield Problem("the directory does not begin with a separator of zero")
    if before is not None and begin <= before[: len(OLDEST)]:
        yield Problem(f"the directory has {name} out of order")
    if next_number is not None and separator.number >= next_number:
        yield Problem(f"the directory names {name}, a number that was never given")


def check_names(rows: Rows, picture: Picture, ids: ShortIds) -> Iterator[Problem]:
    """Whether the index has all ids of a block, as far as they were looked up."""
    if not picture.indexed or picture.index.type != "set":
        return  # the list has none, or a problem of another kind
    missing = [each for each in rows.ids(ids) if not picture.indexed.get(each, True)]
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN_IDS])) + (" ..." if len(missing) > _SHOWN_IDS else "")
        yield Problem(
            f"the index lacks ids of {rows.block.part}",
            f"{len(missing):,} of {rows.block.rows:,}, as {shown}",
        )


def ids_standing_twice(found: Sequence[int], seen: set[int]) -> list[int]:
    """Ids that are among others already, or twice among themselves; notes all as seen."""
    counted = Counter(found)
    twice = [each for each, times in counted.items() if times > 1 or each in seen]
    seen.update(counted)
    return twice


def _check_form(block: Block) -> Iterator[Problem]:
    if block.form & ~_KNOWN_FLAGS:
        yield Problem(f"{block.part} has flags that mean nothing")
    if block.part != HEAD_NAME and (block.long or block.indexed):
        yield Problem(f"{block.part} has flags that only a head has")
    elif block.indexed and not block.long:
        yield Problem(f"{block.part} claims an index, which only long lists have")


def _check_totals(head: Block) -> Iterator[Problem]:
    totals = head.totals
    if head.long and not 0 < totals.blocks <= min(totals.edges, totals.next):
        yield Problem(
            f"{HEAD_NAME} has totals that cannot be",
            f"{totals.edges:,} edges in {totals.blocks:,} sealed blocks with numbers below {totals.next:,}",
        )


def _check_directory(directory: Directory, head: Block) -> Iterator[Problem]:
    if not head.long:
        if directory.type != NO_KEY:
            yield Problem("a directory stands beside a short list")
    elif directory.type == NO_KEY:
        yield Problem("the directory is missing")
    elif directory.type != "zset":
        yield Problem(f"the directory is a {directory.type}, not a sorted set")
    else:
        if directory.entries != head.totals.blocks:
            yield Problem(
                f"the directory and {HEAD_NAME} count different numbers of sealed blocks",
                f"{directory.entries:,} and {head.totals.blocks:,}",
            )
        if directory.scored_0 != directory.entries:
            yield Problem(
                "the directory has scores other than 0",
                f"{directory.entries - directory.scored_0:,} of {directory.entries:,}",
            )


def _check_index(index: Index, head: Block) -> Iterator[Problem]:
    if not head.indexed:
        if index.type != NO_KEY:
            yield Problem("an index stands beside a list that has none")
    elif index.type == NO_KEY:
        yield Problem("the index is missing")
    elif index.type != "set":
        yield Problem(f"the index is a {index.type}, not a set")
    else:
        if index.encoding != "intset":
            yield Problem(f"the index is kept as a {index.encoding}, not as an intset")
        if not index.sentinel:
            yield Problem("the index lacks the sentinel")
        if index.names != head.size + 1:
            yield Problem(
                "the index has not one name an edge, and the sentinel",
                f"{index.names:,} names, {head.size:,} edges",
            )
