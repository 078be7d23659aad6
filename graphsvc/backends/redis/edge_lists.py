"""Edge lists as packed blocks: the format is in packed/, what writes it in lua/.

Writes are one function call each. Reads are plain commands, which cost the node the least: one GET for the
newest page or the count, one more command for which ids a list holds, a few for any other page.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TypeVar

import structlog

from graphsvc.backends.edge_lists import Added, Addition, Inverse, Removal
from graphsvc.backends.redis.connection import Command, Reply
from graphsvc.backends.redis.functions import PRODUCT_SIZES, BlockSizes, Function, Functions
from graphsvc.backends.redis.identity import IDENTITY_DATABASE, IDENTITY_KEY
from graphsvc.backends.redis.link import Link
from graphsvc.backends.redis.packed.answers import (
    Asked,
    contains_answer,
    contains_commands,
    damage_of,
    size_answer,
    size_commands,
    time_answer,
)
from graphsvc.backends.redis.packed.block import Damage
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.packed.inspection import inspect_list
from graphsvc.backends.redis.packed.keys import list_key
from graphsvc.backends.redis.packed.paging import ListChanged, PageReader
from graphsvc.model.edges import EARLIEST_TIME_US, LATEST_TIME_US, Cursor, ListRef, Order, Page
from graphsvc.model.errors import ListDamaged, ShardUnavailable
from graphsvc.model.ids import MAX_ID
from graphsvc.model.list_inspection import ListInspection
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.logs import OnceASecond
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings

EDGES_A_COMMAND = 16
"""Edges of one command at most, so that none keeps a node busy for long."""

MOST_INDEXED = 65_000
"""Edges that a list with an index can hold: see set-max-intset-entries in node_config.py."""

LOOKED_FOR_IN = 64
"""Of the newest sealed blocks: in these an edge of unknown time is looked for, where there is no index."""

FIND_STEP = 512
"""Blocks of one step of a search."""

DROP_STEP = 64
"""Blocks of one step of a drop."""

Words = tuple[int | bytes, ...]
Answer = TypeVar("Answer")

log = structlog.get_logger()


class PackedEdgeLists:
    """`EdgeLists` of one instance. Reads and writes have a connection each, so no read waits for a write."""

    def __init__(
        self,
        instance: Instance,
        cluster: ClusterSettings,
        settings: RedisSettings,
        metrics: Metrics,
        sizes: BlockSizes = PRODUCT_SIZES,
    ) -> None:
        self._reads = Link(instance, cluster, settings, metrics)
        self._writes = Link(instance, cluster, settings, metrics)
        self._ids = ShortIds.of(cluster)
        self._functions = Functions(self._ids, sizes)
        self._damage_logged = OnceASecond()

    async def add(self, additions: Sequence[Addition], limit: int) -> list[Added | ListDamaged]:
        """See `EdgeLists.add`."""
        replies = await self._write(
            self._functions.add,
            (min(limit, MOST_INDEXED),),
            [
                (each.list, (each.time_us and _checked(each.time_us), _id_bytes(each.id)))
                for each in additions
            ],
        )
        return [
            self._answer(each.list, reply, _added) for each, reply in zip(additions, replies, strict=True)
        ]

    async def put(self, inverses: Sequence[Inverse]) -> list[bool | ListDamaged]:
        """See `EdgeLists.put`."""
        replies = await self._write(
            self._functions.put,
            (),
            [(each.list, (_checked(each.time_us), each.former_us, _id_bytes(each.id))) for each in inverses],
        )
        return [self._answer(each.list, reply, bool) for each, reply in zip(inverses, replies, strict=True)]

    async def remove(self, removals: Sequence[Removal]) -> list[int | ListDamaged]:
        """See `EdgeLists.remove`."""
        replies = await self._write(
            self._functions.remove,
            (LOOKED_FOR_IN,),
            [(each.list, (each.time_us, _id_bytes(each.id))) for each in removals],
        )
        return [self._answer(each.list, reply, int) for each, reply in zip(removals, replies, strict=True)]

    async def contains(
        self, queries: Sequence[tuple[ListRef, Sequence[int]]]
    ) -> list[list[bool] | ListDamaged]:
        """See `EdgeLists.contains`."""
        asked = [contains_commands(list_ref, ids, self._ids) for list_ref, ids in queries]
        answers = await self._ask(
            [list_ref for list_ref, _ in queries],
            asked,
            lambda i, replies: contains_answer(*queries[i], replies, self._ids),
        )
        return [
            await self._search_all(*query) if answer is None else answer
            for query, answer in zip(queries, answers, strict=True)
        ]

    async def time_of(self, list_ref: ListRef, edge_id: int) -> int:
        """See `EdgeLists.time_of`."""
        [time_us] = await self._ask(
            [list_ref],
            [contains_commands(list_ref, [edge_id], self._ids)],
            lambda _, replies: time_answer(list_ref, edge_id, replies, self._ids),
        )
        if isinstance(time_us, ListDamaged):
            raise time_us
        return await self._search(list_ref, edge_id) if time_us is None else time_us

    async def page(self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int) -> Page:
        """See `EdgeLists.page`."""
        reading = PageReader(list_ref, order, after, limit, self._ids).read()
        try:
            commands = next(reading)
            while True:
                commands = reading.send(await self._reads.run(commands))
        except StopIteration as finished:
            page: Page = finished.value
            return page
        except Damage as damage:
            raise self._damaged(list_ref, str(damage)) from None
        except ListChanged:
            raise ShardUnavailable("the list changes too quickly to be read; try again") from None

    async def sizes(self, lists: Sequence[ListRef]) -> list[int | ListDamaged]:
        """See `EdgeLists.sizes`."""
        asked = [size_commands(list_ref) for list_ref in lists]
        return await self._ask(lists, asked, lambda i, replies: size_answer(lists[i], replies))

    async def drop(self, list_ref: ListRef) -> int:
        """See `EdgeLists.drop`."""
        dropped, left = 0, 1
        while left:
            command = self._functions.drop.call(list_ref.shard, [list_key(list_ref)], (DROP_STEP,))
            [[reply]] = await self._writes.run([command])
            removed, left = self._answered(list_ref, reply, tuple)
            dropped += removed
        return dropped

    async def inspect(self, list_ref: ListRef, *, check: bool) -> ListInspection:
        """See `EdgeLists.inspect`."""
        return await inspect_list(self._reads, list_ref, self._ids, check=check)

    async def ping(self) -> None:
        """See `EdgeLists.ping`."""
        # Not PING, which a node refuses while its disk is full, although it answers reads.
        await self._reads.run([Command(IDENTITY_DATABASE, ("EXISTS", IDENTITY_KEY))])

    async def close(self) -> None:
        """See `EdgeLists.close`."""
        await self._reads.close()
        await self._writes.close()

    async def _write(
        self, function: Function, leading: Words, edges: Sequence[tuple[ListRef, Words]]
    ) -> list[Reply]:
        """Run a function on edges, in calls of one shard; one reply an edge, in their order.

        A call leaves edges for another one when it has searched many blocks.
        """
        replies: list[Reply] = [None] * len(edges)
        left: Sequence[int] = sorted(range(len(edges)), key=lambda i: edges[i][0].shard)
        while left:
            chunks = list(_by_shard([edges[i] for i in left]))
            answers = await self._writes.run([_call(function, leading, chunk) for chunk in chunks])
            for i, answer in zip(left, chain.from_iterable(answers), strict=True):
                replies[i] = answer
            left = [i for i in left if replies[i] is None]
        return replies

    async def _read(
        self, function: Function, list_ref: ListRef, arguments: Sequence[bytes | str | int]
    ) -> Reply:
        [[reply]] = await self._reads.run([function.call(list_ref.shard, [list_key(list_ref)], arguments)])
        return self._answered(list_ref, reply, lambda answer: answer)

    async def _ask(
        self,
        lists: Sequence[ListRef],
        asked: Sequence[Asked],
        understand: Callable[[int, Sequence[Reply]], Answer],
    ) -> list[Answer | ListDamaged]:
        """Ask about lists with a few plain commands each.

        A list may change between two of them, or between them and what they leave out. Replies that leave a
        doubt are asked for again, with all there is to know, in one transaction; what is still wrong then is.
        """
        replies = iter(await self._reads.run([command for each in asked for command in each.commands]))
        answers: dict[int, Answer | ListDamaged] = {}
        for i, each in enumerate(asked):
            part = [next(replies) for _ in each.commands]
            with suppress(Damage):
                answers[i] = understand(i, part)
        doubtful = [i for i in range(len(asked)) if i not in answers]
        again = iter(await self._reads.run([command for i in doubtful for command in asked[i].transaction]))
        for i in doubtful:
            *_, whole = (next(again) for _ in asked[i].transaction)
            answers[i] = self._answer(lists[i], whole, partial(understand, i))
        return [answers[i] for i in range(len(asked))]

    async def _search(self, list_ref: ListRef, edge_id: int) -> int:
        bound = b""
        while True:
            arguments = (_id_bytes(edge_id), FIND_STEP, bound)
            time_us, bound = await self._read(self._functions.find, list_ref, arguments)
            if time_us or not bound:
                return int(time_us)

    async def _search_all(self, list_ref: ListRef, ids: Sequence[int]) -> list[bool] | ListDamaged:
        try:
            return [await self._search(list_ref, edge_id) > 0 for edge_id in ids]
        except ListDamaged as damaged:
            return damaged

    def _answered(self, list_ref: ListRef, reply: Reply, understand: Callable[[Reply], Answer]) -> Answer:
        answer = self._answer(list_ref, reply, understand)
        if isinstance(answer, ListDamaged):
            raise answer
        return answer

    def _answer(
        self, list_ref: ListRef, reply: Reply, understand: Callable[[Reply], Answer]
    ) -> Answer | ListDamaged:
        """What a reply means; ListDamaged where it, or what it says, is none of a good list."""
        damage = damage_of(reply)
        if damage is None:
            try:
                return understand(reply)
            except Damage as error:
                damage = str(error)
        return self._damaged(list_ref, damage)

    def _damaged(self, list_ref: ListRef, damage: str) -> ListDamaged:
        passed_over = self._damage_logged.due()
        if passed_over is not None:
            log.error(
                "list damaged",
                shard=list_ref.shard,
                list=list_ref.kind,
                damage=damage,
                before_this=passed_over,
            )
        return ListDamaged(list_ref, damage)


def _id_bytes(edge_id: int) -> bytes:
    if not 0 < edge_id <= MAX_ID:
        raise ValueError(f"{edge_id} is no id")
    return edge_id.to_bytes(8, "big")


def _checked(time_us: int) -> int:
    if not EARLIEST_TIME_US <= time_us <= LATEST_TIME_US:
        raise ValueError(f"{time_us} is no time of an edge")
    return time_us


def _added(reply: tuple[int, int]) -> Added:
    time_us, former_us = reply
    return Added(changed=time_us > 0, time_us=abs(time_us), former_us=former_us)


def _call(function: Function, leading: Words, edges: Sequence[tuple[ListRef, Words]]) -> Command:
    """The call of a function for edges of one shard."""
    keys = [list_key(list_ref) for list_ref, _ in edges]
    return function.call(
        edges[0][0].shard, keys, [*leading, *chain.from_iterable(words for _, words in edges)]
    )


def _by_shard(edges: Sequence[tuple[ListRef, Words]]) -> Iterator[Sequence[tuple[ListRef, Words]]]:
    """Cut edges, ordered by shard, into runs of one shard and bounded length."""
    start = 0
    for end in range(1, len(edges) + 1):
        if (
            end == len(edges)
            or end - start == EDGES_A_COMMAND
            or edges[end][0].shard != edges[start][0].shard
        ):
            yield edges[start:end]
            start = end
