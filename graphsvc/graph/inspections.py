"""Inspections: how a user's lists are stored, and whether all of them is as it should be."""

from typing import NamedTuple

from graphsvc.backends.edge_lists import EdgeLists
from graphsvc.graph.instances import Instances
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.list_inspection import ListInspection
from graphsvc.model.placement import Placement
from graphsvc.runtime.deadline import Deadline


class UserInspection(NamedTuple):
    """A user's lists, and where they are."""

    shard: int
    instance: str
    lists: list[ListInspection]


class Inspections:
    """Looks at users' lists as they are stored."""

    def __init__(self, instances: Instances, placement: Placement) -> None:
        self._instances = instances
        self._placement = placement

    async def of_user(self, user_id: int, deadline: Deadline, *, check: bool) -> UserInspection:
        """The lists of a user, one after the other; with `check` every part of them is verified.

        Raises:
            InvalidArgument: not a user's id; names `user_id`.
            TransientError: not answered in time, or the instance cannot answer.
        """
        shard = self._placement.user_shard(user_id, "user_id")
        access = self._instances.of(shard)

        async def inspect(lists: EdgeLists) -> list[ListInspection]:
            return [await lists.inspect(ListRef(shard, kind, user_id), check=check) for kind in ListKind]

        # A check takes as long as the lists are.
        read = access.read_in_steps if check else access.read
        return UserInspection(shard, access.instance.name, await read(inspect, deadline))
