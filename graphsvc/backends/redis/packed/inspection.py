"""Inspecting a list: how it is stored, and whether all of it is as it should be.

A list is read run by run, each run of sealed blocks in one picture with head, directory and index, so what is
seen in it belongs together whatever is written meanwhile. What concerns more than one run (is an id in two of
them, does their sum agree with the head) does not: that is a suspicion, which counts when it is found twice.
"""

from collections.abc import Hashable, Sequence

from graphsvc.backends.redis.link import Link
from graphsvc.backends.redis.packed.block import Damage
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.keys import directory_key, index_key
from graphsvc.backends.redis.packed.pictures import (
    NO_KEY,
    Picture,
    Reader,
    StoredBlock,
    Words,
)
from graphsvc.backends.redis.packed.survey import MOST_PROBLEMS, Survey
from graphsvc.backends.redis.packed.verification import check_readable
from graphsvc.model.edges import ListRef
from graphsvc.model.list_inspection import ListForm, ListInspection, StoredKey

SHOWN_BLOCKS = 100
"""The newest of a list, whose keys an inspection names."""
RUN = 16
"""Sealed blocks of one picture: a millisecond's work for the node, and for this process."""
PASSES = 3
"""Readings at most of a list in which something is suspected; of a very long one 2."""
PROBED_NUMBERS = 1_000
"""Block numbers that are looked for where no head tells how many were given."""
MOST_NUMBERS = 1_000_000
"""Block numbers that are looked for at most."""
_NUMBERS_A_STEP = 5_000


async def inspect_list(link: Link, list_ref: ListRef, ids: ShortIds, *, check: bool) -> ListInspection:
    """How a list is stored.

    With `check` every part of it is verified, in bounded memory and many small steps: a million edges take 1
    to 2 s of this process, and as long again where something is suspected. Without it the head and the newest
    and oldest blocks are read, and the bytes of a list with more blocks are what they would be if all were
    like those.

    Args:
        link: to the list's instance.
        list_ref: the list.
        ids: of the cluster.
        check: whether to verify.

    Raises:
        GraphError: the instance cannot answer. Damage of the list raises nothing.
    """
    reader = Reader(link, list_ref, ids)
    return await (_check(reader, list_ref, ids) if check else _glance(reader, list_ref))


async def _glance(reader: Reader, list_ref: ListRef) -> ListInspection:
    picture = await reader.picture([(0, 0), (-SHOWN_BLOCKS, -1)])
    blocks = list(picture.blocks.values())
    memory = sum(each.memory for each in blocks)
    if len(blocks) < picture.directory.entries:
        memory = memory * picture.directory.entries // max(1, len(blocks))
    return _described(
        list_ref,
        reader.head_key,
        picture,
        blocks[-SHOWN_BLOCKS:],
        blocks[0] if blocks else None,
        memory,
    )._replace(problems=tuple(map(str, check_readable(picture)))[:MOST_PROBLEMS])


async def _check(reader: Reader, list_ref: ListRef, ids: ShortIds) -> ListInspection:
    seen: set[Hashable] = set()
    for number in range(1, PASSES + 1):
        survey, picture = await _survey(reader, ids)
        doubtful = survey.suspicions.keys() - seen
        if not doubtful or (survey.very_long and number > 1):
            break
        seen |= doubtful
    confirmed = [problem for key, problem in survey.suspicions.items() if key not in doubtful]
    unchecked = [
        f"{problem} (seen once, while the list changed)"
        for key, problem in survey.suspicions.items()
        if key in doubtful
    ]
    described = _described(list_ref, reader.head_key, picture, survey.newest, survey.oldest, survey.memory)
    return described._replace(
        checked=True,
        problems=tuple(map(str, [*survey.problems.values(), *confirmed]))[:MOST_PROBLEMS],
        unchecked=(*survey.unchecked, *unchecked),
    )


async def _survey(reader: Reader, ids: ShortIds) -> tuple[Survey, Picture]:
    """One reading of the whole list, and the picture of its last run."""
    survey = Survey(ids, SHOWN_BLOCKS)
    picture = await reader.picture([(0, RUN)], with_index=True)
    survey.add_run(picture, RUN)
    seen = RUN
    while len(picture.entries) > RUN:
        picture = await reader.picture([_run_behind(picture, seen)], with_index=True)
        survey.add_run(picture, RUN)
        seen += RUN
    survey.finish(picture)
    await _find_strays(reader, survey, picture)
    return survey, picture


def _run_behind(picture: Picture, seen: int) -> Words:
    """The range of the directory behind the run of a picture, which itself may be changing."""
    if picture.directory.scored_0 == picture.directory.entries:
        return b"(" + picture.entries[RUN - 1], "+", "BYLEX", "LIMIT", 0, RUN + 1
    # It is not in the order of its entries' bytes, and so can only be counted through.
    return seen, seen + RUN


async def _find_strays(reader: Reader, survey: Survey, picture: Picture) -> None:
    head = picture.readable_head()
    end = head.totals.next if head and head.long else max(survey.numbers, default=0) + PROBED_NUMBERS
    if end > MOST_NUMBERS:
        survey.unchecked[f"whether blocks from {MOST_NUMBERS} on exist that are not in the directory"] = None
        end = MOST_NUMBERS
    for begin in range(0, end, _NUMBERS_A_STEP):
        numbers = range(begin, min(end, begin + _NUMBERS_A_STEP))
        strays = await reader.existing([each for each in numbers if each not in survey.numbers])
        survey.add_strays(strays, picture)


def _described(
    list_ref: ListRef,
    head_key: bytes,
    picture: Picture,
    newest: Sequence[StoredBlock],
    oldest: StoredBlock | None,
    sealed_memory: int,
) -> ListInspection:
    """What a list is like, by its head, directory and index, and the sealed blocks that are known of it."""
    head, directory, index = picture.readable_head(), picture.directory, picture.index
    stored_head = _stored_key(picture.head)
    stored_oldest = _stored_key(oldest) if oldest else stored_head
    keys = [stored_head, *map(_stored_key, reversed(newest))]
    for key, part, memory, entries in (
        (directory_key(head_key), "the directory", directory.memory, directory.entries),
        (index_key(head_key), "the index", index.memory, index.names),
    ):
        keys.append(StoredKey(key.decode(), part, memory, entries, 0, 0))
    return ListInspection(
        list=list_ref,
        form=_form(picture),
        size=head.size if head else 0,
        blocks=(head.totals.blocks if head else directory.entries) + (stored_head.bytes > 0),
        bytes=stored_head.bytes + sealed_memory + directory.memory + index.memory,
        first_us=stored_oldest.first_us,
        last_us=stored_head.last_us,
        keys=tuple(each for each in keys if each.bytes),
        checked=False,
        problems=(),
    )


def _stored_key(stored: StoredBlock) -> StoredKey:
    key, part = stored.place.key.decode(), stored.place.name
    try:
        block = stored.block()
    except Damage:
        return StoredKey(key, part, stored.memory, 0, 0, 0)
    first_us, last_us = block.time_of(0), block.time_of(block.rows - 1)
    return StoredKey(key, part, stored.memory, block.rows, first_us, last_us)


def _form(picture: Picture) -> ListForm:
    head = picture.readable_head()
    if head is not None:
        long, indexed = head.long, head.indexed
    else:
        long, indexed = picture.directory.type != NO_KEY, picture.index.type != NO_KEY
    if long:
        return ListForm.INDEXED if indexed else ListForm.LONG
    return ListForm.EMPTY if picture.head.type == NO_KEY and not indexed else ListForm.SHORT
