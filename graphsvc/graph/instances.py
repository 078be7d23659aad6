"""Routing: from a shard to the edge lists of its instance, with time limits and the one retry there is."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from math import inf
from typing import TypeVar

from graphsvc.backends.edge_lists import EdgeLists
from graphsvc.model.errors import ConnectionLost, DeadlineExceeded, GraphError, ShardUnavailable
from graphsvc.model.topology import Instance, Topology
from graphsvc.runtime.deadline import Deadline

T = TypeVar("T")

Connect = Callable[[Instance], EdgeLists]
"""Makes the edge lists of an instance; opens nothing yet."""

SHARE_OF_DEADLINE = 0.8
"""What one instance may use of the caller's time, so that the answer, or a part of it, is still of use."""


class InstanceAccess:
    """The edge lists of one instance, in bounded time."""

    def __init__(
        self, instance: Instance, lists: EdgeLists, read_timeout_s: float, write_timeout_s: float
    ) -> None:
        self.instance = instance
        self.lists = lists
        self._read_timeout_s = read_timeout_s
        self._write_timeout_s = write_timeout_s

    async def read(self, operation: Callable[[EdgeLists], Awaitable[T]], deadline: Deadline) -> T:
        """Read, once more if the connection breaks.

        Raises:
            TransientError: not answered in time, or the instance cannot answer.
        """
        return await self._read(operation, deadline, self._read_timeout_s)

    async def read_in_steps(self, operation: Callable[[EdgeLists], Awaitable[T]], deadline: Deadline) -> T:
        """The same for what takes many commands, as the inspection of a long list: for as long as is left.

        Raises:
            TransientError: not answered in time, or the instance cannot answer.
        """
        return await self._read(operation, deadline, inf)

    async def write(self, operation: Callable[[EdgeLists], Awaitable[T]]) -> T:
        """Write, once more if the connection breaks: writes are idempotent.

        Raises:
            TransientError: the outcome is not known, or the instance cannot take it.
        """
        return await self._attempt(operation, self._write_timeout_s)

    async def _read(
        self, operation: Callable[[EdgeLists], Awaitable[T]], deadline: Deadline, at_most_s: float
    ) -> T:
        left_s = deadline.remaining_s()
        if left_s <= 0:
            raise DeadlineExceeded("the deadline was over before the shard was asked")
        return await self._attempt(operation, min(at_most_s, left_s * SHARE_OF_DEADLINE))

    async def _attempt(self, operation: Callable[[EdgeLists], Awaitable[T]], timeout_s: float) -> T:
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    return await operation(self.lists)
                except ConnectionLost:
                    return await operation(self.lists)
        except TimeoutError:
            raise ShardUnavailable("the shard's instance did not answer in time") from None


class Instances:
    """All instances of the map in use."""

    def __init__(
        self, topology: Topology, connect: Connect, *, read_timeout_s: float, write_timeout_s: float
    ) -> None:
        self._connect = connect
        self._read_timeout_s = read_timeout_s
        self._write_timeout_s = write_timeout_s
        self._accesses: tuple[InstanceAccess, ...] = ()
        self._by_shard: list[InstanceAccess] = []
        self._retired: dict[InstanceAccess, asyncio.Task[None]] = {}
        self.topology = topology
        self._open({})

    def of(self, shard: int) -> InstanceAccess:
        """The instance that serves a shard of 0 to 8191."""
        return self._by_shard[shard]

    def all(self) -> tuple[InstanceAccess, ...]:
        """All of them, in order of their ranges."""
        return self._accesses

    def follow(self, topology: Topology) -> None:
        """Go over to a newer map; instances that did not change keep their connections.

        Calls under way end where they began.
        """
        if topology.version <= self.topology.version:
            return
        self.topology = topology
        old = {access.instance: access for access in self._accesses}
        self._open(old)
        for access in old.values():
            if access not in self._accesses:
                self._retired[access] = asyncio.create_task(self._retire(access))

    async def close(self) -> None:
        """Close all connections."""
        for retiring in self._retired.values():
            retiring.cancel()
        for access in (*self._accesses, *self._retired):
            await access.lists.close()

    async def _retire(self, access: InstanceAccess) -> None:
        await asyncio.sleep(max(self._read_timeout_s, self._write_timeout_s))
        await access.lists.close()
        del self._retired[access]

    def _open(self, old: dict[Instance, InstanceAccess]) -> None:
        self._accesses = tuple(
            old.get(instance)
            or InstanceAccess(instance, self._connect(instance), self._read_timeout_s, self._write_timeout_s)
            for instance in self.topology.instances
        )
        self._by_shard = [
            access
            for access in self._accesses
            for _ in range(access.instance.first_shard, access.instance.last_shard + 1)
        ]


async def gather_calls(calls: Iterable[Awaitable[T]]) -> list[T | GraphError]:
    """Wait for calls to several instances; one that fails gives its error and harms no other."""
    results: list[T | GraphError] = []
    for result in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(result, BaseException) and not isinstance(result, GraphError):
            raise result
        results.append(result)
    return results


def group_by_instance(shards: Sequence[int], instances: Instances) -> dict[InstanceAccess, list[int]]:
    """Positions in `shards`, by the instance that serves them."""
    groups: dict[InstanceAccess, list[int]] = {}
    for position, shard in enumerate(shards):
        groups.setdefault(instances.of(shard), []).append(position)
    return groups
