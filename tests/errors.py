"""What a failed call told its caller."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True)
class Refusal:
    """A status and its details."""

    code: grpc.StatusCode
    message: str
    reason: str
    fields: tuple[str, ...]
    retry_after_ms: int


async def refusal(call: Awaitable[Any]) -> Refusal:
    """Wait for a call that must fail with a status of this service."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = caught.value
    metadata = tuple(error.trailing_metadata() or ())
    status = rpc_status.from_call(_Call(error.code(), error.details() or "", metadata))
    assert status is not None, f"no details: {error}"
    info, bad, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    for detail in status.details:
        for kind in (info, bad, retry):
            if detail.Is(kind.DESCRIPTOR):
                detail.Unpack(kind)
    assert info.domain == "graphsvc"
    fields = tuple(violation.field for violation in bad.field_violations)
    return Refusal(
        error.code(), error.details() or "", info.reason, fields, retry.retry_delay.ToMilliseconds()
    )


@dataclass(frozen=True)
class _Call:
    # rpc_status reads a synchronous call; an error of grpc.aio has the same parts.
    status_code: grpc.StatusCode
    text: str
    metadata: tuple[Any, ...]

    def code(self) -> grpc.StatusCode:
        return self.status_code

    def details(self) -> str:
        return self.text

    def trailing_metadata(self) -> tuple[Any, ...]:
        return self.metadata
