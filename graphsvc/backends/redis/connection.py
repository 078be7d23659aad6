"""The pipelining connection: one socket to one node, shared by all calls of an event loop.

Commands of all calls made in one turn of the loop leave in one write; replies are matched in order. A
caller that goes away leaves its replies to be read and dropped, so no caller ever gets another's reply: a
connection on which order is in doubt is closed, never used on.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import hiredis

from graphsvc.model.errors import ConnectionLost, Overloaded

Reply = Any
"""What RESP2 knows: bytes, int, None, lists of these; or `ReplyError`, as a value."""

MAX_WAITING_BYTES = 64 << 20
"""Bytes of commands that wait for their replies on one connection; beyond it calls are refused."""

_NOTHING = object()
_KEEPALIVE_S = 5


class Command(NamedTuple):
    """A command for one database. The words are its name and arguments."""

    database: int
    words: tuple[str | bytes | int, ...]
    library: bytes | None = None
    """The source of the library whose function it calls."""


class ReplyError(Exception):
    """An error reply of the server; its first word is the code (NOSCRIPT, LOADING, WRONGTYPE ...)."""

    @property
    def code(self) -> str:
        """The first word."""
        return str(self).partition(" ")[0]


class _Waiting:
    """A batch whose replies are still to come."""

    __slots__ = ("answer", "expected", "replies", "selects", "since", "size")

    def __init__(self, answer: asyncio.Future[list[Reply]], since: float) -> None:
        self.answer = answer
        self.replies: list[Reply] = []
        self.selects: list[int] = []
        self.expected = 0
        self.size = 0
        self.since = since

    def finish(self) -> None:
        """Hand over the replies, without those of SELECT; raises if a SELECT failed."""
        for position in reversed(self.selects):
            if self.replies.pop(position) != b"OK":
                raise ConnectionLost("the node refused a database")
        if not self.answer.done():
            self.answer.set_result(self.replies)


class PipeliningConnection(asyncio.Protocol):
    """One connection; made by `connect`. Used from one event loop only."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(
            protocolError=ConnectionLost, replyError=ReplyError, notEnoughData=_NOTHING
        )
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._unsent: list[bytes] = []
        self._database = 0
        self._transport: asyncio.Transport | None = None
        self.closed = self._loop.create_future()

    @property
    def usable(self) -> bool:
        """Whether commands may be submitted."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def waiting(self) -> int:
        """Batches whose replies are still to come, those of callers gone away included."""
        return len(self._waiting)

    def oldest_wait_s(self) -> float:
        """Seconds since the batch that is to be answered next was submitted; 0 when none is."""
        return self._loop.time() - self._waiting[0].since if self._waiting else 0.0

    def submit(self, commands: Sequence[Command]) -> asyncio.Future[list[Reply]]:
        """Send commands, in order; the future gives one reply each, error replies as values.

        It fails with `ConnectionLost` when the connection breaks first. Cancelling it is harmless.

        Raises:
            Overloaded: too much waits already; nothing was sent.
            ConnectionLost: the connection is closed; nothing was sent.
        """
        if not self.usable:
            raise ConnectionLost("the connection to the instance is closed")
        if len(self._waiting) >= self._max_waiting or self._waiting_bytes >= MAX_WAITING_BYTES:
            raise Overloaded("too many calls wait for this shard's instance; try again")
        batch = _Waiting(self._loop.create_future(), self._loop.time())
        if not commands:
            batch.finish()
            return batch.answer
        packed: list[bytes] = []
        for database, words, _ in commands:
            if database != self._database:
                batch.selects.append(len(packed))
                packed.append(_pack(("SELECT", database)))
                self._database = database
            packed.append(_pack(words))
        data = b"".join(packed)
        batch.expected = len(packed)
        batch.size = len(data)
        self._waiting.append(batch)
        self._waiting_bytes += batch.size
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(data)
        return batch.answer

    def abort(self) -> None:
        """Close at once; calls under way fail with `ConnectionLost`."""
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        data, self._unsent = self._unsent, []
        if self.usable:
            assert self._transport is not None
            self._transport.write(b"".join(data))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)
        _notice_dead_peers(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not _NOTHING:
                self._match(reply)
        except ConnectionLost:
            self.abort()

    def _match(self, reply: Reply) -> None:
        if not self._waiting:
            raise ConnectionLost("a reply nobody asked for")
        batch = self._waiting[0]
        batch.replies.append(reply)
        if len(batch.replies) == batch.expected:
            self._waiting.popleft()
            self._waiting_bytes -= batch.size
            if not batch.answer.done():
                # From here on the batch is not in the queue: it must be answered even if finish raises.
                try:
                    batch.finish()
                except ConnectionLost as error:
                    batch.answer.set_exception(error)
                    raise

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (whatever the cause)
        """See asyncio.Protocol."""
        waiting, self._waiting = self._waiting, deque()
        self._waiting_bytes = 0
        for batch in waiting:
            if not batch.answer.done():
                batch.answer.set_exception(ConnectionLost("the connection to the instance broke"))
        if not self.closed.done():
            self.closed.set_result(None)


async def connect(host: str, port: int, max_waiting: int) -> PipeliningConnection:
    """Open a connection.

    Raises:
        OSError: nothing listens there, or the host is not known.
    """
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: PipeliningConnection(max_waiting), host, port)
    return connection


def _pack(words: tuple[str | bytes | int, ...]) -> bytes:
    # hiredis' own annotation says a tuple of one.
    return cast("bytes", hiredis.pack_command(words))  # type: ignore[arg-type]


def _notice_dead_peers(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux: unacknowledged data closes the connection
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _KEEPALIVE_S * 1_000)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
