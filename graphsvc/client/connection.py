"""One connection to a service: its stubs, deadlines, and errors made readable."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypeVar, cast

import grpc
import tenacity
from google.protobuf import any_pb2
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from graphsvc.client import retry
from graphsvc.client.errors import CallError
from graphsvc.v1 import admin_service_pb2_grpc, follower_graph_service_pb2_grpc

Request = TypeVar("Request")
Response = TypeVar("Response")

_CHANNEL_OPTIONS = [
    # The service is inside; a proxy for the way out would only be in the way.
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]


class Connection:
    """A channel and what can be called over it. Threads may share it.

    Usable as a context manager that closes it.
    """

    def __init__(self, target: str, timeout_s: float) -> None:
        """Connects at the first call.

        Args:
            target: HOST:PORT.
            timeout_s: the deadline of each call, in seconds.
        """
        self.target = target
        self._timeout_s = timeout_s
        self._channel = grpc.insecure_channel(target, options=_CHANNEL_OPTIONS)
        self.graph = follower_graph_service_pb2_grpc.FollowerGraphServiceStub(self._channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def call(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        retrying: tenacity.Retrying | None = None,
    ) -> Response:
        """Call one of the stubs' methods.

        Args:
            method: of `graph` or `admin`.
            request: its request.
            retrying: when to try again; None: when the service asks for it, within the deadline.

        Raises:
            CallError: it failed, and trying again did not help or was not worth it.
        """
        policy = retrying or retry.asked_for(self._timeout_s)
        return policy.copy()(lambda: self.once(method, request))

    def once(self, method: "grpc.UnaryUnaryMultiCallable[Request, Response]", request: Request) -> Response:
        """The same without any retry."""
        try:
            return method(request, timeout=self._timeout_s)
        except grpc.RpcError as error:
            raise call_error(cast("grpc.Call", error), self.target) from error

    def health(self) -> str:
        """What the service says of itself: SERVING, NOT_SERVING, or UNKNOWN if it says nothing.

        Raises:
            CallError: it can't be asked.
        """
        try:
            answer = self.once(self._health.Check, health_pb2.HealthCheckRequest())
        except CallError as error:
            if error.code in {"UNIMPLEMENTED", "NOT_FOUND"}:
                return "UNKNOWN"
            raise
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


def call_error(error: grpc.Call, target: str) -> CallError:
    """What a failed call says, with the details that the service sent along."""
    code, message = error.code().name, " ".join((error.details() or "").split())
    reason, field, retry_after_s = "", "", None
    for detail in _details(error):
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            detail.Unpack(info)
            reason = info.reason
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad = error_details_pb2.BadRequest()
            detail.Unpack(bad)
            field = bad.field_violations[0].field if bad.field_violations else ""
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            again = error_details_pb2.RetryInfo()
            detail.Unpack(again)
            retry_after_s = again.retry_delay.ToTimedelta().total_seconds()
    return CallError(code, message, reason, field, retry_after_s, target)


def _details(error: grpc.Call) -> Sequence[any_pb2.Any]:
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # the details contradict the status: something between us and the service made it
        return ()
    return status.details if status is not None else ()
