"""One batch of edges to the service, until all of it is acknowledged or refused for good."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import tenacity

from graphsvc.cli.edge_files.rows import Reject, Rows
from graphsvc.client.errors import CallError
from graphsvc.model.errors import Reason
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
    """Acknowledged, and shown on both sides."""
    changed: int = 0
    inverse_pending: int = 0
    """Edges that the followers' side did not show at first, and that were sent again until it did."""
    rejects: list[Reject] = field(default_factory=list)
    """One a line."""


def deliver(edges: EdgeColumns, send: Send, name: Name, retrying: tenacity.Retrying) -> Delivery:
    """Send edges, again where that may help, until each is acknowledged or refused.

    Raises:
        CallError: `retrying` gave up, or the service refuses the call as a whole.
    """
    delivery = Delivery()
    refusals: list[Reject] = []
    for begin in range(0, len(edges), LARGEST_BATCH):
        part = _Part(edges.part(begin, begin + LARGEST_BATCH), send, name, delivery, refusals)
        retrying.copy()(part.attempt)
        delivery.edges += part.kept
    delivery.rejects = _one_a_line(refusals, edges.lines)
    return delivery


def _one_a_line(refusals: list[Reject], lines: Sequence[int]) -> list[Reject]:
    """The first refusal of each line; of a line that is two edges, whether the other was written."""
    if not refusals:
        return []
    edges, refused = Counter(lines), Counter(each.line for each in refusals)
    first = {each.line: each for each in reversed(refusals)}
    return [
        each
        if refused[line] == edges[line]
        else each._replace(detail=f"{each.detail} (the other direction is written)")
        for line, each in sorted(first.items())
    ]


class _Part:
    """The edges of one call, while they are sent until nothing is left."""

    def __init__(
        self, edges: EdgeColumns, send: Send, name: Name, delivery: Delivery, refusals: list[Reject]
    ) -> None:
        self._left = edges
        self._send = send
        self._name = name
        self._delivery = delivery
        self._refusals = refusals
        self.kept = len(edges)
        """Edges that are not refused."""

    def attempt(self) -> None:
        response = self._send(self._left.request())
        self._delivery.changed += response.changed
        self._delivery.inverse_pending += response.inverse_pending
        refused = {error.index for error in response.errors if not error.retry_after_ms}
        again = [error for error in response.errors if error.retry_after_ms]
        self._refuse([error for error in response.errors if not error.retry_after_ms])
        if response.inverse_pending:
            # It isn't told which: all are sent again, which mends those and changes no other.
            self._left = self._left.pick(each for each in range(len(self._left)) if each not in refused)
        elif again:
            self._left = self._left.pick(error.index for error in again)
        if again:
            raise _not_acknowledged(again)
        if response.inverse_pending:
            raise _pending(response.inverse_pending)

    def _refuse(self, errors: Sequence[edges_pb2.ItemError]) -> None:
        self.kept -= len(errors)
        for error in errors:
            line = self._left.lines[error.index]
            pair = self._left.followers[error.index], self._left.followees[error.index]
            self._refusals.append(Reject(line, error.reason, _refusal(pair, error.message, self._name)))


_COLUMNS = {"follower_ids": "follower", "target_ids": "followee", "followed_at_us": "time"}


def _refusal(pair: tuple[int, int], message: str, name: Name) -> str:
    """What the service says of an edge, in the words of the file: its columns, its way to write ids."""
    follower, followee = map(name, pair)
    detail = f"refused by the service: follower {follower}, followee {followee}"
    field = re.match(r"(\w+)\[\d+\]: ", message)
    if field:
        message = f"{_COLUMNS.get(field[1], field[1])}: {message[field.end() :]}"
    for each in pair:
        message = re.sub(rf"\b{each}\b", name(each), message)
    return f"{detail}: {message}" if message else detail


def _not_acknowledged(errors: Sequence[edges_pb2.ItemError]) -> CallError:
    longest_s = max(error.retry_after_ms for error in errors) / 1_000
    reasons = ", ".join(sorted({error.reason for error in errors}))
    message = f"{len(errors):,} edges are not acknowledged ({reasons})"
    return CallError("UNAVAILABLE", message, reasons, retry_after_s=longest_s)


def _pending(edges: int) -> CallError:
    message = f"{edges:,} edges do not show in the lists of followers yet"
    return CallError("UNAVAILABLE", message, Reason.SHARD_UNAVAILABLE)
