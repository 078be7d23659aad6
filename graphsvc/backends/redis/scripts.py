"""The Lua scripts of lua/: each is constants, parts that scripts share, and a file of its own."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from graphsvc.backends.redis.connection import Command
from graphsvc.backends.redis.packed.ids import ShortIds

_FOLDER = files("graphsvc.backends.redis").joinpath("lua")
_PARTS = ("ids", "block", "directory", "index", "edge_list", "each")


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """When blocks split, merge and change form, in rows. Far enough apart that none does so back and forth.

    They may change from version to version: what is stored says itself how large it is.
    """

    head_rows: int = 208
    """A head with more seals its oldest rows."""
    sealed_rows: int = 128
    """Rows sealed at once: as many as fill the allocation that so many need."""
    block_rows: int = 208
    """A sealed block with more is split."""
    pull_below: int = 24
    """A head with fewer takes the newest sealed block back, so that the newest page is one read."""
    merge_below: int = 48
    """A sealed block with fewer looks for a neighbour to merge with."""
    merged_rows: int = 128
    """Two blocks merge if together they have no more."""


class Script:
    """One script; called by its hash (see `Command.with_source`)."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._sha1 = hashlib.sha1(source, usedforsecurity=False).hexdigest()

    def call(self, database: int, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Command:
        """The command that runs the script in a database."""
        return Command(database, ("EVALSHA", self._sha1, len(keys), *keys, *arguments), self._source)


class Scripts:
    """The scripts for the lists of one cluster. All answer with one item a key, in order."""

    def __init__(self, ids: ShortIds, sizes: BlockSizes) -> None:
        shared = library(ids, sizes)
        self.add = Script(shared + _read("add"))
        self.put = Script(shared + _read("put"))
        self.remove = Script(shared + _read("remove"))
        self.find = Script(shared + _read("find"))
        self.page = Script(shared + _read("page"))
        self.drop = Script(shared + _read("drop"))


def library(ids: ShortIds, sizes: BlockSizes) -> bytes:
    """What all scripts begin with: constants and parts."""
    constants = {
        "SHORT_LOCAL_BITS": ids.local_bits,
        "SHORT_TYPE": ids.type_code,
        "HEAD_ROWS": sizes.head_rows,
        "SEALED_ROWS": sizes.sealed_rows,
        "BLOCK_ROWS": sizes.block_rows,
        "PULL_BELOW": sizes.pull_below,
        "MERGE_BELOW": sizes.merge_below,
        "MERGED_ROWS": sizes.merged_rows,
    }
    lines = "".join(f"local {name} = {value}\n" for name, value in constants.items())
    return lines.encode() + b"".join(_read(f"parts/{part}") for part in _PARTS)


def _read(name: str) -> bytes:
    return _FOLDER.joinpath(f"{name}.lua").read_bytes()
