"""One redis-server or valkey-server process in a folder of its own: start, find again, stop.

The process outlives the one that started it, so that a killed service leaves its data alone. While it
lives it holds the lock on its folder (it inherits the open file), so two never run on the same data, and
whoever comes later can tell that it is there, whatever became of process ids meanwhile.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, Self

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from graphsvc.backends.redis.node_config import (
    CONFIG_FILE,
    LOCK_FILE,
    LOG_FILE,
    PID_FILE,
    configured_port,
    node_config,
)
from graphsvc.model.topology import Node

NODE_HOST = "127.0.0.1"
_POLL_S = 0.02
_WATCH_S = 0.2
_PROBE_TIMEOUT_S = 1.0
_LOG_LINES = 12
_LOG_BYTES = 8192


class NodeError(Exception):
    """A node does not run as it should; the message says which, why, and what to do."""


@asynccontextmanager
async def admin_client(node: Node, timeout_s: float = 10.0) -> AsyncIterator[Redis]:
    """A connection for single commands to a node: no retries, closed at the end."""
    client = Redis(
        host=node.host,
        port=node.port,
        protocol=2,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        single_connection_client=True,
    )
    try:
        yield client
    finally:
        await client.aclose()


class NodeProcess:
    """A running node. Not to be made by hand: see `start` and `find`."""

    def __init__(
        self, folder: Path, node: Node, pid: int, child: subprocess.Popen[bytes] | None, log_begin: int
    ) -> None:
        self.folder = folder
        self.node = node
        self.pid = pid
        self._child = child
        self._log_begin = log_begin

    @classmethod
    async def start(cls, binary: Path, folder: Path, port: int) -> Self:
        """Start a node as `spawn` does, and wait until it answers; one that does not is ended again.

        Raises:
            NodeError: it ended (with the last lines of its log), or did not answer in time and was ended.
            OSError: the folder cannot be written.
        """
        process = cls.spawn(binary, folder, port)
        try:
            await process.wait_until_answering()
        except BaseException:
            await process.stop()
            raise
        return process

    @classmethod
    async def find(
        cls, folder: Path, *, answer_within_s: float = 10.0, load_within_s: float = 3600.0
    ) -> Self | None:
        """The node that still runs on this folder, once it answers; None if none does.

        Raises:
            NodeError: one runs, but does not answer, or was not started by `start`. It is left alone.
        """
        process = cls._holder(folder)
        if process is None:
            by_hand = cls._configured(folder)
            if by_hand is not None and await by_hand.answers():
                raise NodeError(
                    f"a server that was started by hand runs on {folder} (pid {by_hand.pid}); "
                    f"stop it first: kill {by_hand.pid}"
                )
            return None
        try:
            await process.wait_until_answering(answer_within_s, load_within_s)
        except NodeError as error:
            if not process.running():
                return None  # it was about to end
            pid = process.pid or _recorded_pid(process.folder)
            how = f"kill -9 {pid}" if pid else f"fuser -k {process.folder / LOCK_FILE}"
            raise NodeError(f"{error}\nIt ran before and was left alone. Wait, or stop it: {how}") from error
        return process

    async def wait_until_answering(
        self, answer_within_s: float = 30.0, load_within_s: float = 3600.0
    ) -> None:
        """Return when the node serves commands, its data loaded.

        Args:
            answer_within_s: seconds until it must answer at all.
            load_within_s: seconds that it may take to load its data.

        Raises:
            NodeError: it ended, or does not answer in time.
        """
        begin = time.monotonic()
        loading = False
        while time.monotonic() < begin + (load_within_s if loading else answer_within_s):
            if not self.running():
                raise NodeError(f"the node on {self.folder} ended; its log:\n{self.log_tail()}")
            persistence = await self._info_of_own("persistence")
            if persistence is not None:
                loading = bool(persistence["loading"])
                if not loading:
                    return
            await asyncio.sleep(_POLL_S)
        problem = "was still loading its data" if loading else "did not answer"
        raise NodeError(
            f"the node on {self.folder} {problem} "
            f"after {time.monotonic() - begin:.0f} seconds; its log:\n{self.log_tail()}"
        )

    async def answers(self) -> bool:
        """Whether it answers on its port, itself and not another that took the port; it may be loading."""
        return await self._info_of_own("server") is not None

    def running(self) -> bool:
        """Whether the process still lives; it may hang."""
        if self._child is not None:
            return self._child.poll() is None
        return _is_locked(self.folder)

    async def ended(self) -> None:
        """Return when the process is no more."""
        while self.running():  # noqa: ASYNC110 (a process that is not our child sets no event)
            await asyncio.sleep(_WATCH_S)

    def kill(self) -> None:
        """End the process at once, with SIGKILL."""
        self._signal(signal.SIGKILL)

    async def stop(self, patience_s: float = 10.0) -> None:
        """Stop the process: by SHUTDOWN, which flushes its data, else SIGTERM, at last SIGKILL.

        Args:
            patience_s: seconds to wait after each. A node that cannot be told SHUTDOWN, as it does not
                answer, gets the SIGTERM at once.

        Raises:
            NodeError: it outlived all three.
        """
        if not self.running() or (await self._shut_down() and await self._ended_within(patience_s)):
            return
        self._signal(signal.SIGTERM)
        if await self._ended_within(patience_s):
            return
        self.kill()
        if not await self._ended_within(patience_s):
            raise NodeError(f"the node on {self.folder} (pid {self.pid}) cannot be ended")

    def log_tail(self) -> str:
        """The last lines that the process wrote into its log, for messages."""
        with (self.folder / LOG_FILE).open("rb") as log:
            log.seek(max(self._log_begin, _size(self.folder / LOG_FILE) - _LOG_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])

    @classmethod
    def spawn(cls, binary: Path, folder: Path, port: int) -> Self:
        """Start a node on the data in `folder`, which is made if it is missing; it answers later.

        Args:
            binary: a redis-server or valkey-server.
            folder: the node's own; its AOF stands there, or will.
            port: on 127.0.0.1.

        Raises:
            NodeError: one runs there already, or the binary cannot be run.
            OSError: the folder cannot be written.
        """
        node = Node(host=NODE_HOST, port=port)
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        log_begin = _size(folder / LOG_FILE)
        with (folder / LOCK_FILE).open("a") as lock, (folder / LOG_FILE).open("ab") as log:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise NodeError(f"a node already runs on {folder}") from error
            # A predecessor that was killed left its process id, which may be another's by now.
            (folder / PID_FILE).unlink(missing_ok=True)
            (folder / CONFIG_FILE).write_text(node_config(folder, node))
            try:
                # A session of its own: Ctrl-C in the terminal is for the service, which stops nodes last.
                child = subprocess.Popen(
                    [binary, folder / CONFIG_FILE],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(lock.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                raise NodeError(f"{binary} cannot be run: {error.strerror}") from error
        return cls(folder, node, child.pid, child, log_begin)

    @classmethod
    def _holder(cls, folder: Path) -> Self | None:
        """The process that holds the folder's lock, as far as its files tell."""
        if not _is_locked(folder):
            return None
        process = cls._configured(folder)
        if process is None:
            raise NodeError(f"a program holds {folder / LOCK_FILE} but left no configuration: end it first")
        return process

    @classmethod
    def _configured(cls, folder: Path) -> Self | None:
        """The process that the folder's files speak of; it may have ended."""
        folder = folder.resolve()
        port = configured_port(_read(folder / CONFIG_FILE))
        if port is None:
            return None
        return cls(folder, Node(host=NODE_HOST, port=port), _recorded_pid(folder), None, log_begin=0)

    async def _shut_down(self) -> bool:
        """Whether it was told to end by itself."""
        if not await self.answers():
            return False
        try:
            async with admin_client(self.node, _PROBE_TIMEOUT_S) as client:
                await client.shutdown()
        except RedisTimeoutError:
            return True  # it may flush much, or hang
        except (RedisError, OSError):
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        # The lock (or the unreaped child) says that the process lives, so its id is not another's. An id of
        # 0 is not known yet: a signal to it would be one to ourselves.
        pid = self.pid or _recorded_pid(self.folder)
        if pid and self.running():
            with suppress(ProcessLookupError):  # it ended; a child that rewrites its log still holds the lock
                os.kill(pid, number)

    async def _ended_within(self, seconds: float) -> bool:
        return await _within(seconds, lambda: not self.running())

    async def _info_of_own(self, section: str) -> dict[str, Any] | None:
        """A section of INFO; None where nobody answers, or somebody else who has the port."""
        try:
            async with admin_client(self.node, _PROBE_TIMEOUT_S) as client:
                folder = (await client.config_get("dir"))["dir"]
                pid = (await client.info("server"))["process_id"]
                if folder != str(self.folder) or (self._child is not None and pid != self.pid):
                    return None
                self.pid = pid
                return await client.info(section)
        except (RedisError, OSError):
            return None


def _is_locked(folder: Path) -> bool:
    try:
        lock = (folder / LOCK_FILE).open("rb")
    except FileNotFoundError:
        return False
    with closing(lock):
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _recorded_pid(folder: Path) -> int:
    """What the node wrote into its pid file; 0 where there is none yet."""
    text = _read(folder / PID_FILE).strip()
    return int(text) if text.isdigit() else 0


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


async def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= ends:
            return False
        await asyncio.sleep(_POLL_S)
    return True
