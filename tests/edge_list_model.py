"""A plain model of edge lists, for suites that compare a real store with it."""

from graphsvc.model.edges import Cursor, ListRef, Order, Page


class PlainEdgeLists:
    """Dictionaries: per list, the time of each id."""

    def __init__(self) -> None:
        self.lists: dict[ListRef, dict[int, int]] = {}

    def add(self, list_ref: ListRef, edge_id: int, time_us: int, limit: int) -> tuple[bool, int]:
        """Whether it changed, and the time that stands; (False, 0): the list is full. Times are never 0."""
        edges = self.lists.setdefault(list_ref, {})
        if edge_id not in edges and len(edges) >= limit:
            return False, 0
        changed = time_us < edges.get(edge_id, time_us + 1)
        if changed:
            edges[edge_id] = time_us
        return changed, edges[edge_id]

    def put(self, list_ref: ListRef, edge_id: int, time_us: int) -> None:
        """Make the edge stand with this time."""
        self.lists.setdefault(list_ref, {})[edge_id] = time_us

    def remove(self, list_ref: ListRef, edge_id: int) -> bool:
        """Whether it stood."""
        return self.lists.get(list_ref, {}).pop(edge_id, None) is not None

    def times(self, list_ref: ListRef, ids: list[int]) -> list[int]:
        """Times, 0 where there is no edge."""
        edges = self.lists.get(list_ref, {})
        return [edges.get(edge_id, 0) for edge_id in ids]

    def page(self, list_ref: ListRef, order: Order, after: Cursor | None, limit: int) -> Page:
        """By sorting everything."""
        newest = order is Order.NEWEST_FIRST
        edges = sorted(
            ((time, edge_id) for edge_id, time in self.lists.get(list_ref, {}).items()), reverse=newest
        )
        size = len(edges)
        if after:
            edges = [edge for edge in edges if (edge < tuple(after) if newest else edge > tuple(after))]
        page = edges[:limit]
        ids, times = [edge_id for _, edge_id in page], [time for time, _ in page]
        return Page(ids, times, more=len(edges) > limit, size=size)
