"""Random histories of edge lists: what callers do, as rules for hypothesis."""

import asyncio
import random
from dataclasses import dataclass

import redis.asyncio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from graphsvc.backends.edge_lists import Addition, EdgeLists, Inverse, Removal
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.ids import MAX_ID
from tests.compared_lists import ComparedLists
from tests.edge_shapes import UNLIMITED, Arrival, IdShape, TimeShape, pick_edges, pick_id, pick_time

ADDED = (ListRef(0, ListKind.FOLLOWING, 0), ListRef(4095, ListKind.FOLLOWING, 0))
PUT = (ListRef(0, ListKind.FOLLOWERS, 0), ListRef(17, ListKind.FOLLOWERS, 0))
LISTS = ADDED + PUT
"""The lists of a history, written with `add` and with `put`; each history has a user of its own."""
MOST_BLOCKS_SEARCHED = 64
WALKS = 4


@dataclass(frozen=True)
class Stage:
    """Where histories happen."""

    runner: asyncio.Runner
    lists: EdgeLists
    client: redis.asyncio.Redis
    ids: ShortIds
    head_keeps: int
    """Edges that a head surely has: among so many newest, one of unknown time is found at once."""
    longest: int
    """Edges that a list may have."""


chances = st.integers(0, 2**32 - 1).map(random.Random)
added_lists, put_lists, all_lists = map(st.sampled_from, (ADDED, PUT, LISTS))
id_shapes, time_shapes = st.sampled_from(IdShape), st.sampled_from(TimeShape)
arrivals, orders = st.sampled_from(Arrival), st.sampled_from(Order)
shares = st.integers(1, 100)
"""Percent of the longest list."""

Draft = tuple[ListRef, IdShape, TimeShape]


def drafts(lists: st.SearchStrategy[ListRef]) -> st.SearchStrategy[list[Draft]]:
    """A batch: which lists, and edges of which shapes."""
    return st.lists(st.tuples(lists, id_shapes, time_shapes), min_size=1, max_size=8)


class Histories(RuleBasedStateMachine):
    """A history of four lists, with walks that stand still while lists change."""

    users = iter(range(1, MAX_ID, 2))

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.compared = ComparedLists(stage.lists, stage.client, stage.ids)
        self.run = stage.runner.run
        self.user = next(self.users)
        self.chance = random.Random(0)

    @rule(batch=drafts(added_lists), chance=chances, room=st.integers(0, 3) | st.just(UNLIMITED))
    def add(self, batch: list[Draft], chance: random.Random, room: int) -> None:
        """Add some edges; lists may be full."""
        edges = self.edges_of(batch, chance)
        limit = max(len(self.compared.standing(ref)) for ref, _, _ in edges) + room
        self.run(self.compared.add([Addition(*each) for each in edges], limit))
        self.check([which for which, _, _ in batch])

    @rule(which=added_lists, shape=id_shapes, chance=chances)
    def add_now(self, which: ListRef, shape: IdShape, chance: random.Random) -> None:
        """Add an edge by the node's clock."""
        ref = self.ref(which)
        self.run(self.compared.add_now(ref, pick_id(shape, chance, self.compared.standing(ref))))

    @rule(batch=drafts(put_lists), chance=chances)
    def put(self, batch: list[Draft], chance: random.Random) -> None:
        """Put some edges, each id once."""
        edges = {(ref, edge_id): time_us for ref, edge_id, time_us in self.edges_of(batch, chance)}
        inverses = [
            Inverse(ref, edge_id, time_us, self.compared.time_of(ref, edge_id))
            for (ref, edge_id), time_us in edges.items()
        ]
        self.run(self.compared.put(inverses))
        self.check([which for which, _, _ in batch])

    @rule(which=put_lists, ids=id_shapes, times=time_shapes, chance=chances)
    def put_untold(self, which: ListRef, ids: IdShape, times: TimeShape, chance: random.Random) -> None:
        """Put an edge that does not stand, or among the newest, without saying so."""
        [(ref, edge_id, time_us)] = self.edges_of([(which, ids, times)], chance)
        former_us = self.compared.time_of(ref, edge_id)
        newest = self.compared.standing(ref)[-self.stage.head_keeps :]
        if not former_us or Cursor(former_us, edge_id) in newest:
            self.run(self.compared.put([Inverse(ref, edge_id, time_us)]))
            self.check([which])

    @rule(batch=drafts(all_lists), chance=chances, tells=st.booleans(), errs=st.booleans())
    def remove(self, batch: list[Draft], chance: random.Random, tells: bool, errs: bool) -> None:
        """Remove some edges, or what never stood."""
        edges = [
            (ref, edge_id, time_us if errs else self.compared.time_of(ref, edge_id))
            for ref, edge_id, time_us in self.edges_of(batch, chance)
        ]
        self.run(self.compared.remove(self.removals(edges, tells)))
        self.check([which for which, _, _ in batch])

    @rule(which=all_lists, share=shares, ids=id_shapes, times=time_shapes, arrival=arrivals, chance=chances)
    def import_edges(
        self,
        which: ListRef,
        share: int,
        ids: IdShape,
        times: TimeShape,
        arrival: Arrival,
        chance: random.Random,
    ) -> None:
        """Add or put many edges."""
        ref = self.ref(which)
        standing = self.compared.standing(ref)
        count = min(self.part(share), self.stage.longest - len(standing))
        edges = pick_edges(count, ids, times, arrival, chance, standing)
        self.write(ref, edges)
        self.check([which])

    @rule(which=all_lists, keeps=st.integers(0, 15), chance=chances, tells=st.booleans())
    def thin_out(self, which: ListRef, keeps: int, chance: random.Random, tells: bool) -> None:
        """Remove edges all over a list, in no order; about so many of 16 stay."""
        standing = self.compared.standing(self.ref(which))
        victims = [each for each in standing if chance.randrange(16) >= keeps]
        self.remove_edges(which, chance.sample(victims, len(victims)), tells)

    @rule(which=all_lists, share=shares, order=orders, tells=st.booleans())
    def remove_from_an_end(self, which: ListRef, share: int, order: Order, tells: bool) -> None:
        """Remove the newest or the oldest edges, one after the other."""
        edges = self.compared.standing(self.ref(which))
        if order is Order.NEWEST_FIRST:
            edges.reverse()
        self.remove_edges(which, edges[: self.part(share)], tells)

    @rule(which=all_lists)
    def drop(self, which: ListRef) -> None:
        """Remove all at once."""
        self.run(self.compared.drop(self.ref(which)))

    @rule()
    def forget_functions(self) -> None:
        """As a restarted node does."""
        self.run(self.forget())

    @precondition(lambda self: len(self.compared.walks) < WALKS)
    @rule(which=all_lists, order=orders)
    def begin_walk(self, which: ListRef, order: Order) -> None:
        """Begin one that others interrupt."""
        self.compared.begin_walk(self.ref(which), order)

    @precondition(lambda self: self.compared.walks)
    @rule(number=st.integers(0, WALKS - 1), step=st.integers(1, 60))
    def go_on(self, number: int, step: int) -> None:
        """One page of a walk."""
        walks = self.compared.walks
        self.run(self.compared.step(walks[number % len(walks)], step))

    @precondition(lambda self: any(walk.after for walk in self.compared.walks))
    @rule(number=st.integers(0, WALKS - 1), chance=chances)
    def change_around_a_cursor(self, number: int, chance: random.Random) -> None:
        """Remove the cursor's edge and some of its neighbours, and bring others there."""
        walks = [walk for walk in self.compared.walks if walk.after]
        walk = walks[number % len(walks)]
        assert walk.after
        time_us, edge_id = walk.after
        near = sorted(self.compared.standing(walk.ref), key=lambda each: abs(each.time_us - time_us))[:8]
        victims = dict.fromkeys([walk.after, *chance.sample(near, len(near) // 2)])
        self.run(self.compared.remove([Removal(walk.ref, each.id, each.time_us) for each in victims]))
        ids = (min(max(1, edge_id + chance.randint(-3, 3)), MAX_ID) for _ in range(chance.randrange(5)))
        self.write(walk.ref, [Cursor(time_us, each) for each in dict.fromkeys(ids)])
        self.check([walk.ref._replace(user_id=0)])

    def teardown(self) -> None:
        """Walks end; lists are walked as a whole and dropped."""
        self.run(self.end())

    async def end(self) -> None:
        """The end of a history."""
        for walk in list(self.compared.walks):
            while walk in self.compared.walks:
                await self.compared.step(walk, 50)
        for which in LISTS:
            for order in Order:
                await self.compared.walk(self.ref(which), order, 37)
            await self.compared.drop(self.ref(which))

    async def forget(self) -> None:
        """The node forgets all functions."""
        await self.stage.client.function_flush()

    def ref(self, which: ListRef) -> ListRef:
        """The list of this history's user."""
        return which._replace(user_id=self.user)

    def part(self, share: int) -> int:
        """Edges."""
        return share * self.stage.longest // 100

    def edges_of(self, batch: list[Draft], chance: random.Random) -> list[tuple[ListRef, int, int]]:
        """Edges of the shapes drafted: list, id and time."""
        edges = []
        for which, ids, times in batch:
            standing = self.compared.standing(self.ref(which))
            edges.append(
                (self.ref(which), pick_id(ids, chance, standing), pick_time(times, chance, standing))
            )
        return edges

    def write(self, ref: ListRef, edges: list[Cursor]) -> None:
        """Add or put edges, each id once."""
        if ref.kind is ListKind.FOLLOWING:
            self.run(self.compared.add([Addition(ref, each.id, each.time_us) for each in edges]))
        else:
            formers = [self.compared.time_of(ref, each.id) for each in edges]
            self.run(
                self.compared.put(
                    [
                        Inverse(ref, each.id, each.time_us, former_us)
                        for each, former_us in zip(edges, formers, strict=True)
                    ]
                )
            )

    def remove_edges(self, which: ListRef, edges: list[Cursor], tells: bool) -> None:
        """Remove edges that stand."""
        removals = self.removals([(self.ref(which), each.id, each.time_us) for each in edges], tells)
        self.run(self.compared.remove(removals))
        self.check([which])

    def removals(self, edges: list[tuple[ListRef, int, int]], tells: bool) -> list[Removal]:
        """Removals that tell the time, or where the edge is surely found without, not."""
        return [
            Removal(ref, edge_id, time_us if tells or not self.is_found_without_time(ref) else 0)
            for ref, edge_id, time_us in edges
        ]

    def is_found_without_time(self, ref: ListRef) -> bool:
        """Whether all blocks of a list are searched, if need be."""
        return ref.kind is ListKind.FOLLOWING or len(self.compared.standing(ref)) <= MOST_BLOCKS_SEARCHED

    def check(self, lists: list[ListRef]) -> None:
        """Compare what can be asked of the lists that were written."""
        for which in dict.fromkeys(lists):
            self.run(self.compared.check(self.ref(which), self.chance))
