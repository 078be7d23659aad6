"""`bench lists`: what operations on edge lists of all sizes cost a node, on Redis and on Valkey.

All figures are times of commands on the server's side (see command_times.py), taken in rounds: in each, both
families start fresh nodes, build the lists anew and do everything. A figure of a round is the median of
several batches of calls. The result has the medians of the rounds; its ratios are the worst over families,
sizes and places.

- contains50: which of 50 ids, half of them present, a list of followed users holds; beside ZMSCORE.
- page: 50 edges of a list of followers, newest first: the newest as one first asks for them, without cursor,
  and those after cursors in the first page, in the middle and before the last page; beside ZRANGE from there.
- add_newest, add_old, remove: on lists of followers, many of about 100 edges and one of 1,000,000, one call
  an edge, its time known. As many edges are removed as are added, anywhere, so sizes stay; old ones come
  anywhere.
- longest_command: the longest of a stage: while lists of 1,000,000 followers grow in order of time and by
  random old times, one is thinned to a tenth, and both are walked and dropped; while one of 100,000 grows
  newest first; and while a list of 50,000 followed users grows, a tenth of them is unfollowed and the rest
  dropped. Many edges are written as the product writes them, 16 a command. A machine that takes the
  processor away from a server makes commands long that are not: the thread that runs them has a core that the
  benchmark does not use, and of each stage the median of the rounds counts. The longest of each round is
  reported too.

The peers are sorted sets with the same edges in a node with the server's default settings. What both sides
answer is compared with what was written.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from graphsvc.backends.edge_lists import Inverse, Removal
from graphsvc.backends.redis.connection import Command
from graphsvc.model.edges import Cursor, ListKind, Order
from ops.bench.measured_lists import (
    SHARD,
    MeasuredList,
    Sides,
    add_all,
    all_of,
    both_sides,
    check,
    drop,
    new_user_id,
    put_all,
    thin,
    unfollow_some,
    walk_through,
    write_plain,
)
from ops.bench.nodes import FAMILIES
from ops.bench.report import progress, result

FOLLOWING_SIZES = (100, 200, 500, 10_000, 50_000)
SMALL, MIDDLE = 100, 10_000
"""Lists of followers; the largest is an option."""
SMALL_LISTS = 400
"""That changes are spread over, so that each stays small."""
ASKED_IDS = 50
PAGE = 50
BATCHES = 9
READS = 40
"""Calls of a batch."""
CHANGES = SMALL_LISTS
"""Edges that are added in a batch, and removed."""

Figures = dict[str, float]


def run(
    edges: Annotated[int, typer.Option(min=20_000, help="Of the largest lists.")] = 1_000_000,
    rounds: Annotated[
        int, typer.Option(min=1, help="Of everything, 2 to 4 minutes each; the medians count.")
    ] = 3,
) -> None:
    """Measure operations on edge lists, in microseconds of the server, beside plain sorted sets."""
    taken: dict[str, list[Figures]] = {family: [] for family in FAMILIES}
    for number in range(1, rounds + 1):
        for family in FAMILIES:
            with tempfile.TemporaryDirectory(prefix="graphsvc-bench-") as folder:
                figures = asyncio.run(one_round(family, edges, Path(folder)))
            taken[family].append(figures)
            progress(f"round {number}, {family}: longest command {longest_in(figures):.2f} ms")
    result(summary(taken, edges))


def summary(taken: dict[str, list[Figures]], largest: int) -> dict[str, float | list[float]]:
    """The result, of the figures of each family's rounds."""
    medians = {
        family: {name: median(figures[name] for figures in of_rounds) for name in of_rounds[0]}
        for family, of_rounds in taken.items()
    }
    longest = {family: [longest_in(figures) for figures in of_rounds] for family, of_rounds in taken.items()}
    changes = ("add_newest", "add_old", "remove")
    ratios = {f"{name}_ratio_to_sorted_set": to_peer(name, medians) for name in ("contains50", "page")} | {
        f"{name}_ratio_1m_to_100": max(
            figures[f"{name}_us_{largest}"] / figures[f"{name}_us_{SMALL}"] for figures in medians.values()
        )
        for name in changes
    }
    ratios["longest_command_ms"] = max(map(longest_in, medians.values()))
    values: dict[str, float | list[float]] = {name: round(value, 3) for name, value in ratios.items()}
    for family, figures in medians.items():
        values[f"{family}_longest_ms_by_round"] = [round(each, 3) for each in longest[family]]
        values |= {f"{family}_{name}": round(value, 2) for name, value in figures.items()}
    return values


def to_peer(operation: str, medians: dict[str, Figures]) -> float:
    """An operation's worst ratio to its peer, over families, sizes and places."""
    return max(
        value / figures[f"{name}_sorted_set"]
        for figures in medians.values()
        for name, value in figures.items()
        if name.startswith(operation) and f"{name}_sorted_set" in figures
    )


def longest_in(figures: Figures) -> float:
    """Of figures of all stages the longest command, in milliseconds."""
    return max(value for name, value in figures.items() if name.startswith("longest_ms_"))


async def one_round(family: str, largest: int, folder: Path) -> Figures:
    """All figures of one family, on fresh nodes."""
    async with both_sides(family, folder) as sides:
        figures = await measure_following(sides)
        figures |= await measure_followers(sides, largest)
        return figures | await measure_other_orders(sides, largest)


async def measure_following(sides: Sides) -> Figures:
    """Lists of followed users: contains-50 at all sizes; the longest list is unfollowed, then dropped."""
    figures: Figures = {}
    for size in FOLLOWING_SIZES:
        following = MeasuredList.new(ListKind.FOLLOWING, size)
        figures["longest_ms_following_grows"] = await sides.times.longest_ms(add_all(sides, following))
        await write_plain(sides, following)
        figures |= await measure_contains(sides, following)
    unfollowing, dropping = unfollow_some(sides, following), drop(sides, following)
    figures["longest_ms_following_unfollowed"] = await sides.times.longest_ms(unfollowing)
    figures["longest_ms_following_dropped"] = await sides.times.longest_ms(dropping)
    return figures


async def measure_followers(sides: Sides, largest: int) -> Figures:
    """Lists of followers that grew in order of time: pages, changes, dropping the largest as it is."""
    figures: Figures = {}
    for size in (SMALL, MIDDLE, largest):
        followers = MeasuredList.new(ListKind.FOLLOWERS, size)
        growing = put_all(sides, followers.ref, followers.edges)
        figures["longest_ms_grows_in_order"] = await sides.times.longest_ms(growing)
        await write_plain(sides, followers)
        figures |= await measure_pages(sides, followers)
    figures |= await measure_changes(sides, followers, largest)
    walking, dropping = walk_through(sides, followers), drop(sides, followers)
    figures["longest_ms_walked"] = await sides.times.longest_ms(walking)
    figures["longest_ms_dropped"] = await sides.times.longest_ms(dropping)
    return figures


async def measure_other_orders(sides: Sides, largest: int) -> Figures:
    """Lists of followers that grow by random old times, and newest first; the first is then thinned."""
    figures: Figures = {}
    old = MeasuredList.new(ListKind.FOLLOWERS, largest)
    growing = put_all(sides, old.ref, sides.chance.sample(old.edges, largest))
    figures["longest_ms_grows_by_old_times"] = await sides.times.longest_ms(growing)
    reverse = MeasuredList.new(ListKind.FOLLOWERS, largest // 10)
    growing = put_all(sides, reverse.ref, reverse.edges[::-1])
    figures["longest_ms_grows_in_reverse"] = await sides.times.longest_ms(growing)
    figures["longest_ms_thinned"] = await sides.times.longest_ms(thin(sides, old))
    figures["longest_ms_thinned_walked"] = await sides.times.longest_ms(walk_through(sides, old))
    figures["longest_ms_thinned_dropped"] = await sides.times.longest_ms(drop(sides, old))
    return figures


async def measure_contains(sides: Sides, following: MeasuredList) -> Figures:
    """Microseconds of contains-50, half of the ids present, on both sides."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(BATCHES):
        asked: list[list[int]] = []
        expected: list[list[bool]] = []
        for _ in range(READS):
            half = [(edge.id, True) for edge in sides.chance.sample(following.edges, ASKED_IDS // 2)]
            half += [(new_user_id(), False) for _ in half]
            sides.chance.shuffle(half)
            asked.append([each for each, _ in half])
            expected.append([present for _, present in half])
        asking = sides.lists.contains([(following.ref, ids) for ids in asked])
        us, answers = await sides.times.microseconds(asking)
        check(answers, expected)
        ours.append(us / READS)
        commands = [Command(SHARD, ("ZMSCORE", following.plain_key, *ids)) for ids in asked]
        us, replies = await sides.plain_times.microseconds(sides.plain.ask(commands))
        check([[score is not None for score in reply] for reply in replies], expected)
        theirs.append(us / READS)
    return beside(f"contains50_us_{len(following.edges)}", ours, theirs)


def places(followers: MeasuredList) -> dict[str, Sequence[Cursor | None]]:
    """By name of a page the cursors that it is asked for from, one of them a call."""
    newest_first = followers.edges[::-1]
    size = len(newest_first)
    middle = min(size // 2, size - 2 * PAGE)
    return {
        "newest": [None],
        "first": newest_first[:PAGE],
        "middle": newest_first[middle : middle + max(PAGE, size // 10)],
        "last": newest_first[-2 * PAGE : -PAGE],
    }


async def measure_pages(sides: Sides, followers: MeasuredList) -> Figures:
    """Microseconds of a page, by its place, on both sides."""
    size = len(followers.edges)
    figures: Figures = {}
    for place, cursors in places(followers).items():
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(BATCHES):
            asked = sides.chance.choices(cursors, k=READS)
            paging = all_of(
                sides.lists.page(followers.ref, Order.NEWEST_FIRST, cursor, PAGE) for cursor in asked
            )
            us, pages = await sides.times.microseconds(paging)
            ours.append(us / READS)
            commands = [plain_page(followers.plain_key, cursor) for cursor in asked]
            us, replies = await sides.plain_times.microseconds(sides.plain.ask(commands))
            theirs.append(us / READS)
            check([page.ids for page in pages], [list(map(int, reply[::2])) for reply in replies])
            check([len(page.ids) for page in pages], [PAGE] * READS)
        figures |= beside(f"page_us_{place}_{size}", ours, theirs)
    return figures


def plain_page(key: str, after: Cursor | None) -> Command:
    """The same page of a sorted set; no two edges of it are of the same microsecond."""
    begin = f"({after.time_us}" if after else "+inf"
    return Command(SHARD, ("ZRANGE", key, begin, "-inf", "BYSCORE", "REV", "LIMIT", 0, PAGE, "WITHSCORES"))


async def measure_changes(sides: Sides, large: MeasuredList, largest: int) -> Figures:
    """Microseconds of an added and a removed edge, on many small lists and on a large one."""
    small = [
        MeasuredList.new(ListKind.FOLLOWERS, sides.chance.randint(3 * SMALL // 4, 5 * SMALL // 4))
        for _ in range(SMALL_LISTS)
    ]
    for each in small:
        await put_all(sides, each.ref, each.edges)
    taken: dict[str, list[float]] = {}
    for _ in range(BATCHES):
        for size, changed in ((SMALL, small), (largest, [large] * CHANGES)):
            for name, edge in (("add_newest", MeasuredList.newer), ("add_old", MeasuredList.older)):
                us = await microseconds_of_adding(sides, [edge(each, sides.chance) for each in changed])
                taken.setdefault(f"{name}_us_{size}", []).append(us)
                us = await microseconds_of_removing(sides, [each.taken(sides.chance) for each in changed])
                taken.setdefault(f"remove_us_{size}", []).append(us)
    return {name: median(batches) for name, batches in taken.items()}


async def microseconds_of_adding(sides: Sides, edges: Sequence[Inverse]) -> float:
    """Of one edge; each goes in a call of its own."""
    adding = all_of(sides.lists.put([edge]) for edge in edges)
    us, answers = await sides.times.microseconds(adding)
    check(answers, [[True]] * len(edges))
    return us / len(edges)


async def microseconds_of_removing(sides: Sides, edges: Sequence[Removal]) -> float:
    """Of one edge, its time known; each goes in a call of its own."""
    removing = all_of(sides.lists.remove([edge]) for edge in edges)
    us, answers = await sides.times.microseconds(removing)
    check(answers, [[edge.time_us] for edge in edges])
    return us / len(edges)


def beside(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Figures:
    """The medians of both sides."""
    return {name: median(ours), f"{name}_sorted_set": median(theirs)}
