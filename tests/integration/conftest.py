"""Fixtures: the service on two real nodes of each family."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphsvc.model.topology import ClusterSettings, Topology
from tests.services import Service, running_service


@pytest.fixture
async def service(tmp_path: Path, cluster: ClusterSettings, topology: Topology) -> AsyncIterator[Service]:
    """The service on two empty nodes, shards 0-4095 and 4096-8191."""
    async with running_service(tmp_path, cluster, topology) as service:
        yield service
