"""The boundary: around every call the deadline, the metrics, and errors as statuses; in this one place."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import grpc
import structlog
from google.protobuf.descriptor import ServiceDescriptor

from graphsvc.model.errors import DeadlineExceeded, GraphError, Internal, NotOffered, Stopping
from graphsvc.runtime.deadline import Deadline
from graphsvc.runtime.metrics import Metrics
from graphsvc.service.status import code_of, status_of

Handler = Callable[[Any, Deadline], Awaitable[Any]]
GrpcHandler = Callable[[Any, "grpc.aio.ServicerContext[Any, Any]"], Awaitable[Any]]

log = structlog.get_logger()


class Boundary:
    """Makes the handlers of a servicer into handlers of gRPC."""

    def __init__(self, metrics: Metrics, default_deadline_s: float, deadlines_s: dict[str, float]) -> None:
        """`deadlines_s` has the defaults of methods that differ, by name."""
        self._metrics = metrics
        self._default_deadline_s = default_deadline_s
        self._deadlines_s = deadlines_s
        self._stopping = False
        self.in_flight = 0
        """Calls that have begun and not ended."""
        self._last_began_s = 0.0

    def quiet_for(self, seconds: float) -> bool:
        """Whether no call is in flight, and none has begun for so long."""
        return not self.in_flight and time.perf_counter() - self._last_began_s >= seconds

    def refuse_new_calls(self) -> None:
        """From now on every new call is told that the service is stopping."""
        self._stopping = True

    def serve(self, service: ServiceDescriptor, servicer: object) -> Any:
        """A servicer as the generated `add_..._to_server` take it.

        Methods that the servicer lacks answer UNIMPLEMENTED.
        """
        return SimpleNamespace(
            **{
                method.name: self._wrap(
                    f"{service.name}/{method.name}", getattr(servicer, method.name, _not_offered)
                )
                for method in service.methods
            }
        )

    def _wrap(self, method: str, handler: Handler) -> GrpcHandler:
        default_s = self._deadlines_s.get(method, self._default_deadline_s)
        seconds = self._metrics.call_seconds.labels(method)
        succeeded = self._metrics.calls.labels(method, grpc.StatusCode.OK.name)

        async def call(request: Any, context: "grpc.aio.ServicerContext[Any, Any]") -> Any:
            began = time.perf_counter()
            self.in_flight += 1
            self._last_began_s = began
            left_s: float | None = context.time_remaining()  # type: ignore[assignment,unused-ignore]
            deadline = Deadline.after(default_s if left_s is None else left_s)
            try:
                response = await self._in_time(handler, request, deadline)
            except GraphError as error:
                self._metrics.calls.labels(method, code_of(error).name).inc()
                seconds.observe(time.perf_counter() - began)
                await context.abort_with_status(status_of(error))
            except asyncio.CancelledError:
                self._metrics.calls.labels(method, grpc.StatusCode.CANCELLED.name).inc()
                seconds.observe(time.perf_counter() - began)
                raise
            else:
                succeeded.inc()
                seconds.observe(time.perf_counter() - began)
                return response
            finally:
                self.in_flight -= 1

        return call

    async def _in_time(self, handler: Handler, request: Any, deadline: Deadline) -> Any:
        if self._stopping:
            raise Stopping("the service is stopping; try again, or another server")
        try:
            async with asyncio.timeout(max(0.0, deadline.remaining_s())):
                return await handler(request, deadline)
        except TimeoutError:
            raise DeadlineExceeded("not answered before the deadline; repeating the call is safe") from None
        except GraphError:
            raise
        except Exception as error:
            log.exception("call failed by a fault of the service")
            raise Internal from error


async def _not_offered(_request: Any, _deadline: Deadline) -> None:
    raise NotOffered("this call is not offered yet; the README says what is")
