"""Verifying packed lists: a good one has no problem, and every kind of damage is named."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from graphsvc.backends.redis.packed import survey as survey_module
from graphsvc.backends.redis.packed.block import HEAD, INDEXED, LONG, Frame, Separator, Totals, encode_block
from graphsvc.backends.redis.packed.ids import LONG_BYTES, SENTINEL
from graphsvc.backends.redis.packed.keys import Place
from graphsvc.backends.redis.packed.pictures import Directory, Index, Picture, StoredBlock
from graphsvc.backends.redis.packed.survey import MOST_PROBLEMS, Survey
from graphsvc.backends.redis.packed.verification import Problem, check_keys, check_readable
from graphsvc.model.edges import EARLIEST_TIME_US, Cursor
from graphsvc.model.ids import MAX_ID, spread
from tests.packed_lists import KEY, SHORT_IDS, T0, USER, PackedList, block_of, user_edges

EDGES = user_edges(35)
"""Of the long lists: blocks 0, 1 and 2 have ten each, the head has five."""
HEADER, ROW = 12, 11
TWICE = f"id {EDGES[0].id} stands in it twice"

SHORT = PackedList.of(EDGES)
LONG_ONE = PackedList.of(EDGES, 10)
INDEXED_ONE = PackedList.of(EDGES, 10, indexed=True)


def survey_of(packed: PackedList, run: int = 2) -> Survey:
    survey = Survey(SHORT_IDS, newest=100)
    for picture in packed.pictures(run):
        survey.add_run(picture, run)
    survey.finish(picture)
    survey.add_strays([number for number in packed.blocks if number not in survey.numbers], picture)
    return survey


def problems_of(packed: PackedList) -> list[str]:
    survey = survey_of(packed)
    return list(map(str, [*survey.problems.values(), *survey.suspicions.values()]))


def only_picture(packed: PackedList) -> Picture:
    [picture] = packed.pictures(16)
    return picture


@pytest.mark.parametrize("packed", [SHORT, LONG_ONE, INDEXED_ONE, PackedList(None)])
@pytest.mark.parametrize("run", [1, 2, 3, 16])
def test_a_good_list_has_no_problem(packed: PackedList, run: int) -> None:
    survey = survey_of(packed, run)
    assert (survey.problems, survey.suspicions, survey.unchecked) == ({}, {}, {})


def test_extreme_ids_and_times_are_good() -> None:
    edges = [Cursor(EARLIEST_TIME_US, 1), Cursor(EARLIEST_TIME_US, MAX_ID), Cursor(T0, 2)]
    assert problems_of(PackedList(block_of(edges))) == []


def head_with(at: int, by: bytes) -> bytes:
    """The short list's head with other bytes from a place on."""
    assert SHORT.head
    at %= len(SHORT.head)
    return SHORT.head[:at] + by + SHORT.head[at + len(by) :]


def wide_head(edge_id: int) -> bytes:
    return encode_block([Cursor(T0, edge_id)], Place(KEY), Frame(7, LONG_BYTES, 0), SHORT_IDS, 40, HEAD)


NO_ID = "the head has an id that is none"
TRAILING = "the head has rows or other bytes behind the end of its rows"


@pytest.mark.parametrize(
    ("head", "problems"),
    [
        (b"short", ["the head is cut short: 5 bytes"]),
        (head_with(1, b"\0"), ["the head has a header that contradicts itself, or is that of another block"]),
        (head_with(0, b"")[:-1], ["the head has 412 bytes instead of 413"]),
        (block_of(EDGES, 0), ["the head is not the kind of block that belongs there"]),
        (block_of([]), ["the head has no rows"]),
        (head_with(-1, b"x"), [TRAILING]),
        (head_with(HEADER + 3 * ROW, b"\0"), [TRAILING, "the head has a time before the year 2000"]),
        (block_of([Cursor(EARLIEST_TIME_US - 1, 5)]), ["the head has a time before the year 2000"]),
        (block_of(EDGES[::-1]), ["the head has rows out of order"]),
        (block_of([EDGES[0]] * 2), ["the head has rows out of order", TWICE]),
        (wide_head(0), [NO_ID]),
        (wide_head(MAX_ID + 1), [NO_ID]),
        (wide_head((1 << 64) - 1), [NO_ID]),
        (head_with(HEADER + 7, bytes(4)), [NO_ID]),
        (block_of(EDGES, HEAD | INDEXED), ["the head claims an index, which only long lists have"]),
        (block_of(EDGES, HEAD | 0x20), ["the head has flags that mean nothing"]),
    ],
)  # fmt: skip
def test_a_damaged_head_is_named(head: bytes, problems: list[str]) -> None:
    found = problems_of(PackedList(head))
    assert found[: len(problems)] == problems or set(found) >= set(problems)
    assert all(each.startswith(("the head", "id ", "the index")) for each in found)


def with_block(edges: Sequence[Cursor], number: int = 1, flags: int = 0) -> PackedList:
    """The long list with other edges in a block."""
    return replace(
        LONG_ONE, blocks=LONG_ONE.blocks | {number: block_of(edges, flags, place=Place(KEY, number))}
    )


def with_data(data: bytes) -> PackedList:
    """The long list with other bytes in block 1."""
    return replace(LONG_ONE, blocks=LONG_ONE.blocks | {1: data})


GOOD_TOTALS = Totals(30, 3, 3)


def with_head(edges: Sequence[Cursor] = EDGES[30:], totals: Totals = GOOD_TOTALS) -> PackedList:
    """The long list with another head."""
    return replace(LONG_ONE, head=block_of(edges, HEAD | LONG, totals))


def with_entries(*changed: bytes) -> PackedList:
    """The long list with more entries in its directory, or others in place of those after the first."""
    return replace(LONG_ONE, entries=[LONG_ONE.entries[0], *changed])


def with_names(add: int | None = None, remove: int | None = None) -> PackedList:
    """The list with an index that has a name more or less."""
    assert INDEXED_ONE.index
    return replace(INDEXED_ONE, index=(INDEXED_ONE.index | {add or SENTINEL}) - {remove})


def without_block(number: int) -> PackedList:
    return replace(LONG_ONE, blocks={at: data for at, data in LONG_ONE.blocks.items() if at != number})


BETWEEN = Cursor(EDGES[20].time_us, EDGES[20].id - 1)
"""Just before block 2 begins."""
NEW = spread(99, USER)
MISCOUNTED = "the head tells a wrong number of edges in sealed blocks"
MISSING_EDGES = f"{MISCOUNTED}: 30, but they have 29"
ENTRIES = LONG_ONE.entries


@pytest.mark.parametrize(
    ("packed", "problems"),
    [
        (without_block(1), ["block 1 is missing"]),
        (with_data(b"x"), ["block 1 is cut short: 1 bytes"]),
        (with_data(LONG_ONE.blocks[1][:-1]), ["block 1 has 137 bytes instead of 138"]),
        (with_block(EDGES[10:20], flags=HEAD), ["block 1 is not the kind of block that belongs there"]),
        (with_block(EDGES[10:20], flags=INDEXED), ["block 1 has flags that only a head has"]),
        (with_block([*EDGES[10:15], *EDGES[19:14:-1]]), ["block 1 has rows out of order"]),
        (with_block(EDGES[10:19]), [MISSING_EDGES]),
        (with_block([*EDGES[10:19], BETWEEN]), []),
        (
            with_block([EDGES[9], *EDGES[11:20]]),
            ["block 1 has rows before its separator", f"id {EDGES[9].id} stands in it twice"],
        ),
        (
            with_block([*EDGES[10:19], EDGES[20]]),
            ["block 1 has rows that belong to block 2 or behind it", f"id {EDGES[20].id} stands in it twice"],
        ),
        (
            with_block([*EDGES[20:29], Cursor(EDGES[30].time_us, NEW)], 2),
            ["block 2 has rows that belong to the head or behind it"],
        ),
        (
            with_block([*EDGES[10:19], Cursor(EDGES[19].time_us, EDGES[3].id)]),
            [f"id {EDGES[3].id} stands in it twice"],
        ),
        (with_head([*EDGES[30:], Cursor(2 * T0, EDGES[3].id)]), [f"id {EDGES[3].id} stands in it twice"]),
        (with_head(totals=Totals(31, 3, 3)), [f"{MISCOUNTED}: 31, but they have 30"]),
        (
            with_head(totals=Totals(30, 2, 3)),
            ["the directory and the head count different numbers of sealed blocks: 3 and 2"],
        ),
        (
            with_head(totals=Totals(30, 3, 2)),
            [
                "the directory names block 2, a number that was never given",
                "the head has totals that cannot be: 30 edges in 3 sealed blocks with numbers below 2",
            ],
        ),
        (replace(LONG_ONE, head=None), ["the head is missing, but there is a directory"]),
        (replace(INDEXED_ONE, head=None), ["the head is missing, but there is a directory and an index"]),
        (replace(LONG_ONE, head=SHORT.head), ["a directory stands beside a short list"]),
        (replace(SHORT, index={SENTINEL}), ["an index stands beside a list that has none"]),
        (replace(LONG_ONE, index={SENTINEL}), ["an index stands beside a list that has none"]),
        (replace(SHORT, blocks={7: LONG_ONE.blocks[1]}), ["block 7 exists, but is not in the directory"]),
        (
            replace(SHORT, head=None, blocks={0: LONG_ONE.blocks[1]}),
            [
                "block 0 exists, but is not in the directory",
                "the head is missing, but there are sealed blocks",
            ],
        ),
        (
            with_entries(ENTRIES[1]),
            [
                "the directory and the head count different numbers of sealed blocks: 2 and 3",
                f"{MISCOUNTED}: 30, but they have 20",
                "block 2 exists, but is not in the directory",
            ],
        ),
        (
            with_entries(ENTRIES[1], ENTRIES[2][:-1]),
            ["the directory has an entry of 18 bytes", "block 2 exists, but is not in the directory"],
        ),
        (
            with_entries(ENTRIES[1], Separator(*EDGES[20], 1).packed()),
            [
                "the directory names block 1 twice",
                f"{MISCOUNTED}: 30, but they have 20",
                "block 2 exists, but is not in the directory",
            ],
        ),
        (
            replace(LONG_ONE, entries=[Separator(1, 0, 0).packed(), *ENTRIES[1:]]),
            ["the directory does not begin with a separator of zero"],
        ),
        (
            with_entries(ENTRIES[1], Separator(*EDGES[10], 2).packed()),
            [
                "block 1 has rows that belong to block 2 or behind it",
                "the directory has block 2 out of order",
            ],
        ),
        (replace(INDEXED_ONE, index=None), ["the index is missing"]),
        (with_names(add=5), ["the index has not one name an edge, and the sentinel: 37 names, 35 edges"]),
        (
            with_names(remove=SHORT_IDS.index_name(EDGES[12].id)),
            [
                f"the index lacks ids of block 1: 1 of 10, as {EDGES[12].id}",
                "the index has not one name an edge, and the sentinel: 35 names, 35 edges",
            ],
        ),
        (
            with_names(remove=SHORT_IDS.index_name(EDGES[33].id), add=5),
            [f"the index lacks ids of the head: 1 of 5, as {EDGES[33].id}"],
        ),
        (
            with_names(remove=SENTINEL, add=5),
            ["the index lacks the sentinel"],
        ),
    ],
)  # fmt: skip
def test_a_damaged_list_is_named_by_its_damage(packed: PackedList, problems: list[str]) -> None:
    assert problems_of(packed) == problems


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"head": StoredBlock(Place(KEY), "list", 99)}, "the head is a list, not a string"),
        ({"directory": Directory("hash", 99)}, "the directory is a hash, not a sorted set"),
        ({"directory": Directory()}, "the directory is missing"),
        ({"directory": Directory("zset", 99, 3, 1)}, "the directory has scores other than 0: 2 of 3"),
        ({"index": Index("string", 99)}, "the index is a string, not a set"),
        (
            {"index": Index("set", 99, "hashtable", 36, sentinel=True)},
            "the index is kept as a hashtable, not as an intset",
        ),
    ],
)
def test_keys_of_a_wrong_sort_are_named(changes: dict[str, object], problem: str) -> None:
    picture = replace(only_picture(INDEXED_ONE), **changes)  # type: ignore[arg-type]
    assert list(map(str, check_keys(picture))) == [problem]


def test_a_block_of_a_wrong_type_is_named_at_first_sight() -> None:
    picture = only_picture(LONG_ONE)
    blocks = {**picture.blocks, 1: StoredBlock(Place(KEY, 1), "zset", 99)}
    assert [str(each) for each in check_readable(replace(picture, blocks=blocks))] == [
        "block 1 is a zset, not a string"
    ]


def test_the_count_is_not_judged_where_blocks_cannot_be_read() -> None:
    survey = survey_of(without_block(1))
    assert list(survey.unchecked) == [
        "the number of edges in sealed blocks that the head tells: not all of them can be read"
    ]


def test_a_wrong_count_is_the_same_suspicion_only_where_the_same_was_read() -> None:
    lying = with_head(totals=Totals(31, 3, 3))
    [first], [second] = survey_of(lying).suspicions, survey_of(lying).suspicions
    assert first == second
    moved = with_block([*EDGES[10:19], BETWEEN])
    [third] = survey_of(replace(moved, head=lying.head)).suspicions
    assert third != first


def test_a_block_that_came_while_its_run_was_read_is_no_problem() -> None:
    picture = only_picture(LONG_ONE)
    blocks = {number: stored for number, stored in picture.blocks.items() if number != 1}
    survey = Survey(SHORT_IDS, newest=100)
    survey.add_run(replace(picture, blocks=blocks), 16)
    survey.finish(picture)
    assert survey.problems == {}
    assert [problem.what for problem in survey.suspicions.values()] == [MISCOUNTED]


def test_ids_of_a_very_long_list_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "MOST_IDS", 24)
    survey = survey_of(with_block([*EDGES[10:19], Cursor(EDGES[19].time_us, EDGES[3].id)]))
    assert survey.suspicions == {
        f"id {EDGES[3].id} stands in it twice": Problem(f"id {EDGES[3].id} stands in it twice")
    }  # found before there were too many
    assert list(survey.unchecked) == ["whether an id stands in it twice: it has more than 24 edges"]


def test_a_very_damaged_list_has_bounded_problems() -> None:
    edges = user_edges(1_001)
    packed = PackedList.of(edges, 5)
    assert len(packed.blocks) == 200
    assert len(problems_of(replace(packed, blocks={}))) == MOST_PROBLEMS
