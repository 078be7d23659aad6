"""A coordinator in one JSON file, for a cluster on one machine.

Any number of processes may use the file. Writers take turns by a lock beside it and replace the file as
a whole, so a reader never sees half of one, and a writer that is killed leaves the old one.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from graphsvc.backends.coordinator import CoordinatorDamaged, VersionConflict
from graphsvc.model.topology import ClusterSettings, Topology


class ClusterRecord(BaseModel):
    """What the file holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: ClusterSettings
    topology: Topology


class _Seen(NamedTuple):
    """Tells one content of the file from the next: each stands in a file of its own."""

    inode: int
    modified_ns: int
    size: int


class LocalFileCoordinator:
    """See `graphsvc.backends.coordinator.Coordinator`.

    All methods may raise CoordinatorDamaged, and OSError where the file cannot be read or written.
    """

    def __init__(self, path: Path, poll_interval_s: float = 0.2) -> None:
        """Use the file at `path`; its folder must be there, it need not.

        Args:
            path: the file; beside it stand `path`.lock and, while writing, `path`.new.
            poll_interval_s: seconds between two looks of `watch`.
        """
        self._path = path
        self._poll_interval_s = poll_interval_s

    async def settings(self) -> ClusterSettings | None:
        """See Coordinator."""
        record = await asyncio.to_thread(self._read)
        return record.settings if record else None

    async def topology(self) -> Topology | None:
        """See Coordinator."""
        record = await asyncio.to_thread(self._read)
        return record.topology if record else None

    async def create(self, settings: ClusterSettings, topology: Topology) -> None:
        """See Coordinator."""

        def first(stored: ClusterRecord | None) -> ClusterRecord:
            if stored is not None:
                raise VersionConflict(f"{self._path} already holds cluster {stored.settings.cluster!r}")
            return ClusterRecord(settings=settings, topology=topology)

        await asyncio.to_thread(self._change, first)

    async def replace(self, topology: Topology) -> None:
        """See Coordinator."""

        def following(stored: ClusterRecord | None) -> ClusterRecord:
            version = stored.topology.version if stored else 0
            if stored is None or topology.version != version + 1:
                raise VersionConflict(
                    f"{self._path} holds version {version}; version {topology.version} cannot follow it"
                )
            return stored.model_copy(update={"topology": topology})

        await asyncio.to_thread(self._change, following)

    async def watch(self) -> AsyncIterator[Topology]:
        """See Coordinator; a change is seen within the poll interval. Before `create` it waits."""
        seen: _Seen | None = None
        version = 0
        while True:
            now = await asyncio.to_thread(self._look)
            if now != seen:
                seen = now
                topology = await self.topology()
                if topology is not None and topology.version > version:
                    version = topology.version
                    yield topology
            await asyncio.sleep(self._poll_interval_s)

    def _look(self) -> _Seen | None:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        return _Seen(stat.st_ino, stat.st_mtime_ns, stat.st_size)

    def _read(self) -> ClusterRecord | None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return ClusterRecord.model_validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise CoordinatorDamaged(
                f"{self._path} cannot be read: {f'{place}: ' if place else ''}{first['msg']}. "
                "Put back a good copy; its map must name the nodes that run now"
            ) from error

    def _change(self, change: Callable[[ClusterRecord | None], ClusterRecord]) -> None:
        with self._locked():
            content = change(self._read()).model_dump_json(indent=2).encode() + b"\n"
            _replace_durably(self._path, content)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._path.with_name(f"{self._path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _replace_durably(path: Path, content: bytes) -> None:
    # A writer killed on the way leaves this file behind; the next one, alone under the lock, begins it anew.
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
