"""Error codes: what an error of the model is on the wire, with google.rpc details."""

import grpc
from google.protobuf import any_pb2, duration_pb2, message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from graphsvc.model.errors import (
    DeadlineExceeded,
    FollowLimit,
    GraphError,
    Internal,
    InvalidArgument,
    ListDamaged,
    NotOffered,
    Overloaded,
    ShardUnavailable,
    Stopping,
)

DOMAIN = "graphsvc"

_CODES: tuple[tuple[type[GraphError], grpc.StatusCode], ...] = (
    (InvalidArgument, grpc.StatusCode.INVALID_ARGUMENT),
    (FollowLimit, grpc.StatusCode.FAILED_PRECONDITION),
    (ShardUnavailable, grpc.StatusCode.UNAVAILABLE),
    (Stopping, grpc.StatusCode.UNAVAILABLE),
    (Overloaded, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (DeadlineExceeded, grpc.StatusCode.DEADLINE_EXCEEDED),
    (ListDamaged, grpc.StatusCode.DATA_LOSS),
    (NotOffered, grpc.StatusCode.UNIMPLEMENTED),
    (Internal, grpc.StatusCode.INTERNAL),
)


def code_of(error: GraphError) -> grpc.StatusCode:
    """The status code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), grpc.StatusCode.INTERNAL)


def code_number(code: grpc.StatusCode) -> int:
    """The code as it stands in messages."""
    number: int = code.value[0]
    return number


def status_of(error: GraphError) -> grpc.Status:
    """The whole status: message, ErrorInfo, and BadRequest and RetryInfo where they apply."""
    details: list[message.Message] = [error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)]
    if isinstance(error, InvalidArgument):
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.problem)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if error.retry_after_ms:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(error.retry_after_ms)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    packed = [any_pb2.Any() for _ in details]
    for any_detail, detail in zip(packed, details, strict=True):
        any_detail.Pack(detail)
    whole = status_pb2.Status(code=code_number(code_of(error)), message=error.message, details=packed)
    status: grpc.Status = rpc_status.to_status(whole)
    return status
