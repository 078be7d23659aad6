"""FollowerGraphService: from messages to calls of the data plane and back."""

from typing import Any

from graphsvc.graph.follows import Follows, Written
from graphsvc.graph.queries import Partial, Queries
from graphsvc.graph.request_rules import check_freshness_token
from graphsvc.model.edges import ListKind
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.runtime.deadline import Deadline
from graphsvc.service.wire import errors_to_wire, order_of, page_to_wire, reason_to_wire, refuse_boards
from graphsvc.v1 import follower_graph_service_pb2 as pb


class FollowerGraphServicer:
    """The calls that are offered; each raises what the data plane raises."""

    def __init__(self, follows: Follows, queries: Queries) -> None:
        self._follows = follows
        self._queries = queries

    async def FollowUser(self, request: pb.FollowUserRequest, deadline: Deadline) -> pb.WriteResponse:
        """See follower_graph_service.proto, as for all of these."""
        return _written(await self._follows.follow(request.follower_id, request.followee_id, deadline))

    async def UnfollowUser(self, request: pb.UnfollowUserRequest, deadline: Deadline) -> pb.WriteResponse:
        """End a follow."""
        return _written(await self._follows.unfollow(request.follower_id, request.followee_id, deadline))

    async def CheckFollow(self, request: pb.CheckFollowRequest, deadline: Deadline) -> pb.CheckFollowResponse:
        """One pair."""
        check_freshness_token(request.freshness_token)
        target = request.WhichOneof("target")
        refuse_boards(named=target == "board")
        if target is None:
            raise InvalidArgument("target", Reason.FIELD_MISSING, "is not set; give followee_id")
        since = await self._queries.followed_at(request.follower_id, request.followee_id, deadline)
        return pb.CheckFollowResponse(following=since > 0, reason=reason_to_wire(since), followed_at_us=since)

    async def CheckFollows(
        self, request: pb.CheckFollowsRequest, deadline: Deadline
    ) -> pb.CheckFollowsResponse:
        """One follower against a screenful."""
        check_freshness_token(request.freshness_token)
        refuse_boards(named=bool(request.boards))
        held = await self._queries.followed_among(request.follower_id, request.followee_ids, deadline)
        return pb.CheckFollowsResponse(following_users=held)

    async def BatchCheckFollows(
        self, request: pb.BatchCheckFollowsRequest, deadline: Deadline
    ) -> pb.BatchCheckFollowsResponse:
        """Many pairs."""
        check_freshness_token(request.freshness_token)
        answer = await self._queries.followed_pairs(request.follower_ids, request.followee_ids, deadline)
        _refuse_errors(answer, allowed=request.allow_partial)
        return pb.BatchCheckFollowsResponse(following=answer.values, errors=errors_to_wire(answer.errors))

    async def ListFollowing(
        self, request: pb.ListUserEdgesRequest, deadline: Deadline
    ) -> pb.ListEdgesResponse:
        """Whom a user follows."""
        return await self._page(ListKind.FOLLOWING, request, deadline)

    async def ListFollowers(
        self, request: pb.ListUserEdgesRequest, deadline: Deadline
    ) -> pb.ListEdgesResponse:
        """Who follows a user."""
        return await self._page(ListKind.FOLLOWERS, request, deadline)

    async def GetCounts(self, request: pb.GetCountsRequest, deadline: Deadline) -> pb.GetCountsResponse:
        """Exact counts."""
        check_freshness_token(request.freshness_token)
        refuse_boards(named=bool(request.boards))
        answer = await self._queries.counts(request.user_ids, deadline)
        _refuse_errors(answer, allowed=request.allow_partial)
        users = [
            pb.UserCounts(user_id=user_id, following=counts.following, followers=counts.followers)
            for user_id, counts in zip(request.user_ids, answer.values, strict=True)
        ]
        return pb.GetCountsResponse(users=users, errors=errors_to_wire(answer.errors))

    async def _page(
        self, kind: ListKind, request: pb.ListUserEdgesRequest, deadline: Deadline
    ) -> pb.ListEdgesResponse:
        check_freshness_token(request.freshness_token)
        page = await self._queries.list_page(
            kind,
            request.user_id,
            page_size=request.page_size,
            page_token=request.page_token,
            order=order_of(request.order),
            deadline=deadline,
        )
        return page_to_wire(page)


def _written(written: Written) -> pb.WriteResponse:
    return pb.WriteResponse(
        changed=written.changed,
        followed_at_us=written.followed_at_us,
        inverse_pending=written.inverse_pending,
        reason=reason_to_wire(written.followed_at_us),
    )


def _refuse_errors(answer: Partial[Any], *, allowed: bool) -> None:
    if answer.errors and not allowed:
        raise next(iter(answer.errors.values()))
