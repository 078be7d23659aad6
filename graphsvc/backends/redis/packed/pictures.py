"""Pictures of a list: what its keys held at one moment, for inspection.

A picture is one transaction, so whatever writes meanwhile, its parts belong together. It is bounded: of a
long list it has a run of sealed blocks, and of each block's key not more than a block can be long.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graphsvc.backends.redis.connection import Command, Reply, ReplyError
from graphsvc.backends.redis.link import Link
from graphsvc.backends.redis.packed.block import Block, Damage, Separator, decode_separator
from graphsvc.backends.redis.packed.ids import SENTINEL, ShortIds
from graphsvc.backends.redis.packed.keys import (
    Place,
    block_key,
    directory_key,
    index_key,
    list_key,
)
from graphsvc.model.edges import ListRef

NO_KEY = "none"
"""The type of a key that does not exist, as TYPE says it."""

_LONGEST_BLOCK = 0xFFFF
_NAMES_A_COMMAND = 1_000
_KEYS_A_COMMAND = 500
_SAMPLES = 1_000
"""Entries that a node looks at to tell the memory of a large key: all of what is not very large."""

Words = tuple[str | bytes | int, ...]


class StoredBlock(NamedTuple):
    """A key where a block belongs."""

    place: Place
    type: str = NO_KEY
    memory: int = 0
    """Bytes of the node's, key included."""
    data: bytes = b""
    """One byte more than any block has, where the key is longer."""

    def block(self) -> Block:
        """The block; raises `Damage` where there is none, or what is there is none."""
        if self.type == NO_KEY:
            raise Damage(f"{self.place.name} is missing")
        if self.type != "string":
            raise Damage(f"{self.place.name} is a {self.type}, not a string")
        return Block(self.data, self.place)


class Directory(NamedTuple):
    """The directory's key."""

    type: str = NO_KEY
    memory: int = 0
    entries: int = 0
    scored_0: int = 0
    """Entries with score 0, as all should be."""


class Index(NamedTuple):
    """The index's key."""

    type: str = NO_KEY
    memory: int = 0
    encoding: str = ""
    names: int = 0
    """The sentinel included."""
    sentinel: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A list, or a run of its sealed blocks, at one moment."""

    head: StoredBlock
    directory: Directory
    index: Index
    entries: Sequence[bytes]
    """Of the directory, in its order: those that were asked for."""
    blocks: Mapping[int, StoredBlock]
    """Sealed blocks by number: those that were asked for."""
    indexed: Mapping[int, bool]
    """Whether the index has the names of ids: of those that were asked for."""

    def readable_head(self) -> Block | None:
        """The head; None where it cannot be read."""
        try:
            return self.head.block()
        except Damage:
            return None


class Reader:
    """Reads one list."""

    def __init__(self, link: Link, list_ref: ListRef, ids: ShortIds) -> None:
        self._link = link
        self._shard = list_ref.shard
        self._ids = ids
        self.head_key = list_key(list_ref)

    async def picture(self, ranges: Sequence[Words], *, with_index: bool = False) -> Picture:
        """A picture with the sealed blocks of ranges of the directory.

        What stands in the directory is known only when it was read, so it is read again together with the
        blocks. Of a list that changes, a block that came in between is not among `blocks`.

        Args:
            ranges: what ZRANGE takes behind the key.
            with_index: whether to look up the ids of head and blocks, where the list has an index.
        """
        directory_only = await self._take(ranges, (), ())
        picture = await self._take(ranges, numbers_in(directory_only.entries), ())
        head = picture.readable_head()
        if with_index and head is not None and head.indexed:
            picture = await self._take(ranges, numbers_in(picture.entries), self._ids_in(picture))
        return picture

    async def existing(self, numbers: Sequence[int]) -> list[int]:
        """Which of these sealed blocks have a key."""
        return [
            number
            for at in range(0, len(numbers), _KEYS_A_COMMAND)
            for number in await self._existing(numbers[at : at + _KEYS_A_COMMAND])
        ]

    async def _existing(self, numbers: Sequence[int]) -> list[int]:
        # One number for many keys, since there are hardly ever any.
        keys = [block_key(self.head_key, number) for number in numbers]
        if (await self._link.run([Command(self._shard, ("EXISTS", *keys))])) == [0]:
            return []
        found = await self._link.run([Command(self._shard, ("EXISTS", key)) for key in keys])
        return [number for number, exists in zip(numbers, found, strict=True) if exists]

    async def _take(self, ranges: Sequence[Words], numbers: Collection[int], ids: Sequence[int]) -> Picture:
        directory, index = directory_key(self.head_key), index_key(self.head_key)
        names = [self._ids.index_name(each) for each in ids]
        commands = [
            *_block_commands(Place(self.head_key)),
            *_directory_commands(directory),
            *_index_commands(index),
        ]
        commands += [("ZRANGE", directory, *words) for words in ranges]
        for number in numbers:
            commands += _block_commands(Place(self.head_key, number))
        for at in range(0, len(names), _NAMES_A_COMMAND):
            commands.append(("SMISMEMBER", index, *names[at : at + _NAMES_A_COMMAND]))
        replies = await self._link.run(
            [Command(self._shard, words) for words in (("MULTI",), *commands, ("EXEC",))]
        )
        answers = iter(replies[-1])
        head = _block(Place(self.head_key), answers)
        directory_found, index_found = _directory(answers), _index(answers)
        entries = list(dict.fromkeys(each for _ in ranges for each in _items(next(answers))))
        blocks = {number: _block(Place(self.head_key, number), answers) for number in numbers}
        return Picture(
            head,
            directory_found,
            index_found,
            entries,
            {number: blocks[number] for number in numbers_in(entries) if number in blocks},
            # An index that is of a wrong type has no names.
            dict(zip(ids, (bool(each) for answer in answers for each in _items(answer)), strict=False)),
        )

    def _ids_in(self, picture: Picture) -> list[int]:
        found: list[int] = []
        for stored in (picture.head, *picture.blocks.values()):
            try:
                found += stored.block().columns(self._ids)[0]
            except Damage:
                continue
        return found


def separators_in(entries: Iterable[bytes]) -> Iterator[Separator]:
    """Entries of a directory, without those that are none."""
    for entry in entries:
        try:
            yield decode_separator(entry)
        except Damage:
            continue


def numbers_in(entries: Iterable[bytes]) -> list[int]:
    """The numbers of the blocks that entries of a directory name, each once."""
    return list(dict.fromkeys(separator.number for separator in separators_in(entries)))


def _block_commands(place: Place) -> list[Words]:
    key = place.key
    return [("TYPE", key), ("MEMORY", "USAGE", key), ("GETRANGE", key, 0, _LONGEST_BLOCK)]


def _directory_commands(key: bytes) -> list[Words]:
    return [
        ("TYPE", key),
        ("MEMORY", "USAGE", key, "SAMPLES", _SAMPLES),
        ("ZCARD", key),
        ("ZCOUNT", key, 0, 0),
    ]


def _index_commands(key: bytes) -> list[Words]:
    return [
        ("TYPE", key),
        ("MEMORY", "USAGE", key, "SAMPLES", _SAMPLES),
        ("OBJECT", "ENCODING", key),
        ("SCARD", key),
        ("SISMEMBER", key, SENTINEL),
    ]


# A key of another type answers some of its commands with an error: its type, which is known, says why.


def _block(place: Place, answers: Iterator[Reply]) -> StoredBlock:
    kind, size, data = next(answers), next(answers), next(answers)
    return StoredBlock(place, kind.decode(), size or 0, data if isinstance(data, bytes) else b"")


def _directory(answers: Iterator[Reply]) -> Directory:
    kind, size = next(answers), next(answers)
    return Directory(kind.decode(), size or 0, _count(next(answers)), _count(next(answers)))


def _index(answers: Iterator[Reply]) -> Index:
    kind, size, encoding = next(answers), next(answers), next(answers)
    return Index(
        kind.decode(),
        size or 0,
        (encoding or b"").decode(),
        _count(next(answers)),
        bool(_count(next(answers))),
    )


def _count(answer: Reply) -> int:
    return 0 if isinstance(answer, ReplyError) else answer


def _items(answer: Reply) -> list[Reply]:
    return [] if isinstance(answer, ReplyError) else answer
