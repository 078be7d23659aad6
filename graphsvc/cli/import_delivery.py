"""One batch of edges to the service, until all of it is acknowledged or refused for good."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import tenacity

from graphsvc.cli.edge_rows import Reject, Rows
from graphsvc.client.errors import CallError
from graphsvc.v1 import admin_service_pb2 as pb
from graphsvc.v1 import edges_pb2

LARGEST_BATCH = 10_000
"""Edges that the service takes in one call."""

Send = Callable[[pb.BatchImportEdgesRequest], pb.BatchImportEdgesResponse]
Name = Callable[[int], str]
"""How an id is written for people."""


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Edges as columns of one length, each with the line it comes from."""

    lines: Sequence[int]
    followers: Sequence[int]
    followees: Sequence[int]
    times_us: Sequence[int]
    """Empty: now."""

    @classmethod
    def of(cls, rows: Rows, *, mutual: bool) -> Self:
        """The edges of rows: one each, or with `mutual` one each way."""
        if not mutual:
            return cls(rows.lines, rows.followers, rows.followees, rows.times_us)
        return cls(
            [*rows.lines, *rows.lines],
            rows.followers + rows.followees,
            rows.followees + rows.followers,
            rows.times_us * 2,
        )

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, begin: int, end: int) -> Self:
        """The edges of these positions."""
        columns = self.lines, self.followers, self.followees, self.times_us
        return type(self)(*(column[begin:end] for column in columns))

    def pick(self, positions: Iterable[int]) -> Self:
        """The edges at these positions."""
        at = list(positions)
        columns = self.lines, self.followers, self.followees, self.times_us
        return type(self)(*([column[each] for each in at] if column else [] for column in columns))

    def request(self) -> pb.BatchImportEdgesRequest:
        """The call that imports them."""
        return pb.BatchImportEdgesRequest(
            kind=pb.BatchImportEdgesRequest.KIND_FOLLOW_USER,
            follower_ids=self.followers,
            target_ids=self.followees,
            followed_at_us=self.times_us,
        )


@dataclass(slots=True)
class Delivery:
    """What became of a batch."""

    edges: int = 0
    """Acknowledged."""
    changed: int = 0
    inverse_pending: int = 0
    rejects: list[Reject] = field(default_factory=list)
    """One a line."""


def deliver(edges: EdgeColumns, send: Send, name: Name, retrying: tenacity.Retrying) -> Delivery:
    """Send edges, again where that may help, until each is acknowledged or refused.

    Raises:
        CallError: `retrying` gave up, or the service refuses the call as a whole.
    """
    delivery = Delivery()
    for begin in range(0, len(edges), LARGEST_BATCH):
        _deliver_part(edges.part(begin, begin + LARGEST_BATCH), send, name, retrying, delivery)
    return delivery


def _deliver_part(
    edges: EdgeColumns, send: Send, name: Name, retrying: tenacity.Retrying, delivery: Delivery
) -> None:
    left = edges

    def attempt() -> None:
        nonlocal left
        response = send(left.request())
        again = _settle(left, response, name, delivery)
        if again:
            left = left.pick(error.index for error in again)
            raise _as_call_error(again)

    retrying.copy()(attempt)


def _settle(
    edges: EdgeColumns, response: pb.BatchImportEdgesResponse, name: Name, delivery: Delivery
) -> list[edges_pb2.ItemError]:
    """Take note of what is settled; returns the errors that a retry may help."""
    again = [error for error in response.errors if error.retry_after_ms]
    refused = {reject.line for reject in delivery.rejects}
    for error in response.errors:
        line = edges.lines[error.index]
        if not error.retry_after_ms and line not in refused:
            refused.add(line)
            follower, followee = name(edges.followers[error.index]), name(edges.followees[error.index])
            detail = f"refused by the service: follower {follower}, followee {followee}"
            delivery.rejects.append(Reject(line, error.reason, detail))
    delivery.edges += len(edges) - len(response.errors)
    delivery.changed += response.changed
    delivery.inverse_pending += response.inverse_pending
    return again


def _as_call_error(errors: Sequence[edges_pb2.ItemError]) -> CallError:
    longest = max(error.retry_after_ms for error in errors) / 1_000
    reasons = ", ".join(sorted({error.reason for error in errors}))
    return CallError(
        "UNAVAILABLE", f"{len(errors):,} edges are not acknowledged ({reasons})", reasons, "", longest
    )
