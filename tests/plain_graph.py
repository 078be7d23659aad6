"""A data plane on two instances in memory, whose lists can be damaged and whose writes can fail or hang."""

import asyncio
from collections.abc import Sequence

from graphsvc.backends.edge_lists import Added, Addition, Inverse, Removal
from graphsvc.graph.follows import Follows
from graphsvc.graph.instances import Instances
from graphsvc.graph.queries import Queries
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.errors import GraphError, ListDamaged
from graphsvc.model.ids import SHARD_SHIFT, pack
from graphsvc.model.placement import IdPlacement
from graphsvc.model.topology import Node
from graphsvc.runtime.deadline import Deadline
from graphsvc.runtime.metrics import Metrics
from tests.edge_list_model import PlainEdgeLists
from tests.nodes import two_instance_topology

LOW, LOW_TOO = pack(5, 3, 1), pack(6, 3, 1)
"""Users of the first instance."""
HIGH, HIGH_TOO = pack(8_000, 3, 2), pack(8_001, 3, 2)
"""Users of the second."""


class FailingEdgeLists(PlainEdgeLists):
    """Lists of an instance to which things happen."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: GraphError | None = None
        """What every call fails with."""
        self.open = asyncio.Event()
        """Cleared, `put` waits for it."""
        self.open.set()
        self.inverses: list[Inverse] = []
        """All that were put."""
        self.removals: list[Removal] = []

    async def add(self, additions: Sequence[Addition], limit: int) -> list[Added | ListDamaged]:
        self._check()
        return await super().add(additions, limit)

    async def put(self, inverses: Sequence[Inverse]) -> list[bool | ListDamaged]:
        self._check()
        await self.open.wait()
        self.inverses += inverses
        return await super().put(inverses)

    async def remove(self, removals: Sequence[Removal]) -> list[int | ListDamaged]:
        self._check()
        self.removals += removals
        return await super().remove(removals)

    async def contains(
        self, queries: Sequence[tuple[ListRef, Sequence[int]]]
    ) -> list[list[bool] | ListDamaged]:
        self._check()
        return await super().contains(queries)

    async def sizes(self, lists: Sequence[ListRef]) -> list[int | ListDamaged]:
        self._check()
        return await super().sizes(lists)

    def _check(self) -> None:
        if self.failure:
            raise self.failure


class PlainGraph:
    """Follows and queries, and the lists beneath them."""

    def __init__(self, max_followed_users: int = 50_000) -> None:
        self.low, self.high = FailingEdgeLists(), FailingEdgeLists()
        topology = two_instance_topology([Node(host="127.0.0.1", port=port) for port in (1, 2)])
        self._names = [each.name for each in topology.instances]
        lists = dict(zip(self._names, (self.low, self.high), strict=True))
        instances = Instances(topology, lambda each: lists[each.name], read_timeout_s=60, write_timeout_s=60)
        self.metrics = Metrics()
        self.follows = Follows(instances, IdPlacement(), max_followed_users, self.metrics)
        self.queries = Queries(instances, IdPlacement())

    def edges(self, kind: ListKind, user_id: int) -> dict[int, set[int]]:
        """A user's list: the times of each id."""
        edges = self._lists(user_id).lists[list_of(kind, user_id)]
        return {edge_id: set(times) for edge_id, times in edges.items()}

    def damage(self, kind: ListKind, user_id: int) -> None:
        """From now on this list is damaged."""
        self._lists(user_id).damaged.add(list_of(kind, user_id))

    def mend(self) -> None:
        """Nothing is damaged or fails any more."""
        for lists in (self.low, self.high):
            lists.damaged.clear()
            lists.failure = None

    def pending(self) -> float:
        """What the metric says of inverses that are pending."""
        name = "graphsvc_inverse_pending_total"
        values = (self.metrics.registry.get_sample_value(name, {"instance": each}) for each in self._names)
        return sum(each or 0 for each in values)

    def _lists(self, user_id: int) -> FailingEdgeLists:
        return self.low if user_id in (LOW, LOW_TOO) else self.high


def list_of(kind: ListKind, user_id: int) -> ListRef:
    """A user's list, under id placement."""
    return ListRef(user_id >> SHARD_SHIFT, kind, user_id)


def patient() -> Deadline:
    """A deadline that no test reaches."""
    return Deadline.after(60)
