"""Edge lists in memory: what `EdgeLists` says and nothing else, for suites that compare a store with it."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

from graphsvc.backends.edge_lists import Added, Addition, Inverse, Removal
from graphsvc.model.edges import Cursor, ListRef, Order, Page
from graphsvc.model.errors import ListDamaged, NotOffered
from graphsvc.model.list_inspection import ListInspection

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class PlainEdgeLists:
    """`EdgeLists` as dictionaries: per list, the times of each id. Pages are made by sorting everything.

    An id has one time, but where `put` was told a wrong former one: then the latest counts as the edge's.
    Where a store may look for an edge among the newest only, here the whole list is searched.
    """

    def __init__(self) -> None:
        self.lists: defaultdict[ListRef, dict[int, frozenset[int]]] = defaultdict(dict)
        self.damaged: set[ListRef] = set()
        """Lists to be taken for damaged."""

    async def add(self, additions: Sequence[Addition], limit: int) -> list[Added | ListDamaged]:
        """See `EdgeLists.add`."""

        def add(addition: Addition) -> Added:
            stands_us = self._time(addition.list, addition.id)
            if stands_us and not 0 < addition.time_us < stands_us:
                return Added(changed=False, time_us=stands_us)
            if not stands_us and len(self._edges(addition.list)) >= limit:
                return Added(changed=False, time_us=0)
            time_us = addition.time_us or time.time_ns() // 1_000
            self._set_times(addition.list, addition.id, {time_us})
            return Added(changed=True, time_us=time_us, former_us=stands_us)

        return _each(additions, add)

    async def put(self, inverses: Sequence[Inverse]) -> list[bool | ListDamaged]:
        """See `EdgeLists.put`."""

        def put(inverse: Inverse) -> bool:
            before = self._times(inverse.list, inverse.id)
            former_us = inverse.former_us
            if not former_us and inverse.time_us not in before:
                former_us = self._time(inverse.list, inverse.id)
            after = (before - {former_us}) | {inverse.time_us}
            self._set_times(inverse.list, inverse.id, after)
            return after != before

        return _each(inverses, put)

    async def remove(self, removals: Sequence[Removal]) -> list[int | ListDamaged]:
        """See `EdgeLists.remove`."""

        def remove(removal: Removal) -> int:
            before = self._times(removal.list, removal.id)
            time_us = removal.time_us or self._time(removal.list, removal.id)
            self._set_times(removal.list, removal.id, before - {time_us})
            return time_us if time_us in before else 0

        return _each(removals, remove)

    async def contains(
        self, queries: Sequence[tuple[ListRef, Sequence[int]]]
    ) -> list[list[bool] | ListDamaged]:
        """See `EdgeLists.contains`."""
        return _each(queries, lambda query: [each in self._edges(query[0]) for each in query[1]])

    async def time_of(self, list_ref: ListRef, edge_id: int) -> int:
        """See `EdgeLists.time_of`."""
        return self._time(list_ref, edge_id)

    async def page(self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int) -> Page:
        """See `EdgeLists.page`."""
        newest_first = order is Order.NEWEST_FIRST
        edges = sorted(
            (Cursor(time_us, each) for each, times in self._edges(list_ref).items() for time_us in times),
            reverse=newest_first,
        )
        left = [each for each in edges if not after or (each < after if newest_first else each > after)]
        ids, times_us = [each.id for each in left[:limit]], [each.time_us for each in left[:limit]]
        return Page(ids, times_us, more=len(left) > limit, size=len(edges))

    async def sizes(self, lists: Sequence[ListRef]) -> list[int | ListDamaged]:
        """See `EdgeLists.sizes`."""
        return _each(lists, self._size)

    async def drop(self, list_ref: ListRef) -> int:
        """See `EdgeLists.drop`."""
        size = self._size(list_ref)
        del self.lists[list_ref]
        return size

    async def inspect(self, list_ref: ListRef, *, check: bool) -> ListInspection:  # noqa: ARG002 (the Protocol's)
        """See `EdgeLists.inspect`; dictionaries have no form."""
        raise NotOffered("lists in memory have no form to inspect")

    async def ping(self) -> None:
        """See `EdgeLists.ping`."""

    async def close(self) -> None:
        """See `EdgeLists.close`."""

    def _edges(self, list_ref: ListRef) -> dict[int, frozenset[int]]:
        if list_ref in self.damaged:
            raise ListDamaged(list_ref, "it is to be taken for damaged")
        return self.lists[list_ref]

    def _times(self, list_ref: ListRef, edge_id: int) -> frozenset[int]:
        return self._edges(list_ref).get(edge_id, frozenset())

    def _time(self, list_ref: ListRef, edge_id: int) -> int:
        return max(self._times(list_ref, edge_id), default=0)

    def _set_times(self, list_ref: ListRef, edge_id: int, times: set[int] | frozenset[int]) -> None:
        edges = self._edges(list_ref)
        edges.pop(edge_id, None)
        if times:
            edges[edge_id] = frozenset(times)

    def _size(self, list_ref: ListRef) -> int:
        return sum(map(len, self._edges(list_ref).values()))


def _each(asked: Sequence[Asked], answer: Callable[[Asked], Answer]) -> list[Answer | ListDamaged]:
    """Answer what is asked, in order; a damaged list has its error in its place."""
    answers: list[Answer | ListDamaged] = []
    for each in asked:
        try:
            answers.append(answer(each))
        except ListDamaged as damaged:
            answers.append(damaged)
    return answers
