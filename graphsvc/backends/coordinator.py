"""The Protocol of the coordinator, which keeps what the whole cluster agrees on.

Drivers: `graphsvc.backends.local` (a file, for one machine).
"""

from collections.abc import AsyncIterator
from typing import Protocol

from graphsvc.model.topology import ClusterSettings, Topology


class VersionConflict(Exception):
    """Somebody else changed the map first: read it again."""


class CoordinatorDamaged(Exception):
    """What is stored cannot be read; the message says where and why."""


class Coordinator(Protocol):
    """Keeps a cluster's settings and its map. Writes are versioned, never blind."""

    async def settings(self) -> ClusterSettings | None:
        """The cluster's settings; None before `create`."""
        ...

    async def topology(self) -> Topology | None:
        """The map; None before `create`."""
        ...

    async def create(self, settings: ClusterSettings, topology: Topology) -> None:
        """Store both for a new cluster.

        Raises:
            VersionConflict: there is one already.
        """
        ...

    async def replace(self, topology: Topology) -> None:
        """Store the next map; its version must be one more than the stored one's.

        Raises:
            VersionConflict: it is not; nothing was written.
        """
        ...

    def watch(self) -> AsyncIterator[Topology]:
        """The map as it is now, then each newer one; may skip versions, never goes back."""
        ...
