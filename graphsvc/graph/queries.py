"""What can be asked: checks, pages, counts."""

from collections.abc import Sequence
from typing import NamedTuple

from graphsvc.graph.instances import InstanceAccess, Instances, gather_calls, group_by_instance
from graphsvc.graph.page_tokens import decode_page_token, encode_page_token
from graphsvc.graph.request_rules import MAX_TARGETS, check_count, check_lengths, check_pair, page_size_of
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import GraphError
from graphsvc.model.placement import Placement
from graphsvc.runtime.deadline import Deadline


class Partial(NamedTuple):
    """An answer to many questions: `values[i]` means nothing where `errors` has i."""

    values: list[int]
    errors: dict[int, GraphError]


class ListedPage(NamedTuple):
    """A page of a list, columns of one length, and the token of the next (empty: this was the last)."""

    ids: list[int]
    times_us: list[int]
    next_page_token: str
    size: int


class Queries:
    """Reads. Each method raises `InvalidArgument` for a bad request and `TransientError` otherwise."""

    def __init__(self, instances: Instances, placement: Placement) -> None:
        self._instances = instances
        self._placement = placement

    async def followed_at(self, follower_id: int, followee_id: int, deadline: Deadline) -> int:
        """Since when one user follows another, in microseconds; 0: does not."""
        following = self._list(ListKind.FOLLOWING, follower_id, "follower_id")
        self._placement.user_shard(followee_id, "followee_id")
        check_pair(follower_id, followee_id, "followee_id")
        access = self._instances.of(following.shard)
        [[time_us]] = await access.read(lambda lists: lists.times([(following, [followee_id])]), deadline)
        return time_us

    async def followed_among(
        self, follower_id: int, followee_ids: Sequence[int], deadline: Deadline
    ) -> list[int]:
        """Since when a user follows each of others (0: does not), in the order asked; one round trip.

        The follower may be among them, as on a screen that shows her too: nobody follows herself.
        """
        check_count(followee_ids, MAX_TARGETS, "followee_ids")
        following = self._list(ListKind.FOLLOWING, follower_id, "follower_id")
        for i, followee_id in enumerate(followee_ids):
            self._placement.user_shard(followee_id, f"followee_ids[{i}]")
        access = self._instances.of(following.shard)
        [times] = await access.read(lambda lists: lists.times([(following, followee_ids)]), deadline)
        return times

    async def followed_pairs(
        self, follower_ids: Sequence[int], followee_ids: Sequence[int], deadline: Deadline
    ) -> Partial:
        """Since when each pair's first follows its second (0: does not); one round trip an instance."""
        check_count(follower_ids, MAX_TARGETS, "follower_ids")
        check_lengths(follower_ids, "follower_ids", followee_ids, "followee_ids")
        lists = [
            self._list(ListKind.FOLLOWING, user_id, f"follower_ids[{i}]")
            for i, user_id in enumerate(follower_ids)
        ]
        for i, followee_id in enumerate(followee_ids):
            self._placement.user_shard(followee_id, f"followee_ids[{i}]")

        async def ask(access: InstanceAccess, positions: list[int]) -> list[int]:
            queries = [(lists[i], [followee_ids[i]]) for i in positions]
            return [time_us for [time_us] in await access.read(lambda each: each.times(queries), deadline)]

        groups = group_by_instance([each.shard for each in lists], self._instances)
        answers = await gather_calls(ask(access, positions) for access, positions in groups.items())
        return _scatter(len(lists), list(groups.values()), answers)

    async def list_page(
        self,
        kind: ListKind,
        user_id: int,
        *,
        page_size: int,
        page_token: str,
        order: Order,
        deadline: Deadline,
    ) -> ListedPage:
        """A page of a user's list."""
        limit = page_size_of(page_size)
        ref = self._list(kind, user_id, "user_id")
        after = decode_page_token(page_token, ref, order)
        access = self._instances.of(ref.shard)
        page = await access.read(lambda lists: lists.page(ref, order, after, limit), deadline)
        token = ""
        if page.more:
            token = encode_page_token(Cursor(page.times_us[-1], page.ids[-1]), ref, order)
        return ListedPage(page.ids, page.times_us, token, page.size)

    async def counts(self, user_ids: Sequence[int], deadline: Deadline) -> tuple[Partial, Partial]:
        """How many each user follows, and how many follow her; one round trip an instance."""
        check_count(user_ids, MAX_TARGETS, "user_ids")
        following = [
            self._list(ListKind.FOLLOWING, user_id, f"user_ids[{i}]") for i, user_id in enumerate(user_ids)
        ]
        followers = [each._replace(kind=ListKind.FOLLOWERS) for each in following]

        async def ask(access: InstanceAccess, positions: list[int]) -> list[int]:
            asked = [following[i] for i in positions] + [followers[i] for i in positions]
            return await access.read(lambda lists: lists.sizes(asked), deadline)

        groups = group_by_instance([each.shard for each in following], self._instances)
        answers = await gather_calls(ask(access, positions) for access, positions in groups.items())
        positions = list(groups.values())
        return (
            _scatter(len(user_ids), positions, [_half(each, first=True) for each in answers]),
            _scatter(len(user_ids), positions, [_half(each, first=False) for each in answers]),
        )

    def _list(self, kind: ListKind, user_id: int, field: str) -> ListRef:
        return ListRef(self._placement.user_shard(user_id, field), kind, user_id)


def _half(sizes: list[int] | GraphError, *, first: bool) -> list[int] | GraphError:
    if isinstance(sizes, GraphError):
        return sizes
    middle = len(sizes) // 2
    return sizes[:middle] if first else sizes[middle:]


def _scatter(length: int, groups: Sequence[list[int]], answers: Sequence[list[int] | GraphError]) -> Partial:
    """Put the answers of each group of positions where they belong."""
    values = [0] * length
    errors: dict[int, GraphError] = {}
    for positions, answer in zip(groups, answers, strict=True):
        for n, position in enumerate(positions):
            if isinstance(answer, GraphError):
                errors[position] = answer
            else:
                values[position] = answer[n]
    return Partial(values, errors)
