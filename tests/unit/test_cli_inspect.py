"""What `graphsvc inspect` prints of a list."""

from graphsvc.cli.inspect import findings_of, table_of, title_of
from graphsvc.v1 import admin_service_pb2 as pb

T0 = 1_700_000_000_000_000
FIRST, SECOND, LAST = (f"2023-11-14T22:13:2{second}.000000Z" for second in range(3))

REBUILD = (
    "all of it is in the following lists, from which a later version rebuilds it; until then restore the "
    "folder of the instance's node from a copy"
)


def key(name: str, part: str, edges: int, begin: int = 0, end: int = 0) -> pb.StoredKey:
    first_us, last_us = (T0 + begin * 1_000_000, T0 + end * 1_000_000) if edges and end else (0, 0)
    return pb.StoredKey(name=name, part=part, bytes=1_000, edges=edges, first_us=first_us, last_us=last_us)


LONG = pb.ListInspection(
    list="following",
    form="long, indexed",
    size=600,
    blocks=4,
    bytes=6_000,
    first_us=T0,
    last_us=T0 + 2_000_000,
    keys=[
        key(">k", "the head", 100, 2, 2),
        key(">k:7", "block 7", 200, 1, 1),
        key(">k:3", "block 3", 200, 1, 1),
        key(">k:d", "the directory", 3),
        key(">k:i", "the index", 601),
    ],
)
SHORT = pb.ListInspection(
    list="followers",
    form="short",
    size=1,
    blocks=1,
    bytes=1_000,
    first_us=T0,
    last_us=T0,
    keys=[key("<k", "the head", 1)],
)


def rows(found: pb.ListInspection, *, blocks: bool = False) -> list[list[str]]:
    return [list(row) for row in table_of(found, blocks=blocks)]


def test_an_empty_list_has_a_title_only() -> None:
    empty = pb.ListInspection(list="followers", form="empty")
    assert title_of(empty) == "followers: empty"
    assert rows(empty) == []
    assert list(findings_of(empty)) == []


def test_a_short_list_is_one_line() -> None:
    assert title_of(SHORT) == "followers: short, 1 edge in 1 block, 1000.0 bytes an edge"
    assert [row[:4] for row in rows(SHORT)] == [["<k", "the head", "1,000", "1"]]


def test_sealed_blocks_of_a_long_list_stand_on_one_line() -> None:
    assert title_of(LONG) == "following: long, indexed, 600 edges in 4 blocks, about 10.0 bytes an edge"
    assert rows(LONG) == [
        [">k", "the head", "1,000", "100", LAST, LAST],
        [">k:N", "3 sealed blocks", "3,000", "500", FIRST, SECOND],
        [">k:d", "the directory", "1,000", "3", "", ""],
        [">k:i", "the index", "1,000", "601", "", ""],
        ["", "all", "6,000", "600", FIRST, LAST],
    ]


def test_blocks_are_listed_when_asked_for_and_those_that_were_not_told_are_counted() -> None:
    assert rows(LONG, blocks=True) == [
        [">k", "the head", "1,000", "100", LAST, LAST],
        [">k:7", "block 7", "1,000", "200", SECOND, SECOND],
        [">k:3", "block 3", "1,000", "200", SECOND, SECOND],
        ["", "1 older block", "", "", "", ""],
        [">k:d", "the directory", "1,000", "3", "", ""],
        [">k:i", "the index", "1,000", "601", "", ""],
        ["", "all", "6,000", "600", FIRST, LAST],
    ]


def test_bytes_are_exact_where_all_blocks_were_told_or_checked() -> None:
    for changes in (pb.ListInspection(blocks=3), pb.ListInspection(checked=True)):
        exact = pb.ListInspection()
        exact.CopyFrom(LONG)
        exact.MergeFrom(changes)
        assert title_of(exact).endswith("blocks, 10.0 bytes an edge")


def test_damage_is_a_line_each_and_what_to_do() -> None:
    damaged = pb.ListInspection(
        list="followers", form="long", checked=True, problems=["block 3 is missing", "so is block 4"],
        unchecked=["the rest"],
    )  # fmt: skip
    assert list(findings_of(damaged)) == [
        "damaged: block 3 is missing",
        "damaged: so is block 4",
        f"what to do: {REBUILD}",
        "not checked: the rest",
    ]
    damaged.list = "following"
    assert "what to do: restore the folder of the instance's node from a copy" in findings_of(damaged)


def test_a_good_list_is_told_so_only_as_far_as_it_was_checked() -> None:
    good = pb.ListInspection(list="followers", form="long", checked=True)
    assert list(findings_of(good)) == ["checked: all of it is as it should be"]
    good.unchecked.append("the rest")
    assert list(findings_of(good)) == ["not checked: the rest", "checked: no damage found"]
    good.checked = False
    assert list(findings_of(good)) == ["not checked: the rest"]
