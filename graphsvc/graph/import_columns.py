"""The columns of an import, and the rows of them that are right."""

from collections.abc import Sequence
from typing import NamedTuple

from graphsvc.backends.edge_lists import Added, Addition, Inverse
from graphsvc.graph.request_rules import MAX_IMPORT_EDGES, check_count, check_lengths, check_pair, check_time
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.errors import GraphError, InvalidArgument
from graphsvc.model.placement import Placement


class ImportColumns(NamedTuple):
    """Edge i is (follower_ids[i], target_ids[i], followed_at_us[i]); no times at all, or 0, means now."""

    follower_ids: Sequence[int]
    target_ids: Sequence[int]
    followed_at_us: Sequence[int]


class Row(NamedTuple):
    """A right row: where it stood in the columns, and the edge in the follower's list."""

    position: int
    edge: Addition
    target_shard: int

    def inverse(self, stands: Added) -> Inverse:
        """The same edge in the followee's list, with the times that the first side has and had."""
        followers = ListRef(self.target_shard, ListKind.FOLLOWERS, self.edge.id)
        return Inverse(followers, self.edge.list.user_id, stands.time_us, stands.former_us)


def check_columns(columns: ImportColumns) -> None:
    """Refuse columns that do not fit together.

    Raises:
        InvalidArgument: no rows, too many, or columns of differing lengths.
    """
    follower_ids, target_ids, times = columns
    check_count(follower_ids, MAX_IMPORT_EDGES, "follower_ids")
    check_lengths(follower_ids, "follower_ids", target_ids, "target_ids")
    if times:
        check_lengths(follower_ids, "follower_ids", times, "followed_at_us")


def checked_rows(
    columns: ImportColumns, positions: range, placement: Placement, now_us: int
) -> tuple[list[Row], dict[int, GraphError]]:
    """The right rows among these positions, and what is wrong with each of the others, by position."""
    rows: list[Row] = []
    errors: dict[int, GraphError] = {}
    for i in positions:
        follower_id, target_id = columns.follower_ids[i], columns.target_ids[i]
        time_us = columns.followed_at_us[i] if columns.followed_at_us else 0
        try:
            shard = placement.user_shard(follower_id, f"follower_ids[{i}]")
            target_shard = placement.user_shard(target_id, f"target_ids[{i}]")
            check_pair(follower_id, target_id, f"target_ids[{i}]")
            check_time(time_us, now_us, f"followed_at_us[{i}]")
        except InvalidArgument as error:
            errors[i] = error
        else:
            following = ListRef(shard, ListKind.FOLLOWING, follower_id)
            rows.append(Row(i, Addition(following, target_id, time_us), target_shard))
    return rows, errors
