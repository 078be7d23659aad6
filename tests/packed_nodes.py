"""Nodes with packed lists for fault tests: a driver for one, and starting one again on its data."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.cli.dev.plan import INSTANCES
from graphsvc.model.ids import SHARDS
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.edge_shapes import TINY
from tests.nodes import server_binary


@asynccontextmanager
async def driver_of(
    node: NodeProcess, cluster: ClusterSettings, sizes: BlockSizes = TINY
) -> AsyncIterator[PackedEdgeLists]:
    """A driver of a node that was claimed as the first instance's."""
    instance = Instance(name=INSTANCES[0], first_shard=0, last_shard=SHARDS - 1, primary=node.node)
    lists = PackedEdgeLists(instance, cluster, RedisSettings(), Metrics(), sizes)
    try:
        yield lists
    finally:
        await lists.close()


async def start_again(node: NodeProcess, family: str) -> NodeProcess:
    """Start a node that was killed on its data and port, once it has ended."""
    await node.ended()
    return await NodeProcess.start(server_binary(family), node.folder, node.node.port)
