"""A link to an instance's primary: a pipelining connection that is opened when needed and opened again.

Decides which failures are transient, and checks on every new connection that the node is the one meant.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

import structlog

from graphsvc.backends.redis.connection import (
    Command,
    PipeliningConnection,
    Reply,
    ReplyError,
    connect,
)
from graphsvc.backends.redis.identity import IDENTITY_DATABASE, IDENTITY_KEY, identity_problem
from graphsvc.backends.redis.node_config import STORE_SETTINGS, settings_problem
from graphsvc.model.errors import GraphError, Internal, ShardUnavailable
from graphsvc.model.ids import SHARDS
from graphsvc.model.topology import ClusterSettings, Instance, Node
from graphsvc.runtime.logs import OnceASecond
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings

TRANSIENT_CODES = frozenset(
    {"BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM",
     "READONLY", "TRYAGAIN", "UNBLOCKED", "WRONGPASS"}
)  # fmt: skip
"""Error replies that say: not this node, or not now."""

DAMAGE_CODES = frozenset({"DAMAGED", "WRONGTYPE"})
"""Error replies about what is stored of one list: they are handed to who asked about it."""

_LOADS = 5
"""Times that a library is loaded for one call: somebody may flush the functions in between."""

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0

log = structlog.get_logger()


class Link:
    """One connection at a time to one primary. `run` is all there is to it."""

    def __init__(
        self, instance: Instance, cluster: ClusterSettings, settings: RedisSettings, metrics: Metrics
    ) -> None:
        self._instance = instance
        self._cluster = cluster
        self._settings = settings
        self._metrics = metrics
        self._connection: PipeliningConnection | None = None
        self._opening: asyncio.Task[PipeliningConnection] | None = None
        self._pause_s = 0.0
        self._closed_until = 0.0
        self._refusals = OnceASecond()
        self._shut = False

    async def run(self, commands: Sequence[Command]) -> list[Reply]:
        """Send commands and return their replies, in order; those of DAMAGE_CODES as `ReplyError` values.

        Raises:
            ConnectionLost: the connection broke before all replies came.
            ShardUnavailable: the node cannot be reached, is not the one meant, or refuses for now.
            Overloaded: too much waits already.
            Internal: the node answered with an error that says the data or this program is wrong.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        name = self._instance.name
        for word, count in Counter(command.words[0] for command in commands).items():
            self._metrics.redis_commands.labels(name, word).inc(count)
        try:
            replies = await self._ask(commands)
        except GraphError as error:
            self._metrics.redis_failures.labels(name, error.reason).inc()
            raise
        finally:
            self._metrics.redis_seconds.labels(name).observe(loop.time() - began)
        return replies

    async def close(self) -> None:
        """Close the connection; calls under way fail as transient."""
        self._shut = True
        if self._opening is not None:
            self._opening.cancel()
        if self._connection is not None:
            self._connection.abort()
            await self._connection.closed

    async def _ask(self, commands: Sequence[Command]) -> list[Reply]:
        connection = await self._open()
        try:
            replies = await connection.submit(commands)
        except asyncio.CancelledError:
            self._give_up_if_stuck(connection)
            raise
        await self._teach(connection, commands, replies)
        for command, reply in zip(commands, replies, strict=True):
            if isinstance(reply, ReplyError) and reply.code not in DAMAGE_CODES:
                raise self._verdict(command, reply)
        return replies

    async def _teach(
        self, connection: PipeliningConnection, commands: Sequence[Command], replies: list[Reply]
    ) -> None:
        """Repeat the calls of functions that the node does not know, after loading their libraries."""
        for _ in range(_LOADS):
            unknown = [i for i, reply in enumerate(replies) if _is_unknown(reply)]
            if not unknown:
                return
            libraries = {commands[i].library for i in unknown} - {None}
            loads = [
                Command(IDENTITY_DATABASE, ("FUNCTION", "LOAD", "REPLACE", each))
                for each in libraries
                if each
            ]
            again = await connection.submit([*loads, *(commands[i] for i in unknown)])
            for load, reply in zip(loads, again[: len(loads)], strict=True):
                if isinstance(reply, ReplyError):
                    raise self._verdict(load, reply)
            for i, reply in zip(unknown, again[len(loads) :], strict=True):
                replies[i] = reply

    def _verdict(self, command: Command, reply: ReplyError) -> GraphError:
        passed_over = self._refusals.due()
        if passed_over is not None:
            log.warning(
                "instance refused a command", instance=self._instance.name, shard=command.database,
                command=command.words[0], error=str(reply), before_this=passed_over,
            )  # fmt: skip
        if reply.code in TRANSIENT_CODES or _is_unknown(reply):
            return ShardUnavailable("the shard's instance refuses calls for now")
        return Internal()

    def _give_up_if_stuck(self, connection: PipeliningConnection) -> None:
        # A caller has waited its time in vain. A node that owes an answer for longer than any write may
        # take is hung or cut off: nothing queued behind it is of use to anyone any more.
        if connection.oldest_wait_s() * 1_000 > self._settings.write_timeout_ms:
            log.warning("instance does not answer; closing its connection", instance=self._instance.name)
            connection.abort()

    async def _open(self) -> PipeliningConnection:
        if self._connection is not None and self._connection.usable:
            return self._connection
        if self._opening is None:
            self._refuse_while_pausing()
            # A task of its own: the caller that happened to come first may be cancelled.
            self._opening = asyncio.create_task(self._connect())
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    def _opened(self, task: asyncio.Task[PipeliningConnection]) -> None:
        self._opening = None
        if task.cancelled():
            return
        if task.exception() is None:
            self._connection = task.result()
            self._pause_s = 0.0
            if self._shut:
                self._connection.abort()
        else:
            self._pause_s = min(_LONGEST_PAUSE_S, max(_FIRST_PAUSE_S, 2 * self._pause_s))
            jittered = self._pause_s * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load, guards nothing)
            self._closed_until = asyncio.get_running_loop().time() + jittered

    def _refuse_while_pausing(self) -> None:
        if self._shut or asyncio.get_running_loop().time() < self._closed_until:
            raise ShardUnavailable("the shard's instance cannot be reached")

    async def _connect(self) -> PipeliningConnection:
        node = self._instance.primary
        if node is None:
            raise ShardUnavailable("the shard has no primary for now")
        try:
            async with asyncio.timeout(self._settings.connect_timeout_ms / 1_000):
                connection = await connect(node.host, node.port, self._settings.max_waiting)
                try:
                    await self._check_node(connection, node)
                except BaseException:
                    connection.abort()
                    raise
        except (OSError, TimeoutError) as error:
            log.warning(
                "instance cannot be reached", instance=self._instance.name, node=str(node), error=repr(error)
            )
            raise ShardUnavailable("the shard's instance cannot be reached") from error
        log.info("connected", instance=self._instance.name, node=str(node))
        return connection

    async def _check_node(self, connection: PipeliningConnection, node: Node) -> None:
        """Refuse one of another cluster or instance, with too few databases (a failed SELECT misplaces), or
        whose settings would store lists otherwise."""
        reply, record, found = await connection.submit(
            [
                Command(SHARDS - 1, ("EXISTS", IDENTITY_KEY)),
                Command(IDENTITY_DATABASE, ("GET", IDENTITY_KEY)),
                Command(IDENTITY_DATABASE, ("CONFIG", "GET", *STORE_SETTINGS)),
            ]
        )
        problem = next((str(each) for each in (reply, record, found) if isinstance(each, ReplyError)), None)
        problem = problem or identity_problem(record, self._cluster, self._instance.name)
        problem = problem or settings_problem(dict(zip(found[::2], found[1::2], strict=True)))
        if problem:
            log.error("node refused", instance=self._instance.name, node=str(node), problem=problem)
            raise ShardUnavailable("the shard's instance is not ready")


def _is_unknown(reply: Reply) -> bool:
    """Whether the node lacks a function: it is new, or FUNCTION FLUSH emptied it."""
    return isinstance(reply, ReplyError) and str(reply) == "ERR Function not found"
