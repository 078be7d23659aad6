"""Writes: every follow is an edge in two lists, the follower's (the truth) and the followee's (its inverse).

The forward side is written first; only what it acknowledged leaves its shard, with the time it has there.
Once begun a write goes on to its end, whoever stops waiting for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

import structlog

from graphsvc.backends.edge_lists import Added, Addition, EdgeLists, Inverse, Removal
from graphsvc.graph.answers import by_position, or_raise
from graphsvc.graph.import_columns import ImportColumns, Row, check_columns, checked_rows
from graphsvc.graph.instances import (
    SHARE_OF_DEADLINE,
    InstanceAccess,
    Instances,
    gather_calls,
    group_by_instance,
)
from graphsvc.graph.pair_locks import Outcome, PairLocks
from graphsvc.graph.request_rules import check_pair
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.errors import FollowLimit, GraphError, ListDamaged, TransientError
from graphsvc.model.placement import Placement
from graphsvc.runtime.deadline import Deadline
from graphsvc.runtime.logs import OnceASecond
from graphsvc.runtime.metrics import Metrics

SLICE = 1_000
"""Edges of an import that are worked on at a stretch: other calls get their turn in between."""

T = TypeVar("T")

log = structlog.get_logger()


class Written(NamedTuple):
    """What a write did."""

    changed: bool
    followed_at_us: int
    """Of the edge as it now stands; 0: there is none."""
    inverse_pending: bool


class Imported(NamedTuple):
    """What an import did: edges changed, errors by position, edges whose inverse is pending."""

    changed: int
    errors: dict[int, GraphError]
    inverse_pending: int


class Follows:
    """Follows, unfollows and imports.

    Raises `InvalidArgument`, `FollowLimit`, `TransientError` or `ListDamaged`. Where it is the follower's
    list that is damaged nothing was written; where it is the followee's, the forward side is, and a
    repetition writes the other once that list is mended.
    """

    def __init__(
        self, instances: Instances, placement: Placement, max_followed_users: int, metrics: Metrics
    ) -> None:
        self._instances = instances
        self._placement = placement
        self._limit = max_followed_users
        self._metrics = metrics
        self._locks = PairLocks()
        self._turn = asyncio.Lock()
        self._pending_logged = OnceASecond()

    async def follow(self, follower_id: int, followee_id: int, deadline: Deadline) -> Written:
        """Make a user follow another; a repetition changes nothing, and mends a missing inverse."""
        following, followers = self._both_lists(follower_id, followee_id)
        pair = (follower_id, followee_id)
        return await self._locks.run([pair], lambda: self._follow(following, followers, deadline))

    async def unfollow(self, follower_id: int, followee_id: int, deadline: Deadline) -> Written:
        """End it; a repetition changes nothing, and mends an inverse left over."""
        following, followers = self._both_lists(follower_id, followee_id)
        pair = (follower_id, followee_id)
        return await self._locks.run([pair], lambda: self._unfollow(following, followers, deadline))

    async def import_edges(self, columns: ImportColumns) -> Imported:
        """Add many edges, with their own times; of a repeated pair the earliest stays.

        An edge with an error harms no other, and is not written at all; only where its error is that the
        target's list of followers is damaged, its forward side stands.
        """
        check_columns(columns)
        now_us, edges = time.time_ns() // 1_000, len(columns.follower_ids)
        slices = [range(at, min(at + SLICE, edges)) for at in range(0, edges, SLICE)]
        parts = await asyncio.gather(*(self._import_slice(columns, each, now_us) for each in slices))
        imported = Imported(
            changed=sum(part.changed for part in parts),
            errors={position: error for part in parts for position, error in part.errors.items()},
            inverse_pending=sum(part.inverse_pending for part in parts),
        )
        refused = len(imported.errors)
        self._metrics.imported_edges.labels("changed").inc(imported.changed)
        self._metrics.imported_edges.labels("refused").inc(refused)
        self._metrics.imported_edges.labels("unchanged").inc(edges - refused - imported.changed)
        return imported

    async def finish(self) -> None:
        """Wait for the writes whose callers stopped waiting."""
        await self._locks.finish()

    async def _follow(self, following: ListRef, followers: ListRef, deadline: Deadline) -> Outcome[Written]:
        addition = Addition(following, followers.user_id, 0)
        access = self._instances.of(following.shard)
        [answer] = await access.write(lambda lists: lists.add([addition], self._limit))
        added = or_raise(answer)
        if not added.time_us:
            raise FollowLimit(self._limit)
        inverse = Inverse(followers, following.user_id, added.time_us, added.former_us)
        access = self._instances.of(followers.shard)
        applying = self._inverse(access, 1, lambda lists: lists.put([inverse]))
        return await _answer(added.changed, added.time_us, applying, deadline)

    async def _unfollow(self, following: ListRef, followers: ListRef, deadline: Deadline) -> Outcome[Written]:
        removal = Removal(following, followers.user_id)
        access = self._instances.of(following.shard)
        [answer] = await access.write(lambda lists: lists.remove([removal]))
        stood_us = or_raise(answer)
        inverse = Removal(followers, following.user_id, stood_us)
        access = self._instances.of(followers.shard)
        applying = self._inverse(access, 1, lambda lists: _remove_inverse(lists, inverse))
        return await _answer(stood_us > 0, 0, applying, deadline)

    async def _import_slice(self, columns: ImportColumns, positions: range, now_us: int) -> Imported:
        async with self._turn:
            rows, refused = checked_rows(columns, positions, self._placement, now_us)
            await asyncio.sleep(0)  # one slice, of whichever import, a turn of the loop
        pairs = ((row.edge.list.user_id, row.edge.id) for row in rows)
        imported = await self._locks.run(pairs, lambda: self._import_rows(rows))
        return imported._replace(errors=refused | imported.errors)

    async def _import_rows(self, rows: Sequence[Row]) -> Outcome[Imported]:
        added, errors = await self._add_forward(rows)
        inverses = [row.inverse(stands) for row, stands in added]
        groups = group_by_instance([each.list.shard for each in inverses], self._instances)
        answers = await gather_calls(
            self._put_inverses(access, [inverses[i] for i in positions])
            for access, positions in groups.items()
        )
        pending = 0
        for i, answer in by_position(groups.values(), answers):
            if isinstance(answer, TransientError):
                pending += 1
            elif isinstance(answer, GraphError):
                errors[added[i][0].position] = answer
        changed = sum(stands.changed for row, stands in added if row.position not in errors)
        return Outcome(Imported(changed, errors, pending))

    async def _add_forward(
        self, rows: Sequence[Row]
    ) -> tuple[list[tuple[Row, Added]], dict[int, GraphError]]:
        groups = group_by_instance([row.edge.list.shard for row in rows], self._instances)
        answers = await gather_calls(
            self._add(access, [rows[i].edge for i in positions]) for access, positions in groups.items()
        )
        added: list[tuple[Row, Added]] = []
        errors: dict[int, GraphError] = {}
        for i, stands in by_position(groups.values(), answers):
            row = rows[i]
            if isinstance(stands, GraphError):
                errors[row.position] = stands
            elif not stands.time_us:
                errors[row.position] = FollowLimit(self._limit)
            else:
                added.append((row, stands))
        return added, errors

    async def _add(self, access: InstanceAccess, edges: list[Addition]) -> list[Added | ListDamaged]:
        return await access.write(lambda lists: lists.add(edges, self._limit))

    async def _put_inverses(
        self, access: InstanceAccess, inverses: list[Inverse]
    ) -> list[bool | ListDamaged]:
        return await self._inverse(access, len(inverses), lambda lists: lists.put(inverses))

    async def _inverse(
        self,
        access: InstanceAccess,
        edges: int,
        operation: Callable[[EdgeLists], Awaitable[list[T | ListDamaged]]],
    ) -> list[T | ListDamaged]:
        """Write the inverses of what stands already: a `TransientError` means that they are pending."""
        name = access.instance.name
        try:
            return await access.write(operation)
        except TransientError as error:
            self._metrics.inverse_pending.labels(name).inc(edges)
            passed_over = self._pending_logged.due()
            if passed_over is not None:
                log.warning(
                    "inverse pending",
                    instance=name,
                    edges=edges,
                    reason=error.reason,
                    before_this=passed_over,
                )
            raise

    def _both_lists(self, follower_id: int, followee_id: int) -> tuple[ListRef, ListRef]:
        follower_shard = self._placement.user_shard(follower_id, "follower_id")
        followee_shard = self._placement.user_shard(followee_id, "followee_id")
        check_pair(follower_id, followee_id, "followee_id")
        return (
            ListRef(follower_shard, ListKind.FOLLOWING, follower_id),
            ListRef(followee_shard, ListKind.FOLLOWERS, followee_id),
        )


async def _remove_inverse(lists: EdgeLists, removal: Removal) -> list[int | ListDamaged]:
    """Remove an inverse; where it is not at its time, one that an import left pending at another."""
    answers = await lists.remove([removal])
    if removal.time_us and answers == [0]:
        return await lists.remove([removal._replace(time_us=0)])
    return answers


async def _answer(
    changed: bool,
    followed_at_us: int,
    applying: Coroutine[Any, Any, Sequence[object]],
    deadline: Deadline,
) -> Outcome[Written]:
    """Answer when the inverse stands, or in time to be heard: it is pending then, and goes on."""
    inverse = asyncio.create_task(applying)
    await asyncio.wait([inverse], timeout=max(0.0, deadline.remaining_s() * SHARE_OF_DEADLINE))
    if not inverse.done():
        return Outcome(Written(changed, followed_at_us, inverse_pending=True), inverse)
    try:
        [answer] = inverse.result()
    except TransientError:
        return Outcome(Written(changed, followed_at_us, inverse_pending=True))
    or_raise(answer)
    return Outcome(Written(changed, followed_at_us, inverse_pending=False))
