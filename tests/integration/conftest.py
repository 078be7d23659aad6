"""Fixtures: two real nodes of each family, the service on them, and one instance's edge lists."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.services import Service, running_service


@pytest.fixture
async def service(tmp_path: Path, cluster: ClusterSettings, topology: Topology) -> AsyncIterator[Service]:
    """The service on two empty nodes, shards 0-4095 and 4096-8191."""
    async with running_service(tmp_path, cluster, topology) as service:
        yield service


@pytest.fixture
async def lists(topology: Topology, cluster: ClusterSettings) -> AsyncIterator[PackedEdgeLists]:
    """Those of shards 0-4095."""
    lists = PackedEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics())
    yield lists
    await lists.close()


@pytest.fixture
async def node(nodes: list[NodeProcess]) -> AsyncIterator[Redis]:
    """The database of shard 7."""
    async with admin_client(nodes[0].node) as client:
        await client.select(7)
        yield client
