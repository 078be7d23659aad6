"""Errors: the published reasons, and what a caller is told."""

import pytest

from graphsvc.model import errors
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.errors import (
    ConnectionLost,
    DeadlineExceeded,
    FollowLimit,
    GraphError,
    Internal,
    InvalidArgument,
    ListDamaged,
    NotOffered,
    Overloaded,
    Reason,
    ShardUnavailable,
    TransientError,
)
from graphsvc.v1.errors_pb2 import ErrorReason

PREFIX = "ERROR_REASON_"


def all_errors() -> list[type[GraphError]]:
    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, GraphError)]


def test_the_reasons_are_the_published_ones() -> None:
    published = {name.removeprefix(PREFIX) for name in ErrorReason.keys()} - {"UNSPECIFIED"}  # noqa: SIM118 (an enum, no dict)
    assert {reason.value for reason in Reason} == published
    assert all(reason.name == reason.value for reason in Reason)


@pytest.mark.parametrize("error", all_errors())
def test_an_error_asks_for_a_retry_exactly_if_it_is_transient(error: type[GraphError]) -> None:
    assert (error.retry_after_ms > 0) == issubclass(error, TransientError)


def test_an_invalid_argument_names_its_field() -> None:
    error = InvalidArgument("page_size", Reason.PAGE_SIZE_OUT_OF_RANGE, "1001 is above 1,000")
    assert str(error) == error.message == "page_size: 1001 is above 1,000"
    assert (error.field, error.problem) == ("page_size", "1001 is above 1,000")
    assert error.reason is Reason.PAGE_SIZE_OUT_OF_RANGE


def test_the_follow_limit_names_the_limit_and_what_to_do() -> None:
    assert "50,000" in FollowLimit(50_000).message
    assert "unfollow" in FollowLimit(50_000).message


def test_a_damaged_list_is_named_with_its_damage_and_what_tells_the_rest() -> None:
    message = ListDamaged(ListRef(7, ListKind.FOLLOWERS, 11), "block 3 is missing").message
    assert "followers list of user 11, on shard 7" in message
    assert "block 3 is missing" in message
    assert "`graphsvc inspect 11 --check`" in message


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FollowLimit(1), Reason.FOLLOW_LIMIT),
        (NotOffered("boards are not offered yet"), Reason.NOT_OFFERED),
        (Internal(), Reason.INTERNAL),
        (ListDamaged(ListRef(7, ListKind.FOLLOWERS, 11), "no head"), Reason.LIST_DAMAGED),
        (ShardUnavailable("m"), Reason.SHARD_UNAVAILABLE),
        (ConnectionLost("m"), Reason.SHARD_UNAVAILABLE),
        (Overloaded("m"), Reason.OVERLOADED),
        (DeadlineExceeded("m"), Reason.DEADLINE_EXCEEDED),
    ],
)
def test_every_error_has_its_reason(error: GraphError, reason: Reason) -> None:
    assert error.reason is reason
