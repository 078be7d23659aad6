"""What an inspection says of one edge list: how it is stored, and what is wrong with it."""

from enum import StrEnum
from typing import NamedTuple

from graphsvc.model.edges import ListRef


class ListForm(StrEnum):
    """The forms of a list."""

    EMPTY = "empty"
    """No key."""
    SHORT = "short"
    """One block."""
    LONG = "long"
    """A head, sealed blocks and their directory."""
    INDEXED = "long, indexed"
    """The same and an index."""


class StoredKey(NamedTuple):
    """One key of a list."""

    name: str
    part: str
    """What it is: the head, block 7, the directory, the index."""
    bytes: int
    """Of the node's memory, key included."""
    edges: int
    """Edges that it holds (names, of the index)."""
    first_us: int
    """The time of the first edge of a block; 0 of other parts."""
    last_us: int


class ListInspection(NamedTuple):
    """How a list is stored. Where a part is damaged, what could be read of it."""

    list: ListRef
    form: ListForm
    size: int
    """Edges, as the list counts them."""
    blocks: int
    """The head included."""
    bytes: int
    """Of all its keys."""
    first_us: int
    """The time of the oldest edge; 0 of an empty list."""
    last_us: int
    keys: tuple[StoredKey, ...]
    """The head first, then the newest blocks; of a very long list not all of them."""
    checked: bool
    """Whether every part was verified."""
    problems: tuple[str, ...]
    """What is damaged, and how; those of a very damaged list not all."""
    unchecked: tuple[str, ...] = ()
    """What a check left out, and why."""
