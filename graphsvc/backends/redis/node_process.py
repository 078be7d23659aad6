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
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Self

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError

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
_COMMAND_TIMEOUT_S = 5.0
_LOG_LINES = 12


class NodeError(Exception):
    """A node does not run as it should; the message says which, why, and what to do."""


@asynccontextmanager
async def admin_client(node: Node) -> AsyncIterator[Redis]:
    """A connection for single commands to a node: no retries, closed at the end."""
    client = Redis(
        host=node.host,
        port=node.port,
        protocol=2,
        socket_timeout=_COMMAND_TIMEOUT_S,
        socket_connect_timeout=_COMMAND_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        single_connection_client=True,
    )
    try:
        yield client
    finally:
        await client.aclose()


class NodeProcess:
    """A running node. Not to be made by hand: see `start` and `find`."""

    def __init__(self, folder: Path, node: Node, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.folder = folder
        self.node = node
        self.pid = pid
        self._child = child

    @classmethod
    async def start(
        cls,
        binary: Path,
        folder: Path,
        port: int,
        *,
        answer_within_s: float = 30.0,
        load_within_s: float = 3600.0,
    ) -> Self:
        """Start a node on the data in `folder`, which is made if it is missing, and wait until it answers.

        Args:
            binary: a redis-server or valkey-server.
            folder: the node's own; its AOF stands there, or will.
            port: on 127.0.0.1.
            answer_within_s: seconds until it must answer at all.
            load_within_s: seconds that it may take to load its data.

        Raises:
            NodeError: it ended (with the last lines of its log), or did not answer in time and was ended.
            OSError: the folder cannot be written.
        """
        process, log_begin = cls._spawn(binary, folder, Node(host=NODE_HOST, port=port))
        try:
            await process._wait_until_answering(answer_within_s, load_within_s, log_begin)
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
            NodeError: one runs, but does not answer. It is left alone.
        """
        process = cls._holder(folder)
        if process is None:
            return None
        try:
            process.pid = await process._pid_of_own(answer_within_s)
            await process._wait_until_answering(answer_within_s, load_within_s, _size(folder / LOG_FILE))
        except NodeError as error:
            raise NodeError(
                f"a node still runs on {folder} (pid {process.pid}) but is of no use: {error}. "
                f"Wait until it is, or stop it: kill {process.pid}"
            ) from error
        return process

    def running(self) -> bool:
        """Whether the process still lives; it may hang."""
        if self._child is not None:
            return self._child.poll() is None
        return _is_locked(self.folder)

    def kill(self) -> None:
        """End the process at once, with SIGKILL."""
        self._signal(signal.SIGKILL)

    async def stop(self, patience_s: float = 10.0) -> None:
        """Stop the process: by SHUTDOWN, which flushes its data, else SIGTERM, at last SIGKILL.

        Args:
            patience_s: seconds to wait after each of the first two.

        Raises:
            NodeError: it outlived all three.
        """
        await self._shut_down()
        if await self._ended_within(patience_s):
            return
        self._signal(signal.SIGTERM)
        if await self._ended_within(patience_s):
            return
        self.kill()
        if not await self._ended_within(patience_s):
            raise NodeError(f"the node on {self.folder} (pid {self.pid}) cannot be ended")

    def log_tail(self, begin: int = 0) -> str:
        """The last lines of the node's log after byte `begin`, for messages."""
        try:
            with (self.folder / LOG_FILE).open("rb") as log:
                log.seek(max(begin, _size(self.folder / LOG_FILE) - 8192))
                lines = log.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            lines = []
        return "\n".join(lines[-_LOG_LINES:])

    @classmethod
    def _spawn(cls, binary: Path, folder: Path, node: Node) -> tuple[Self, int]:
        """Start the process; with it, the size of the log before it."""
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        log_begin = _size(folder / LOG_FILE)
        with (folder / LOCK_FILE).open("a") as lock, (folder / LOG_FILE).open("ab") as log:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise NodeError(f"a node already runs on {folder} (pid {_recorded_pid(folder)})") from error
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
        return cls(folder, node, child.pid, child), log_begin

    @classmethod
    def _holder(cls, folder: Path) -> Self | None:
        """The process that holds the folder's lock, as far as its files tell."""
        folder = folder.resolve()
        if not _is_locked(folder):
            return None
        port = configured_port((folder / CONFIG_FILE).read_text())
        if port is None:
            raise NodeError(f"a program holds {folder / LOCK_FILE} but left no configuration: end it first")
        return cls(folder, Node(host=NODE_HOST, port=port), _recorded_pid(folder), child=None)

    async def _shut_down(self) -> None:
        if not self.running():
            return
        try:
            async with admin_client(self.node) as client:
                await client.shutdown()
        except (RedisError, OSError):
            pass  # it hangs, or its port is another's by now: the signals follow

    def _signal(self, number: signal.Signals) -> None:
        # The lock (or the unreaped child) says that the process lives, so its id is not another's.
        if self.running():
            os.kill(self.pid, number)

    async def _ended_within(self, seconds: float) -> bool:
        return await _within(seconds, lambda: not self.running())

    async def _pid_of_own(self, seconds: float) -> int:
        """The process id that the node itself names, if it is the one of this folder."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                async with admin_client(self.node) as client:
                    folder = (await client.config_get("dir"))["dir"]
                    pid = (await client.info("server"))["process_id"]
            except (RedisError, OSError):
                await asyncio.sleep(_POLL_S)
                continue
            if folder is None or Path(folder) != self.folder:
                raise NodeError(f"port {self.node.port} is answered by a node of another folder")
            return int(pid)
        raise NodeError(f"no answer on port {self.node.port}")

    async def _wait_until_answering(self, answer_s: float, load_s: float, log_begin: int) -> None:
        begin = time.monotonic()
        loading = False
        while time.monotonic() < begin + (load_s if loading else answer_s):
            if not self.running():
                raise NodeError(
                    f"the node on {self.folder} ended while starting; its log:\n{self.log_tail(log_begin)}"
                )
            try:
                async with admin_client(self.node) as client:
                    await client.ping()
            except BusyLoadingError:
                loading = True
            except (RedisError, OSError):
                pass
            else:
                return
            await asyncio.sleep(_POLL_S)
        raise NodeError(
            f"the node on {self.folder} {'was still loading' if loading else 'did not answer'} "
            f"after {time.monotonic() - begin:.0f} seconds; its log:\n{self.log_tail(log_begin)}"
        )


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
    try:
        return int((folder / PID_FILE).read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


async def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= ends:
            return False
        await asyncio.sleep(_POLL_S)
    return True
