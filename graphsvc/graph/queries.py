"""What can be asked: checks, pages, counts."""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from graphsvc.graph.answers import by_position, or_raise
from graphsvc.graph.instances import InstanceAccess, Instances, gather_calls, group_by_instance
from graphsvc.graph.page_tokens import decode_page_token, encode_page_token
from graphsvc.graph.request_rules import MAX_TARGETS, check_count, check_lengths, check_pair, page_size_of
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import GraphError, ListDamaged
from graphsvc.model.placement import Placement
from graphsvc.runtime.deadline import Deadline

T = TypeVar("T")


class Partial(NamedTuple, Generic[T]):
    """An answer to many questions: `values[i]` means nothing where `errors` has i."""

    values: list[T]
    errors: dict[int, GraphError]


class Counts(NamedTuple):
    """How many a user follows, and how many follow her."""

    following: int
    followers: int


class ListedPage(NamedTuple):
    """A page of a list, columns of one length, and the token of the next (empty: this was the last)."""

    ids: list[int]
    times_us: list[int]
    next_page_token: str
    size: int


class Queries:
    """Reads. Each method raises `InvalidArgument` for a bad request, else `TransientError` or `ListDamaged`.

    Where the answer is `Partial`, the latter two stand in it instead.
    """

    def __init__(self, instances: Instances, placement: Placement) -> None:
        self._instances = instances
        self._placement = placement

    async def followed_at(self, follower_id: int, followee_id: int, deadline: Deadline) -> int:
        """Since when one user follows another, in microseconds; 0: does not."""
        following = self._list(ListKind.FOLLOWING, follower_id, "follower_id")
        self._placement.user_shard(followee_id, "followee_id")
        check_pair(follower_id, followee_id, "followee_id")
        access = self._instances.of(following.shard)
        return await access.read(lambda lists: lists.time_of(following, followee_id), deadline)

    async def followed_among(
        self, follower_id: int, followee_ids: Sequence[int], deadline: Deadline
    ) -> list[bool]:
        """Whether a user follows each of others, in the order asked; one round trip.

        The follower may be among them, as on a screen that shows her too: nobody follows herself.
        """
        check_count(followee_ids, MAX_TARGETS, "followee_ids")
        following = self._list(ListKind.FOLLOWING, follower_id, "follower_id")
        for i, followee_id in enumerate(followee_ids):
            self._placement.user_shard(followee_id, f"followee_ids[{i}]")
        access = self._instances.of(following.shard)
        [held] = await access.read(lambda lists: lists.contains([(following, followee_ids)]), deadline)
        return or_raise(held)

    async def followed_pairs(
        self, follower_ids: Sequence[int], followee_ids: Sequence[int], deadline: Deadline
    ) -> Partial[bool]:
        """Whether each pair's first follows its second; one round trip an instance."""
        check_count(follower_ids, MAX_TARGETS, "follower_ids")
        check_lengths(follower_ids, "follower_ids", followee_ids, "followee_ids")
        lists = [
            self._list(ListKind.FOLLOWING, user_id, f"follower_ids[{i}]")
            for i, user_id in enumerate(follower_ids)
        ]
        for i, followee_id in enumerate(followee_ids):
            self._placement.user_shard(followee_id, f"followee_ids[{i}]")

        async def ask(access: InstanceAccess, positions: list[int]) -> list[bool | ListDamaged]:
            queries = [(lists[i], [followee_ids[i]]) for i in positions]
            answers = await access.read(lambda each: each.contains(queries), deadline)
            return [held if isinstance(held, ListDamaged) else held[0] for held in answers]

        groups = group_by_instance([each.shard for each in lists], self._instances)
        answers = await gather_calls(ask(access, positions) for access, positions in groups.items())
        return _partial(len(lists), False, by_position(groups.values(), answers))

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

    async def counts(self, user_ids: Sequence[int], deadline: Deadline) -> Partial[Counts]:
        """The counts of each user; one round trip an instance."""
        check_count(user_ids, MAX_TARGETS, "user_ids")
        following = [
            self._list(ListKind.FOLLOWING, user_id, f"user_ids[{i}]") for i, user_id in enumerate(user_ids)
        ]
        followers = [each._replace(kind=ListKind.FOLLOWERS) for each in following]

        async def ask(access: InstanceAccess, positions: list[int]) -> list[Counts | ListDamaged]:
            asked = [following[i] for i in positions] + [followers[i] for i in positions]
            sizes = await access.read(lambda lists: lists.sizes(asked), deadline)
            middle = len(positions)
            return [_counts(*both) for both in zip(sizes[:middle], sizes[middle:], strict=True)]

        groups = group_by_instance([each.shard for each in following], self._instances)
        answers = await gather_calls(ask(access, positions) for access, positions in groups.items())
        return _partial(len(user_ids), Counts(0, 0), by_position(groups.values(), answers))

    def _list(self, kind: ListKind, user_id: int, field: str) -> ListRef:
        return ListRef(self._placement.user_shard(user_id, field), kind, user_id)


def _counts(following: int | ListDamaged, followers: int | ListDamaged) -> Counts | ListDamaged:
    """Both, or neither: half an answer would pass for a whole one."""
    if isinstance(following, ListDamaged):
        return following
    if isinstance(followers, ListDamaged):
        return followers
    return Counts(following, followers)


def _partial(length: int, nothing: T, answers: Iterable[tuple[int, T | GraphError]]) -> Partial[T]:
    """Answers and errors, each by its position; `nothing` stands where there is an error."""
    values = [nothing] * length
    errors: dict[int, GraphError] = {}
    for position, answer in answers:
        if isinstance(answer, GraphError):
            errors[position] = answer
        else:
            values[position] = answer
    return Partial(values, errors)
