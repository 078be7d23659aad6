"""A node dies while edge lists change: what was acknowledged is there, and every list is a good one."""

import asyncio
import random
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from graphsvc.backends.edge_lists import Addition, EdgeLists, Inverse, Removal
from graphsvc.backends.redis.node_config import AOF_FOLDER
from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import TransientError
from graphsvc.model.topology import ClusterSettings
from tests.edge_list_model import PlainEdgeLists
from tests.edge_shapes import UNLIMITED, Arrival, IdShape, TimeShape, pick_edges
from tests.nodes import free_port, server_binary
from tests.packed_nodes import driver_of, start_again
from tests.stored_lists import read_list, shard_client

LISTS = (
    ListRef(0, ListKind.FOLLOWING, 11),
    ListRef(0, ListKind.FOLLOWERS, 11),
    ListRef(4095, ListKind.FOLLOWING, 12),
    ListRef(17, ListKind.FOLLOWERS, 12),
)
BATCH = 20
"""Edges of one change at most."""

Edges = list[Cursor]


async def stored_edges(node: NodeProcess, ref: ListRef, cluster: ClusterSettings) -> Edges:
    """The edges of a list, which is a good one."""
    async with shard_client(node.node, ref.shard) as client:
        return (await read_list(client, ref, ShortIds.of(cluster))).edges


class Change(NamedTuple):
    """One call, about some edges."""

    method: str
    items: tuple[Any, ...]
    more: tuple[Any, ...] = ()
    """Other arguments."""

    async def make(self, lists: EdgeLists) -> Any:
        """Make it; what it answers."""
        return await getattr(lists, self.method)(list(self.items), *self.more)

    def edge_by_edge(self) -> list["Change"]:
        """The same as calls about one edge each."""
        return [self._replace(items=(item,)) for item in self.items]


class History:
    """Changes of one list, one after the other, and what they make of it."""

    def __init__(self, ref: ListRef, chance: random.Random) -> None:
        self.ref = ref
        self.chance = chance
        self.model = PlainEdgeLists()
        self.under_way: Change | None = None
        """What was asked for and not acknowledged."""

    def standing(self) -> Edges:
        """The edges of the list, in order."""
        times = self.model.lists[self.ref].items()
        return sorted(Cursor(time_us, each) for each, all_us in times for time_us in all_us)

    async def go_on(self, lists: EdgeLists) -> list[Edges]:
        """Make the next change, which stays under way where that fails; all that the list was on the way."""
        change = self.under_way = self._next_change()
        answers = await change.make(lists)
        before = dict(self.model.lists[self.ref])
        assert answers == await change.make(self.model)
        self.model.lists[self.ref], self.under_way = before, None
        return await self._states(change)

    async def settle(self, found: Edges) -> None:
        """Accept what a crash left: what was acknowledged, and some of the change that was under way."""
        allowed = [self.standing()]
        if self.under_way is not None:
            allowed += await self._states(self.under_way)
        assert found in allowed
        self.model.lists[self.ref] = {each.id: frozenset([each.time_us]) for each in found}
        self.under_way = None

    async def _states(self, change: Change) -> list[Edges]:
        """What the list becomes, edge by edge."""
        states: list[Edges] = []
        for each in change.edge_by_edge():
            await each.make(self.model)
            states.append(self.standing())
        return states

    def _next_change(self) -> Change:
        """Lists grow until they have many blocks, then shrink; at times nearly nothing is left."""
        chance, edges = self.chance, self.standing()
        if chance.random() < (0.75 if len(edges) < 150 else 0.25) or not edges:
            return self._growth(chance.randint(1, BATCH), edges)
        count = len(edges) - 1 if chance.randrange(20) == 0 else min(len(edges), chance.randint(1, BATCH))
        gone = chance.choice([edges[:count], edges[-count:], chance.sample(edges, count)])
        return Change("remove", tuple(Removal(self.ref, each.id, each.time_us) for each in gone))

    def _growth(self, count: int, standing: Edges) -> Change:
        shape = self.chance.choice([IdShape.USER, IdShape.USER, IdShape.ANY, IdShape.STANDING])
        times, arrival = self.chance.choice(list(TimeShape)), self.chance.choice(list(Arrival))
        edges = pick_edges(count, shape, times, arrival, self.chance, standing)
        if self.ref.kind is ListKind.FOLLOWING:
            return Change(
                "add", tuple(Addition(self.ref, each.id, each.time_us) for each in edges), (UNLIMITED,)
            )
        former = {each.id: each.time_us for each in standing}
        return Change(
            "put",
            tuple(Inverse(self.ref, each.id, each.time_us, former.get(each.id, 0)) for each in edges),
        )


async def change_until_killed(
    node: NodeProcess, lists: EdgeLists, histories: list[History], changes: int
) -> None:
    """Let all histories go on, and kill the node right after so many changes, others under way."""
    left = changes

    async def go_on(history: History) -> None:
        nonlocal left
        try:
            while True:
                await history.go_on(lists)
                left -= 1
                if left == 0:
                    node.kill()
        except TransientError:
            return

    await asyncio.gather(*map(go_on, histories))
    assert left <= 0


async def check_all(
    node: NodeProcess, lists: EdgeLists, histories: list[History], cluster: ClusterSettings
) -> None:
    """Every list is a good one, of what was acknowledged."""
    for history in histories:
        await history.settle(await stored_edges(node, history.ref, cluster))
        page = await lists.page(history.ref, Order.OLDEST_FIRST, None, 1_000)
        assert [Cursor(*each) for each in zip(page.times_us, page.ids, strict=True)] == history.standing()
        assert (await lists.inspect(history.ref, check=True)).problems == ()


async def kill_in_rounds(node: NodeProcess, family: str, cluster: ClusterSettings, rounds: int) -> None:
    """Change, kill, start, compare; again and again on the same data."""
    chance = random.Random(f"killed {rounds}")
    histories = [History(ref, chance) for ref in LISTS]
    for _ in range(rounds):
        async with admin_client(node.node) as client:  # else the last second may be lost
            await client.config_set("appendfsync", "always")
        async with driver_of(node, cluster) as lists:
            await change_until_killed(node, lists, histories, chance.randint(1, 150))
        node = await start_again(node, family)
        async with driver_of(node, cluster) as lists:
            await check_all(node, lists, histories, cluster)


async def test_killed_nodes_have_all_that_was_acknowledged(
    fresh_nodes: list[NodeProcess], family: str, cluster: ClusterSettings
) -> None:
    await kill_in_rounds(fresh_nodes[0], family, cluster, rounds=8)


@pytest.mark.long
@pytest.mark.timeout(1_800)
async def test_many_killed_nodes_have_all_that_was_acknowledged(
    fresh_nodes: list[NodeProcess], family: str, cluster: ClusterSettings
) -> None:
    await kill_in_rounds(fresh_nodes[0], family, cluster, rounds=200)


async def lived_states(node: NodeProcess, cluster: ClusterSettings, changes: int) -> list[list[Edges]]:
    """Change lists one by one; what all of them were, edge by edge."""
    chance = random.Random("cut")
    histories = [History(ref, chance) for ref in LISTS]
    states: list[list[Edges]] = [[[] for _ in LISTS]]
    async with driver_of(node, cluster) as lists:
        for _ in range(changes):
            at = chance.randrange(len(LISTS))
            for edges in await histories[at].go_on(lists):
                states.append([*states[-1][:at], edges, *states[-1][at + 1 :]])
    return states


def cuts_of(log: bytes, count: int) -> list[int]:
    """Where an AOF is cut: anywhere, and as often inside transactions; in order."""
    chance = random.Random("offsets")
    transactions = [match.span() for match in re.finditer(rb"(?s)MULTI\r\n.*?EXEC\r\n", log)]
    assert len(transactions) > 50
    inside = [chance.randrange(*chance.choice(transactions)) for _ in range(count // 2)]
    return sorted([*inside, *(chance.randrange(len(log)) for _ in range(count - len(inside)))])


async def check_cuts(
    node: NodeProcess, family: str, cluster: ClusterSettings, folder: Path, cuts: int
) -> None:
    """A node that finds the beginning of an AOF has the lists as they once were."""
    states = await lived_states(node, cluster, changes=200)
    await node.stop()
    [log] = (node.folder / AOF_FOLDER).glob("*.incr.aof")
    latest = 0
    for offset in cuts_of(log.read_bytes(), cuts):
        copy = folder / f"cut-{offset}"
        shutil.copytree(node.folder / AOF_FOLDER, copy / AOF_FOLDER)
        with (copy / AOF_FOLDER / log.name).open("r+b") as cut:
            cut.truncate(offset)
        again = await NodeProcess.start(server_binary(family), copy, free_port())
        found = [await stored_edges(again, ref, cluster) for ref in LISTS]
        assert found in states[latest:], offset
        latest = states.index(found, latest)
        again.kill()
        await again.ended()
        shutil.rmtree(copy)
    assert latest > len(states) // 2


async def test_an_aof_cut_anywhere_gives_lists_as_they_once_were(
    fresh_nodes: list[NodeProcess], family: str, cluster: ClusterSettings, tmp_path: Path
) -> None:
    await check_cuts(fresh_nodes[0], family, cluster, tmp_path / "cuts", cuts=40)


@pytest.mark.long
@pytest.mark.timeout(1_800)
async def test_an_aof_cut_in_many_places_gives_lists_as_they_once_were(
    fresh_nodes: list[NodeProcess], family: str, cluster: ClusterSettings, tmp_path: Path
) -> None:
    await check_cuts(fresh_nodes[0], family, cluster, tmp_path / "cuts", cuts=1_000)
