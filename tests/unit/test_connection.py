"""The pipelining connection, against a server of this test's own that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator

import hiredis
import pytest

from graphsvc.backends.redis.connection import Command, PipeliningConnection, ReplyError, connect
from graphsvc.model.errors import ConnectionLost, Overloaded

ECHO = Command(3, ("ECHO", "x"))


class ScriptedServer:
    """Keeps the commands it gets; answers when told."""

    def __init__(self) -> None:
        self.commands: list[list[bytes]] = []
        self.reads = 0
        self.port = 0
        self.arrived = asyncio.Event()
        self.writer: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer, parser = writer, hiredis.Reader()
        while data := await reader.read(1 << 20):
            self.reads += 1
            parser.feed(data)
            while (command := parser.gets()) is not False:
                self.commands.append(command)
            self.arrived.set()
        writer.close()

    async def got(self, count: int) -> None:
        """Wait for so many commands."""
        async with asyncio.timeout(5):
            while len(self.commands) < count:
                self.arrived.clear()
                await self.arrived.wait()

    def answer(self, *replies: bytes) -> None:
        assert self.writer is not None
        self.writer.write(b"".join(replies))


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer()
    listening = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.port = listening.sockets[0].getsockname()[1]
    yield scripted
    listening.close()
    if scripted.writer:
        scripted.writer.close()
    await listening.wait_closed()


@pytest.fixture
async def connection(server: ScriptedServer) -> AsyncIterator[PipeliningConnection]:
    connection = await connect("127.0.0.1", server.port, 4)
    yield connection
    connection.abort()
    await connection.closed


async def test_calls_of_one_turn_leave_in_one_write_and_select_only_on_change(
    server: ScriptedServer, connection: PipeliningConnection
) -> None:
    first = connection.submit([Command(3, ("GET", "a")), Command(3, ("GET", "b"))])
    second = connection.submit([Command(3, ("GET", "c")), Command(0, ("GET", "d"))])
    await server.got(6)
    assert server.reads == 1
    assert [b" ".join(command) for command in server.commands] == [
        b"SELECT 3", b"GET a", b"GET b", b"GET c", b"SELECT 0", b"GET d",
    ]  # fmt: skip
    server.answer(b"+OK\r\n", b"$1\r\nA\r\n", b"$-1\r\n", b":7\r\n", b"+OK\r\n", b"*1\r\n:1\r\n")
    assert await first == [b"A", None]
    assert await second == [7, [1]]


async def test_a_reply_in_pieces_is_one_reply(
    server: ScriptedServer, connection: PipeliningConnection
) -> None:
    call = connection.submit([Command(0, ("GET", "a"))])
    await server.got(1)
    for piece in (b"$", b"5\r\nhe", b"llo", b"\r", b"\n"):
        server.answer(piece)
        await asyncio.sleep(0.001)
    assert await call == [b"hello"]


async def test_error_replies_are_values(server: ScriptedServer, connection: PipeliningConnection) -> None:
    call = connection.submit([Command(0, ("GET", "a"))])
    await server.got(1)
    server.answer(b"-LOADING wait\r\n")
    [reply] = await call
    assert isinstance(reply, ReplyError)
    assert reply.code == "LOADING"


async def test_no_commands_are_answered_at_once(connection: PipeliningConnection) -> None:
    assert await connection.submit([]) == []
    assert connection.waiting == 0


async def test_replies_to_one_who_went_away_are_dropped(
    server: ScriptedServer, connection: PipeliningConnection
) -> None:
    gone = connection.submit([ECHO, ECHO])
    stays = connection.submit([ECHO])
    gone.cancel()
    await server.got(4)
    server.answer(b"+OK\r\n", b"+gone\r\n", b"+gone\r\n", b"+mine\r\n")
    assert await stays == [b"mine"]


async def test_a_broken_connection_fails_all_its_calls(
    server: ScriptedServer, connection: PipeliningConnection
) -> None:
    calls = [connection.submit([ECHO]) for _ in range(3)]
    await server.got(4)
    server.answer(b"+OK\r\n", b"+first\r\n")
    assert await calls[0] == [b"first"]
    assert server.writer is not None
    server.writer.close()
    for call in calls[1:]:
        with pytest.raises(ConnectionLost):
            await call
    assert not connection.usable
    with pytest.raises(ConnectionLost):
        connection.submit([ECHO])


@pytest.mark.parametrize(
    "nonsense", [b"!nonsense\r\n", b"+OK\r\n+one\r\n+nobody asked\r\n", b"-ERR no\r\n+x\r\n"]
)
async def test_where_order_is_in_doubt_the_connection_is_closed(
    server: ScriptedServer, connection: PipeliningConnection, nonsense: bytes
) -> None:
    call = connection.submit([ECHO])
    await server.got(2)
    server.answer(nonsense)
    async with asyncio.timeout(5):
        await connection.closed
        await asyncio.wait([call])
    if call.exception() is None:
        assert call.result() == [b"one"]
    else:
        assert isinstance(call.exception(), ConnectionLost)
    assert not connection.usable


async def test_a_full_queue_refuses_at_once_and_takes_again_when_answered(
    server: ScriptedServer, connection: PipeliningConnection
) -> None:
    calls = [connection.submit([ECHO]) for _ in range(4)]
    with pytest.raises(Overloaded):
        connection.submit([ECHO])
    for call in calls[1:]:
        call.cancel()  # they still wait for their replies: the queue stays full
    with pytest.raises(Overloaded):
        connection.submit([ECHO])
    await server.got(5)
    assert len(server.commands) == 5, "a refused call was sent"
    server.answer(b"+OK\r\n", *[b"+x\r\n"] * 4)
    assert await calls[0] == [b"x"]
    last = connection.submit([ECHO])
    await server.got(6)
    server.answer(b"+last\r\n")
    assert await last == [b"last"]
    assert connection.waiting == 0
