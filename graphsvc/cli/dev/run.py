"""What `graphsvc dev` does from the first check to the last node stopped."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import typer

from graphsvc.backends.coordinator import CoordinatorDamaged
from graphsvc.backends.local.coordinator import LocalFileCoordinator
from graphsvc.backends.redis.server_binary import BinaryError, ServerBinary, embedded_binary, inspect_binary
from graphsvc.cli.dev.cluster import FAILURES, DevCluster
from graphsvc.cli.dev.places import check_port, own_folder, unusable
from graphsvc.cli.dev.plan import Refused, wanted_cluster
from graphsvc.cli.wiring import RunningService, start_service
from graphsvc.model.topology import Node
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import Settings
from graphsvc.service.server import PortTaken

MAP_FILE = "cluster.json"
_HURRIED_PATIENCE_S = 1.0


class Signals:
    """SIGINT and SIGTERM: the first asks to stop, the second to hurry."""

    def __init__(self) -> None:
        """Catch both from now on; needs a running event loop."""
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._caught)

    def _caught(self) -> None:
        (self._hurry if self._stop.is_set() else self._stop).set()

    async def until_stop(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do some work, or cancel it when asked to stop; whether it was finished."""
        return await _unless(self._stop, work)

    async def until_hurry(self, work: Coroutine[Any, Any, None]) -> bool:
        """The same, but only the second signal ends it."""
        return await _unless(self._hurry, work)


async def _unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    working, waiting = asyncio.create_task(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait((working,))
    if working.cancelled():
        return False
    working.result()
    return True


async def run(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        Refused: it cannot be done; nothing that was started is left running.
    """
    signals = Signals()
    with own_folder(settings.dev.data) as data:
        check_port(settings.service.host, settings.service.port, "--port")
        check_port(settings.service.host, settings.service.metrics_port, "--metrics-port")
        binary = await _binary(settings.dev.redis_server)
        coordinator = LocalFileCoordinator(data / MAP_FILE)
        wanted = wanted_cluster(settings.cluster, binary.family, uuid4().hex)
        cluster = DevCluster(data, binary, wanted, coordinator)
        try:
            async with _stopping(cluster, signals):
                if await signals.until_stop(cluster.start()):
                    async with _service(settings, coordinator, signals) as running:
                        _announce(running, data, binary)
                        await signals.until_stop(cluster.keep_running())
                        _tell("stopping; calls in flight finish first (once more to hurry)", err=True)
        except CoordinatorDamaged as error:
            raise Refused(
                f"{error}. Or remove the file: it is written anew from the nodes' data in {data}"
            ) from error
        except OSError as error:
            raise Refused(unusable(data, error)) from error
        except FAILURES as error:
            raise Refused(str(error)) from error


@asynccontextmanager
async def _stopping(cluster: DevCluster, signals: Signals) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if not await signals.until_hurry(cluster.stop()):
            await cluster.stop(_HURRIED_PATIENCE_S)


@asynccontextmanager
async def _service(
    settings: Settings, coordinator: LocalFileCoordinator, signals: Signals
) -> AsyncIterator[RunningService]:
    try:
        running = await start_service(settings, coordinator, Metrics())
    except (PortTaken, OSError) as error:
        raise Refused(f"{error}. Choose other ports with --port and --metrics-port") from error
    try:
        yield running
    finally:
        await signals.until_hurry(running.stop())


async def _binary(chosen: Path | None) -> ServerBinary:
    try:
        return await inspect_binary(embedded_binary() if chosen is None else _absolute(chosen))
    except BinaryError as error:
        raise Refused(f"{error}. Name a redis-server or valkey-server with --redis-server") from error


def _absolute(program: Path) -> Path:
    """Nodes run in folders of their own, where a relative path would mean another file."""
    program = program.expanduser()
    return Path(shutil.which(program) or program).absolute()


def _announce(running: RunningService, data: Path, binary: ServerBinary) -> None:
    metrics = Node(host=running.host, port=running.metrics_port)
    _tell(
        f"data:    {data} (two nodes of {binary.family} {binary.version})\n"
        f"metrics: http://{metrics}/metrics\n"
        f"try:     graphsvc demo --target {running.target}",
        err=True,
    )
    _tell(f"graphsvc ready on {running.target}")


def _tell(text: str, *, err: bool = False) -> None:
    # Whoever started it may have stopped reading, or the disk that keeps its output may be full.
    with suppress(OSError):
        typer.echo(text, err=err)
