"""Edge lists under comparison: a driver and the model are told the same, and must answer alike.

What a driver stored can be checked as well: key by key, by the format, to the byte.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TypeVar

import redis.asyncio

from graphsvc.backends.edge_lists import Added, Addition, EdgeLists, Inverse, Removal
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.edge_list_model import PlainEdgeLists
from tests.edge_shapes import T0, UNLIMITED, IdShape, TimeShape, pick_id, pick_time
from tests.stored_lists import StoredList, keys_of, read_list, shard_client

Answer = TypeVar("Answer")


@dataclass
class Walk:
    """A walk that stands still between its pages."""

    ref: ListRef
    order: Order
    begun_with: list[Cursor]
    after: Cursor | None = None
    more: bool = True
    seen: list[Cursor] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    """Ids that were added, moved or removed since it began."""


@asynccontextmanager
async def compared_lists(
    instance: Instance, cluster: ClusterSettings, sizes: BlockSizes
) -> AsyncIterator["ComparedLists"]:
    """The driver of a node that runs, beside the model."""
    assert instance.primary
    lists = PackedEdgeLists(instance, cluster, RedisSettings(), Metrics(), sizes)
    async with shard_client(instance.primary, instance.first_shard) as client:
        yield ComparedLists(lists, client, ShortIds.of(cluster))
    await lists.close()


class ComparedLists:
    """A driver beside the model. Every method fails where the two differ."""

    def __init__(self, lists: EdgeLists, client: redis.asyncio.Redis, ids: ShortIds) -> None:
        self.lists = lists
        self.client = client
        """Of the driver's node."""
        self.ids = ids
        self.model = PlainEdgeLists()
        self.walks: list[Walk] = []

    def standing(self, ref: ListRef) -> list[Cursor]:
        """The edges of a list, in order."""
        times = self.model.lists[ref].items()
        return sorted(Cursor(time_us, edge_id) for edge_id, all_us in times for time_us in all_us)

    def time_of(self, ref: ListRef, edge_id: int) -> int:
        """The time of an edge, 0 where there is none."""
        return max(self.model.lists[ref].get(edge_id, ()), default=0)

    async def add(self, additions: Sequence[Addition], limit: int = UNLIMITED) -> None:
        """Add edges whose time is told."""
        self._touch(additions)
        await self.agree(lambda lists: lists.add(additions, limit))

    async def add_now(self, ref: ListRef, edge_id: int) -> None:
        """Add an edge whose time the node tells."""
        self._touch([Addition(ref, edge_id, 0)])
        [answer] = await self.lists.add([Addition(ref, edge_id, 0)], UNLIMITED)
        assert isinstance(answer, Added)
        stands_us = self.time_of(ref, edge_id)
        assert stands_us or answer.time_us > T0
        assert answer == Added(changed=not stands_us, time_us=stands_us or answer.time_us)
        await self.model.add([Addition(ref, edge_id, answer.time_us)], UNLIMITED)

    async def put(self, inverses: Sequence[Inverse]) -> None:
        """Put edges, of which each is named once."""
        self._touch(inverses)
        await self.agree(lambda lists: lists.put(inverses))

    async def write(self, ref: ListRef, edges: Sequence[Cursor]) -> None:
        """Add or put edges, each id once, whether it stands or not."""
        if ref.kind is ListKind.FOLLOWING:
            await self.add([Addition(ref, each.id, each.time_us) for each in edges])
        else:
            await self.put(
                [Inverse(ref, each.id, each.time_us, self.time_of(ref, each.id)) for each in edges]
            )

    async def remove_edges(self, ref: ListRef, edges: Sequence[Cursor]) -> None:
        """Remove edges, whose times are told."""
        await self.remove([Removal(ref, each.id, each.time_us) for each in edges])

    async def remove(self, removals: Sequence[Removal]) -> None:
        """Remove edges."""
        self._touch(removals)
        await self.agree(lambda lists: lists.remove(removals))

    async def drop(self, ref: ListRef) -> None:
        """Remove all edges; no key is left."""
        self._touch([Removal(ref, edge.id) for edge in self.standing(ref)])
        await self.agree(lambda lists: lists.drop(ref))
        await self.client.select(ref.shard)
        assert not await keys_of(self.client, ref)

    def begin_walk(self, ref: ListRef, order: Order) -> Walk:
        """A walk that has seen nothing yet."""
        self.walks.append(Walk(ref, order, self.standing(ref)))
        return self.walks[-1]

    async def step(self, walk: Walk, limit: int) -> None:
        """The next page of a walk. At its end all that nobody touched was seen once, in order."""
        page = await self.agree(lambda lists: lists.page(walk.ref, walk.order, walk.after, limit))
        walk.seen += [Cursor(*each) for each in zip(page.times_us, page.ids, strict=True)]
        walk.after = walk.seen[-1] if walk.seen else None
        if not page.more:
            self.walks.remove(walk)
            untouched = [each for each in walk.begun_with if each.id not in walk.touched]
            if walk.order is Order.NEWEST_FIRST:
                untouched.reverse()
            assert [each for each in walk.seen if each.id not in walk.touched] == untouched

    async def walk(self, ref: ListRef, order: Order, step: int) -> None:
        """A whole list, page by page."""
        walk = self.begin_walk(ref, order)
        while walk in self.walks:
            await self.step(walk, step)

    async def check(self, ref: ListRef, chance: random.Random) -> StoredList:
        """Ask all that can be asked of a list, some of it at random places; then read what is stored."""
        standing = self.standing(ref)
        asked = [pick_id(shape, chance, standing) for shape in IdShape for _ in range(3)]
        cursors = [None, self._cursor(standing, chance), self._cursor(standing, chance)]
        questions = [
            methodcaller("sizes", [ref, ref._replace(user_id=ref.user_id + 1)]),
            methodcaller("contains", [(ref, asked)]),
            *(methodcaller("time_of", ref, edge_id) for edge_id in asked[:6]),
            *(
                methodcaller("page", ref, order, after, chance.randint(1, 60))
                for order in Order
                for after in cursors
            ),
        ]
        await asyncio.gather(*(self.agree(question) for question in questions))
        return await self.check_stored(ref)

    async def stored(self, ref: ListRef) -> StoredList:
        """What is stored of a list: it is a good one, of the edges that the model has."""
        await self.client.select(ref.shard)
        stored = await read_list(self.client, ref, self.ids)
        assert stored.edges == self.standing(ref)
        return stored

    async def check_stored(self, ref: ListRef) -> StoredList:
        """The same, and an inspection finds it so."""
        stored = await self.stored(ref)
        inspection = await self.lists.inspect(ref, check=True)
        assert inspection.problems == ()
        assert (inspection.form, inspection.size) == (stored.form, len(stored.edges))
        assert inspection.blocks == len(stored.sealed_rows) + (stored.head_rows > 0)
        return stored

    def _cursor(self, standing: Sequence[Cursor], chance: random.Random) -> Cursor:
        """A place between or at edges, or just beside one, or anywhere."""
        shape = chance.choice([TimeShape.BESIDE, TimeShape.BESIDE, TimeShape.APART, TimeShape.ANY])
        return Cursor(
            pick_time(shape, chance, standing), pick_id(chance.choice(list(IdShape)), chance, standing)
        )

    def _touch(self, changes: Sequence[Addition | Inverse | Removal]) -> None:
        for walk in self.walks:
            walk.touched.update(each.id for each in changes if each.list == walk.ref)

    async def agree(self, call: Callable[[EdgeLists], Awaitable[Answer]]) -> Answer:
        """Ask both; what they answer alike."""
        answer, expected = await call(self.lists), await call(self.model)
        assert answer == expected, call
        return answer
