"""Errors on the wire: every kind has its code, and tells a retry where one helps."""

import grpc
import pytest

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
    Stopping,
    TransientError,
)
from graphsvc.service.status import code_of, status_of

ERRORS: list[tuple[GraphError, grpc.StatusCode]] = [
    (InvalidArgument("f", Reason.LIST_EMPTY, "is empty"), grpc.StatusCode.INVALID_ARGUMENT),
    (FollowLimit(50_000), grpc.StatusCode.FAILED_PRECONDITION),
    (ListDamaged(ListRef(7, ListKind.FOLLOWERS, 11), "no head"), grpc.StatusCode.DATA_LOSS),
    (NotOffered("not yet"), grpc.StatusCode.UNIMPLEMENTED),
    (Internal(), grpc.StatusCode.INTERNAL),
    (ShardUnavailable("away"), grpc.StatusCode.UNAVAILABLE),
    (ConnectionLost("cut"), grpc.StatusCode.UNAVAILABLE),
    (Stopping("ending"), grpc.StatusCode.UNAVAILABLE),
    (Overloaded("full"), grpc.StatusCode.RESOURCE_EXHAUSTED),
    (DeadlineExceeded("late"), grpc.StatusCode.DEADLINE_EXCEEDED),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda each: type(each).__name__)
def test_codes(error: GraphError, code: grpc.StatusCode) -> None:
    assert code_of(error) is code
    status = status_of(error)
    assert (status.code, status.details) == (code, error.message)


def test_every_kind_of_error_has_a_code_of_its_own() -> None:
    kinds = {type(error) for error, _ in ERRORS}
    known = set(GraphError.__subclasses__()) | set(TransientError.__subclasses__()) - {TransientError}
    assert known - {TransientError} <= kinds


@pytest.mark.parametrize(("error", "_code"), ERRORS, ids=lambda each: type(each).__name__)
def test_only_transient_errors_tell_when_to_retry(error: GraphError, _code: object) -> None:
    assert (error.retry_after_ms > 0) == isinstance(error, TransientError)
