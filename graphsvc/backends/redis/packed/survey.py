"""A survey: what one reading of a whole list found, run by run. Decisions only, no I/O."""

from collections import deque
from collections.abc import Hashable, Iterable

from graphsvc.backends.redis.packed.block import Block, Damage, Separator, decode_separator
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import HEAD_NAME, block_name
from graphsvc.backends.redis.packed.pictures import NO_KEY, Picture, StoredBlock, numbers_in
from graphsvc.backends.redis.packed.verification import (
    Problem,
    Rows,
    check_entry,
    check_keys,
    check_names,
    check_place,
    check_rows,
    ids_standing_twice,
)
from graphsvc.model.edges import Cursor

MOST_IDS = 200_000
"""Edges of the longest list of which all ids are kept, to find those that stand in it twice."""
MOST_PROBLEMS = 100


class Survey:
    """Is given the pictures of a list's runs, the oldest first, and then what else there is."""

    def __init__(self, ids: ShortIds, newest: int) -> None:
        """`newest` sealed blocks are kept, to be shown."""
        self._ids = ids
        self._seen_ids: set[int] | None = set()
        self._last_entry: bytes | None = None
        self._unread = False
        self._content = 0
        self._edges = 0
        self.problems: dict[str, Problem] = {}
        """By what they are; at most `MOST_PROBLEMS`, and so of the suspicions."""
        self.suspicions: dict[Hashable, Problem] = {}
        """Problems that may only be seen because the list changed; those of another survey have the same keys
        if they are the same."""
        self.unchecked: dict[str, None] = {}
        """What could not be verified, and why; in order."""
        self.numbers: set[int] = set()
        """Of the sealed blocks in the directory."""
        self.newest: deque[StoredBlock] = deque(maxlen=newest)
        self.oldest: StoredBlock | None = None
        self.memory = 0
        """Bytes of all sealed blocks."""

    @property
    def very_long(self) -> bool:
        """Whether the list has more than `MOST_IDS` edges."""
        return self._seen_ids is None

    def add_run(self, picture: Picture, length: int) -> None:
        """A run of sealed blocks: those of the picture's first entries, so many.

        The entry behind them bounds the last one; where there is none, that is the newest, and bounded by
        the head.
        """
        head = picture.readable_head()
        if head is not None and not head.long:  # what stands in a directory then is not of the list
            self.numbers.update(numbers_in(picture.entries))
            return
        for at, entry in enumerate(picture.entries[:length]):
            self._note(check_entry(entry, self._last_entry, head.totals.next if head else None))
            self._last_entry = entry
            separator = _separator(entry)
            if separator is None:
                self._unread = True
            elif separator.number in self.numbers:
                self._suspect(Problem(f"the directory names {block_name(separator.number)} twice"))
            else:
                self.numbers.add(separator.number)
                self._add_block(picture, separator, *self._end_of(picture, head, at))

    def add_strays(self, numbers: Iterable[int], picture: Picture) -> None:
        """Sealed blocks that exist, and are not in the directory."""
        for number in numbers:
            self._suspect(Problem(f"{block_name(number)} exists, but is not in the directory"))
            if picture.head.type == NO_KEY:
                self._suspect(Problem(f"{HEAD_NAME} is missing, but there are sealed blocks"))

    def finish(self, picture: Picture) -> None:
        """Head, directory and index, as they were with the last run."""
        self._note(check_keys(picture))
        head = picture.readable_head()
        if head is None:
            return
        rows = Rows.of(head, self._ids)
        self._note(check_rows(rows))
        self._note(check_names(rows, picture, self._ids))
        self._note_ids(rows)
        if head.long:
            self._check_count(head, picture)

    def _check_count(self, head: Block, picture: Picture) -> None:
        if self._unread or picture.directory.type != "zset":
            self.unchecked[
                f"the number of edges in sealed blocks that {HEAD_NAME} tells: not all of them can be read"
            ] = None
        elif head.totals.edges != self._edges:
            problem = Problem(
                f"{HEAD_NAME} tells a wrong number of edges in sealed blocks",
                f"{head.totals.edges:,}, but they have {self._edges:,}",
            )
            # Writes may well make the sum wrong in every survey. Two that saw the same saw it at one moment.
            self._suspect(problem, (problem.what, head.totals, self._content))

    def _end_of(self, picture: Picture, head: Block | None, at: int) -> tuple[Cursor | None, str]:
        """Before which edge the rows of the block at an entry end, if known; and what begins there."""
        if at + 1 < len(picture.entries):
            newer = _separator(picture.entries[at + 1])
            return (Cursor(newer.time_us, newer.id), block_name(newer.number)) if newer else (None, "")
        if head is None:
            return None, ""
        [first_id], [first_us] = head.columns(self._ids, 0, 1)
        return Cursor(first_us, first_id), HEAD_NAME

    def _add_block(self, picture: Picture, separator: Separator, end: Cursor | None, newer: str) -> None:
        stored = picture.blocks.get(separator.number)
        self._content = hash((self._content, separator, stored and stored.data))
        if stored is None:  # it came when the others of its run were asked for already
            return
        self.memory += stored.memory
        self.newest.append(stored)
        if len(self.numbers) == 1:
            self.oldest = stored
        try:
            rows = Rows.of(stored.block(), self._ids)
        except Damage as damage:
            self._note([Problem(str(damage))])
            self._unread = True
            return
        self._note(check_rows(rows))
        self._note(check_place(rows, separator, end, newer))
        self._note(check_names(rows, picture, self._ids))
        self._note_ids(rows)
        self._edges += len(rows.raw)

    def _note_ids(self, rows: Rows) -> None:
        seen = self._seen_ids
        if seen is not None and len(seen) + len(rows.raw) > MOST_IDS:
            seen = self._seen_ids = None
            self.unchecked[f"whether an id stands in it twice: it has more than {MOST_IDS:,} edges"] = None
        if seen is not None:
            twice = ids_standing_twice(rows.ids(self._ids), seen)
            for each in twice:
                self._suspect(Problem(f"id {each} stands in it twice"))

    def _note(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            if len(self.problems) < MOST_PROBLEMS:
                self.problems.setdefault(problem.what, problem)

    def _suspect(self, problem: Problem, key: Hashable | None = None) -> None:
        if len(self.suspicions) < MOST_PROBLEMS:
            self.suspicions.setdefault(key or problem.what, problem)


def _separator(entry: bytes) -> Separator | None:
    try:
        return decode_separator(entry)
    except Damage:
        return None
