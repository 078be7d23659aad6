"""The Lua of lua/ as one function library that the nodes hold: parts, then the operations built on them.

Functions, not EVAL scripts: a library is read once, where a script would make all of its functions anew at
each call, which took longer than what they do (17 of 31 us). The names end with a hash of the source, so that
servers of several versions use one node side by side; an old library that stays behind does no harm.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from graphsvc.backends.redis.connection import Command
from graphsvc.backends.redis.packed.ids import ShortIds

MOST_SEARCHED = 512
"""Sealed blocks that are searched for ids before a call leaves the rest of its keys to another: about a
millisecond's work."""

_FOLDER = files("graphsvc.backends.redis").joinpath("lua")
_PARTS = ("ids", "block", "directory", "index", "edge_list", "each")
_WRITES = ("add", "put", "remove", "drop")
_READS = {"find": "find_time"}


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
    merge_below: int = 72
    """A sealed block with fewer looks for a neighbour to merge with."""
    merged_rows: int = 144
    """Two blocks merge if together they have no more."""


PRODUCT_SIZES = BlockSizes()


class Function:
    """One function of a library."""

    def __init__(self, name: str, library: bytes) -> None:
        self.name = name
        self._library = library

    def call(self, database: int, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Command:
        """The command that runs it in a database."""
        return Command(database, ("FCALL", self.name, len(keys), *keys, *arguments), self._library)


class Functions:
    """The operations on the lists of one cluster. All answer with one item a key, in order."""

    def __init__(self, ids: ShortIds, sizes: BlockSizes) -> None:
        operations = b"".join(_read(name) for name in (*_WRITES, *_READS))
        body = parts(ids, sizes) + operations
        version = hashlib.sha256(body).hexdigest()[:12]
        registrations = [_register(name, name, version, "") for name in _WRITES]
        registrations += [_register(name, lua, version, "'no-writes'") for name, lua in _READS.items()]
        self.library = f"#!lua name=graphsvc_{version}\n".encode() + body + "".join(registrations).encode()
        self.add = Function(f"add_{version}", self.library)
        self.put = Function(f"put_{version}", self.library)
        self.remove = Function(f"remove_{version}", self.library)
        self.drop = Function(f"drop_{version}", self.library)
        self.find = Function(f"find_{version}", self.library)


def parts(ids: ShortIds, sizes: BlockSizes) -> bytes:
    """What the operations are built on: constants and the parts."""
    constants = {
        "SHORT_LOCAL_BITS": ids.local_bits,
        "SHORT_TYPE": ids.type_code,
        "HEAD_ROWS": sizes.head_rows,
        "SEALED_ROWS": sizes.sealed_rows,
        "BLOCK_ROWS": sizes.block_rows,
        "PULL_BELOW": sizes.pull_below,
        "MERGE_BELOW": sizes.merge_below,
        "MERGED_ROWS": sizes.merged_rows,
        "MOST_SEARCHED": MOST_SEARCHED,
    }
    lines = "".join(f"local {name} = {value}\n" for name, value in constants.items())
    return lines.encode() + b"".join(_read(f"parts/{part}") for part in _PARTS)


def _register(name: str, lua: str, version: str, flags: str) -> str:
    arguments = f"function_name = '{name}_{version}', callback = {lua}, flags = {{{flags}}}"
    return f"redis.register_function{{{arguments}}}\n"


def _read(name: str) -> bytes:
    return _FOLDER.joinpath(f"{name}.lua").read_bytes()
