"""Reading one page of a list with plain commands, and without a lock.

A page needs the head, a few separators of the directory, and the blocks that they name: two batches of
commands, between and within which the list may change. What makes the parts fit together is that
totals.blocks and totals.next change whenever an edge moves to another block: while both stay, every edge
stays where its separator says, so the parts make a page in which each edge that is neither added nor removed
meanwhile stands once and in its place. Blocks are read before the head that they are laid beside, as the
head's oldest edge only ever gets newer. Where the totals changed, all is read anew.
"""

from collections.abc import Generator, Sequence

from graphsvc.backends.redis.connection import Command, Reply, ReplyError
from graphsvc.backends.redis.packed.block import (
    Block,
    Damage,
    Separator,
    Totals,
    check_order,
    decode_separator,
    mark_of,
)
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import block_key, directory_key, list_key
from graphsvc.model.edges import Cursor, ListRef, Order, Page

Reading = Generator[list[Command], Sequence[Reply], Page]
"""Yields batches of commands, is sent their replies, and returns the page."""

_ROWS_A_BLOCK = 128
"""About what a block holds: for a guess how many are needed."""


_Words = tuple[str | bytes | int, ...]
_NEWEST_FIRST = ("ZREVRANGEBYLEX", b"+", b"-")
_OLDEST_FIRST = ("ZRANGEBYLEX", b"-", b"+")


class ListChanged(Exception):
    """The list changed its blocks while it was read."""


class PageReader:
    """Reads the page of at most `limit` edges after the cursor `after` (None: from the beginning)."""

    def __init__(
        self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int, ids: ShortIds
    ) -> None:
        self._shard = list_ref.shard
        self._head_key = list_key(list_ref)
        self._directory = directory_key(self._head_key)
        self._newest_first = order is Order.NEWEST_FIRST
        self._after = after
        self._limit = limit
        self._ids = ids
        self._separators_at_once = limit // _ROWS_A_BLOCK + 2

    def read(self) -> Reading:
        """Read it.

        Raises:
            ListChanged: read it anew.
            Damage: what was read is no good part of a list. If that is found again, the list is damaged.
        """
        if self._newest_first and self._after is None:
            [head_data] = yield [self._get(self._head_key)]
            head = _head(head_data)
            if head is not None and (not head.long or head.rows >= self._limit):
                return self._page(head, [head], complete=not head.long)
        head, separators, complete = yield from self._read_directory()
        if head is None:
            return Page([], [], more=False, size=0)
        if not head.long or (self._newest_first and self._rows_of(head) >= self._limit):
            return self._page(head, [head], complete=not head.long)
        blocks: list[Block] = []
        while True:
            head = yield from self._read_blocks(separators, blocks, head.totals)
            if complete or sum(map(self._rows_of, blocks)) >= self._limit:
                break
            separators, complete = yield from self._read_more(separators[-1])
        if self._newest_first:
            return self._page(head, [head, *blocks], complete=complete)
        return self._page(head, [*blocks, head] if complete else blocks, complete=complete)

    def _read_directory(
        self,
    ) -> Generator[list[Command], Sequence[Reply], tuple[Block | None, list[bytes], bool]]:
        """The head, and the separators of the page's first blocks; whether no more follow these."""
        head_data, count, *found = yield [
            self._get(self._head_key),
            Command(self._shard, ("ZCARD", self._directory)),
            *(Command(self._shard, words) for words in self._first_separators()),
        ]
        if isinstance(count, ReplyError):
            raise Damage("the directory is of a wrong type")
        head = _head(head_data)
        if head is None and count:
            raise Damage("the head is missing")
        if head is not None and head.long:
            if count != head.totals.blocks:
                raise Damage(f"the directory names {count} blocks instead of {head.totals.blocks}")
            if not found[0] and self._after is not None:
                raise Damage("the directory has no oldest block")
        complete = len(found[-1]) < self._separators_at_once
        return head, [separator for each in found for separator in each], complete

    def _first_separators(self) -> list[_Words]:
        """Commands for the separators from the cursor on."""
        if self._after is None:
            command, begin, end = _NEWEST_FIRST if self._newest_first else _OLDEST_FIRST
            return [(command, self._directory, begin, end, "LIMIT", 0, self._separators_at_once)]
        mark = mark_of(self._after) + b"\xff" * 4
        at_cursor = ("ZREVRANGEBYLEX", self._directory, b"[" + mark, b"-", "LIMIT", 0)
        if self._newest_first:
            return [(*at_cursor, self._separators_at_once)]
        newer = ("ZRANGEBYLEX", self._directory, b"(" + mark, b"+", "LIMIT", 0, self._separators_at_once)
        return [(*at_cursor, 1), newer]

    def _read_more(self, last: bytes) -> Generator[list[Command], Sequence[Reply], tuple[list[bytes], bool]]:
        """The separators that come next; whether no more follow these."""
        command, _, end = _NEWEST_FIRST if self._newest_first else _OLDEST_FIRST
        words = (command, self._directory, b"(" + last, end, "LIMIT", 0, self._separators_at_once)
        [separators] = yield [Command(self._shard, words)]
        if isinstance(separators, ReplyError):
            raise Damage("the directory is of a wrong type")
        return separators, len(separators) < self._separators_at_once

    def _read_blocks(
        self, separators: list[bytes], blocks: list[Block], totals: Totals
    ) -> Generator[list[Command], Sequence[Reply], Block]:
        """Read the blocks of separators into `blocks`, and the head that they are laid beside."""
        entries = [decode_separator(each) for each in separators]
        *datas, head_data = yield [
            *(self._get(block_key(self._head_key, each.number)) for each in entries),
            self._get(self._head_key),
        ]
        head = _head(head_data)
        if head is None or head.totals[1:] != totals[1:]:
            raise ListChanged
        blocks += [_sealed(data, entry) for data, entry in zip(datas, entries, strict=True)]
        return head

    def _page(self, head: Block, parts: Sequence[Block], *, complete: bool) -> Page:
        """Lay the parts, in the order of the walk, one after the other; `complete`: no others follow."""
        found: list[int] = []
        times: list[int] = []
        left_over = False
        step = -1 if self._newest_first else 1
        for part in parts:
            begin, end = self._beyond_cursor(part)
            room = self._limit - len(found)
            left_over = left_over or end - begin > room
            if self._newest_first:
                begin = max(begin, end - room)
            else:
                end = min(end, begin + room)
            part_ids, part_times = part.columns(self._ids, begin, end)
            found += part_ids[::step]
            times += part_times[::step]
        check_order(found[::step], times[::step], "one of its blocks")
        return Page(found, times, more=left_over or not complete, size=head.size)

    def _beyond_cursor(self, block: Block) -> tuple[int, int]:
        """The rows of a block beyond the cursor: the first, and the end."""
        if self._after is None:
            return 0, block.rows
        if self._newest_first:
            return 0, block.position(self._after, self._ids)
        return block.position(Cursor(self._after.time_us, self._after.id + 1), self._ids), block.rows

    def _rows_of(self, block: Block) -> int:
        begin, end = self._beyond_cursor(block)
        return end - begin

    def _get(self, key: bytes) -> Command:
        return Command(self._shard, ("GET", key))


def _head(data: Reply) -> Block | None:
    return None if data is None else _block(data, "the head")


def _sealed(data: Reply, separator: Separator) -> Block:
    part = f"block {separator.number}"
    if data is None:
        raise Damage(f"{part} is missing")
    block = _block(data, part)
    if block.time_of(0) < separator.time_us:
        raise Damage(f"{part} has edges before its separator")
    return block


def _block(data: Reply, part: str) -> Block:
    if isinstance(data, ReplyError):
        raise Damage(f"{part} is of a wrong type")
    return Block(data, part)
