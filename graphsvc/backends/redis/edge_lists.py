"""Edge lists as plain sorted sets: member the id (8 bytes, big-endian), score the time in microseconds.

Redis orders members of one score by their bytes, so (time, id) is the order of the set. Scores are doubles:
microseconds are exact until the year 2255. A list is the key `following:ID` or `followers:ID` in the
database of the user's shard.
"""

from collections.abc import Iterator, Sequence

from graphsvc.backends.edge_lists import Added, Addition
from graphsvc.backends.redis.connection import Command
from graphsvc.backends.redis.identity import IDENTITY_DATABASE, IDENTITY_KEY
from graphsvc.backends.redis.link import Link
from graphsvc.backends.redis.scripts import ADD, PAGE
from graphsvc.model.edges import Cursor, ListRef, Order, Page
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings

EDGES_A_COMMAND = 256
"""Edges of one command at most, so that none keeps a node busy for long."""


def list_key(list_ref: ListRef) -> bytes:
    """The list's key in its shard's database."""
    return f"{list_ref.kind}:{list_ref.user_id}".encode()


def member_of(edge_id: int) -> bytes:
    """The id as a member."""
    return edge_id.to_bytes(8, "big")


class SortedSetEdgeLists:
    """`EdgeLists` of one instance. Reads and writes have a connection each, so no read waits for a write."""

    def __init__(
        self, instance: Instance, cluster: ClusterSettings, settings: RedisSettings, metrics: Metrics
    ) -> None:
        self._reads = Link(instance, cluster, settings, metrics)
        self._writes = Link(instance, cluster, settings, metrics)

    async def add(self, additions: Sequence[Addition], limit: int) -> list[Added]:
        """See `EdgeLists.add`."""
        order = sorted(range(len(additions)), key=lambda i: additions[i].list.shard)
        commands = [_add(chunk, limit) for chunk in _by_shard([additions[i] for i in order])]
        answers = [answer for reply in await self._writes.run(commands) for answer in reply]
        added: list[Added] = [Added(changed=False, time_us=0)] * len(additions)
        for i, answer in zip(order, answers, strict=True):
            added[i] = Added(changed=answer > 0, time_us=abs(answer))
        return added

    async def put(self, additions: Sequence[Addition]) -> None:
        """See `EdgeLists.put`."""
        scores: dict[ListRef, list[bytes | int]] = {}
        for list_ref, edge_id, time_us in sorted(additions, key=lambda each: each.list.shard):
            scores.setdefault(list_ref, []).extend((time_us, member_of(edge_id)))
        step = 2 * EDGES_A_COMMAND
        await self._writes.run(
            [
                Command(list_ref.shard, ("ZADD", list_key(list_ref), *words[at : at + step]))
                for list_ref, words in scores.items()
                for at in range(0, len(words), step)
            ]
        )

    async def remove(self, list_ref: ListRef, edge_id: int) -> bool:
        """See `EdgeLists.remove`."""
        words = ("ZREM", list_key(list_ref), member_of(edge_id))
        return (await self._writes.run([Command(list_ref.shard, words)])) == [1]

    async def times(self, queries: Sequence[tuple[ListRef, Sequence[int]]]) -> list[list[int]]:
        """See `EdgeLists.times`."""
        replies = await self._reads.run(
            [
                Command(list_ref.shard, ("ZMSCORE", list_key(list_ref), *map(member_of, ids)))
                for list_ref, ids in queries
            ]
        )
        return [[int(score) if score else 0 for score in reply] for reply in replies]

    async def page(self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int) -> Page:
        """See `EdgeLists.page`."""
        which = "newest" if order is Order.NEWEST_FIRST else "oldest"
        cursor = (after.time_us, member_of(after.id)) if after else ()
        [reply] = await self._reads.run(
            [PAGE.call(list_ref.shard, [list_key(list_ref)], [which, limit, *cursor])]
        )
        step = -1 if order is Order.NEWEST_FIRST else 1
        ids = [int.from_bytes(member, "big") for member in reply[2::2]][::step]
        times = [int(score) for score in reply[3::2]][::step]
        return Page(ids, times, more=bool(reply[1]), size=reply[0])

    async def sizes(self, lists: Sequence[ListRef]) -> list[int]:
        """See `EdgeLists.sizes`."""
        return await self._reads.run(
            [Command(list_ref.shard, ("ZCARD", list_key(list_ref))) for list_ref in lists]
        )

    async def ping(self) -> None:
        """See `EdgeLists.ping`."""
        # Not PING, which a node refuses while its disk is full, although it answers reads.
        await self._reads.run([Command(IDENTITY_DATABASE, ("EXISTS", IDENTITY_KEY))])

    async def close(self) -> None:
        """See `EdgeLists.close`."""
        await self._reads.close()
        await self._writes.close()


def _by_shard(additions: Sequence[Addition]) -> Iterator[Sequence[Addition]]:
    """Cut additions, ordered by shard, into runs of one shard and bounded length."""
    start = 0
    for end in range(1, len(additions) + 1):
        if (
            end == len(additions)
            or end - start == EDGES_A_COMMAND
            or additions[end].list.shard != additions[start].list.shard
        ):
            yield additions[start:end]
            start = end


def _add(chunk: Sequence[Addition], limit: int) -> Command:
    arguments: list[bytes | str | int] = [limit]
    for _, edge_id, time_us in chunk:
        arguments += (time_us, member_of(edge_id))
    return ADD.call(chunk[0].list.shard, [list_key(each.list) for each in chunk], arguments)
