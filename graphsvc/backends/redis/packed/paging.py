"""Reading one page of a list with plain commands, and without a lock.

Which blocks a page needs stands in the directory, so it takes two batches of commands. All that the page is
made of comes from the second: the blocks that the first one named, then the head, then the directory's
separators again. Any change that moves an edge to another block changes a separator, and block numbers do not
come again while a list is long; so where the separators are those of the first batch, the blocks and the head
that were read just before them belong together. Else the second batch is repeated with those it found. What
looks damaged may only have changed in that moment, and is read once more in a transaction, which can not.
"""

from collections.abc import Generator, Sequence
from itertools import pairwise

from graphsvc.backends.redis.connection import Command, Reply, ReplyError
from graphsvc.backends.redis.packed.block import (
    Block,
    Damage,
    Separator,
    check_order,
    decode_separator,
    mark_of,
)
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import Place, directory_key, list_key
from graphsvc.model.edges import Cursor, ListRef, Order, Page

Replies = Sequence[Reply]
Reading = Generator[list[Command], Replies, Page]
"""Yields batches of commands, is sent their replies, and returns the page."""

_ROWS_A_BLOCK = 128
"""About what a block holds: for a guess how many are needed."""

_ATTEMPTS = 20
"""Enough for a list that is split and merged just there all the time."""


class ListChanged(Exception):
    """The list changed its blocks each time that it was read."""


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
            ListChanged: it cannot be read, so much is written to it.
            Damage: what was read is no good list.
        """
        if self._newest_first and self._after is None:
            [head_data] = yield [self._get(self._head_key)]
            head = self._head(head_data)
            if head is not None and self._is_in(head):
                return self._page(head, [head], complete=not head.long)
        head_data, *separators = yield [self._get(self._head_key), *self._separator_commands()]
        head = self._head(head_data)
        if head is not None and self._is_in(head):
            return self._page(head, [head], complete=not head.long)
        for _ in range(_ATTEMPTS):
            try:
                page, found = yield from self._read_blocks(separators, together=False)
            except Damage:
                page, found = yield from self._read_blocks(separators, together=True)
            if page is not None:
                return page
            if found == separators:  # right, but too few
                self._separators_at_once *= 2
                found = list((yield self._separator_commands()))
            separators = found
        raise ListChanged

    def _read_blocks(
        self, separators: list[Reply], *, together: bool
    ) -> Generator[list[Command], Replies, tuple[Page | None, list[Reply]]]:
        """The page, if the list still has these separators and they are enough; and those that it has.

        All is read at one moment if `together`; else it may look damaged only because it changed.
        """
        entries = self._decode(separators)
        walked = self._walked(entries)
        commands = [
            *(self._get(Place(self._head_key, each.number).key) for each in walked),
            self._get(self._head_key),
            *self._separator_commands(),
            Command(self._shard, ("ZCARD", self._directory)),
            Command(self._shard, ("ZCOUNT", self._directory, 0, 0)),
        ]
        if together:
            begin, end = Command(self._shard, ("MULTI",)), Command(self._shard, ("EXEC",))
            *_, all_replies = yield [begin, *commands, end]
        else:
            all_replies = yield commands
        *replies, count, scored_0 = all_replies
        datas, head_data, found = replies[: len(walked)], replies[len(walked)], replies[len(walked) + 1 :]
        head = self._head(head_data)
        _check_directory(head, count, scored_0, self._decode(found))
        if head is None:
            return Page([], [], more=False, size=0), found
        if not head.long:
            return self._page(head, [head], complete=True), found
        if found != separators:
            return None, found
        blocks = [self._sealed(data, each) for data, each in zip(datas, walked, strict=True)]
        _check_bounds(head, entries, walked, blocks)
        return self._page_of(head, blocks, complete=len(found[-1]) < self._separators_at_once), found

    def _page_of(self, head: Block, blocks: list[Block], *, complete: bool) -> Page | None:
        """The page out of the head and blocks from the cursor on; None where they are too few."""
        parts = [head, *blocks] if self._newest_first else [*blocks, head] if complete else blocks
        # One row beyond the page tells that more follow; without it there may be nothing left.
        if not complete and sum(map(self._rows_of, parts)) <= self._limit:
            return None
        return self._page(head, parts, complete=complete)

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

    def _separator_commands(self) -> list[Command]:
        """Commands for the separators from the cursor on, in the order of the walk.

        Where there is a cursor, a command before them asks for the separator on its other side: walking on to
        newer edges, that of the block which the cursor is in; to older ones, the end of that block.
        """
        at_once, one = ("LIMIT", 0, self._separators_at_once), ("LIMIT", 0, 1)
        older = ("ZREVRANGEBYLEX", self._directory)
        newer = ("ZRANGEBYLEX", self._directory)
        words: list[tuple[str | bytes | int, ...]]
        if self._after is None:
            words = [(*older, b"+", b"-", *at_once) if self._newest_first else (*newer, b"-", b"+", *at_once)]
        else:
            mark = mark_of(self._after) + b"\xff" * 4
            words = [
                (*older, b"[" + mark, b"-", *(at_once if self._newest_first else one)),
                (*newer, b"(" + mark, b"+", *(one if self._newest_first else at_once)),
            ]
        if self._newest_first:
            words.reverse()
        return [Command(self._shard, each) for each in words]

    def _decode(self, separators: Replies) -> list[Separator]:
        if any(isinstance(each, ReplyError) for each in separators):
            raise Damage("the directory is of a wrong type")
        return [decode_separator(entry) for part in separators for entry in part]

    def _walked(self, entries: list[Separator]) -> list[Separator]:
        """Those whose blocks the page may need: not of the block that ends at the cursor."""
        if self._newest_first and self._after is not None:
            mark = (self._after.time_us, self._after.id)
            return [each for each in entries if (each.time_us, each.id) <= mark]
        return entries

    def _head(self, data: Reply) -> Block | None:
        return None if data is None else _block(data, Place(self._head_key))

    def _sealed(self, data: Reply, separator: Separator) -> Block:
        place = Place(self._head_key, separator.number)
        if data is None:
            raise Damage(f"{place.name} is missing")
        block = _block(data, place)
        if block.time_of(0) < separator.time_us:
            raise Damage(f"{block.part} has edges before its separator")
        return block

    def _is_in(self, head: Block) -> bool:
        """Whether the head alone tells the page."""
        return not head.long or (self._newest_first and self._rows_of(head) >= self._limit)

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


def _check_directory(head: Block | None, count: Reply, scored_0: Reply, entries: list[Separator]) -> None:
    if isinstance(count, ReplyError):
        raise Damage("the directory is of a wrong type")
    if head is None and count:
        raise Damage("the head is missing")
    if head is not None and head.long:
        if count != head.totals.blocks:
            raise Damage(f"the directory names {count} blocks instead of {head.totals.blocks}")
        if scored_0 != count:
            raise Damage("the directory has scores other than 0")
        if not entries:
            raise Damage("the directory has no oldest block")


def _check_bounds(
    head: Block, entries: list[Separator], walked: list[Separator], blocks: list[Block]
) -> None:
    """Refuse blocks that go on beyond the next separator, or beyond where the head begins."""
    ends = {earlier: later.time_us for earlier, later in pairwise(sorted(entries))}
    for entry, block in zip(walked, blocks, strict=True):
        if block.time_of(block.rows - 1) > ends.get(entry, head.time_of(0)):
            raise Damage(f"{block.part} has edges beyond the next separator")


def _block(data: Reply, place: Place) -> Block:
    if isinstance(data, ReplyError):
        raise Damage(f"{place.name} is of a wrong type")
    return Block(data, place)
