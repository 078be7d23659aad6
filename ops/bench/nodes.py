"""Nodes for benchmarks of the store: those of the product, and plain ones of its peers, of both families."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from redis.asyncio import Redis
from redis.exceptions import RedisError

from graphsvc.backends.redis.connection import PipeliningConnection, connect
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.functions import BlockSizes, Functions
from graphsvc.backends.redis.identity import IDENTITY_KEY, identity_record
from graphsvc.backends.redis.node_process import NODE_HOST, NodeProcess, admin_client
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.backends.redis.server_binary import embedded_binary
from graphsvc.model.edges import ListKind, ListRef
from graphsvc.model.ids import SHARDS
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Instance, Node
from graphsvc.runtime.logs import configure_logs
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import LogSettings, RedisSettings

FAMILIES = ("redis", "valkey")
"""The machine's redis-server and the embedded Valkey."""

INSTANCE = "bench"
NO_LIST = ListRef(0, ListKind.FOLLOWERS, user_id=1)
"""One that nobody writes."""
TIMEOUT_S = 60.0
_POLL_S = 0.05


class Opened(NamedTuple):
    """A node, and a connection for what its administrator asks."""

    node: Node
    admin: Redis


def server_binary(family: str) -> Path:
    """The server program of a family.

    Raises:
        SystemExit: there is no redis-server.
    """
    if family == "valkey":
        return embedded_binary()
    found = shutil.which("redis-server")
    if found is None:
        raise SystemExit("redis-server is not in PATH: install it (Debian: apt-get install redis-server)")
    return Path(found)


def cluster_of(family: str) -> ClusterSettings:
    """The cluster that nodes of a family belong to."""
    return ClusterSettings(cluster="bench", id="b" * 32, placement=PlacementName.ID, family=family)


def functions_of(family: str) -> Functions:
    """The product's functions, with the product's sizes of blocks, for that cluster."""
    return Functions(ShortIds.of(cluster_of(family)), BlockSizes())


@asynccontextmanager
async def product_node(family: str, folder: Path) -> AsyncIterator[Opened]:
    """A fresh node with the product's configuration, but that it never rewrites its AOF by itself.

    A rewrite forks: its memory and its work would stand in figures of the edge lists.
    """
    process = await NodeProcess.start(server_binary(family), folder, free_port())
    try:
        async with admin_client(process.node, TIMEOUT_S) as admin:
            await admin.config_set("auto-aof-rewrite-percentage", 0)
            yield Opened(process.node, admin)
    finally:
        await process.stop()


@asynccontextmanager
async def plain_node(family: str, folder: Path) -> AsyncIterator[Opened]:
    """A fresh node with the server's default settings, but for as many databases as the product has."""
    node = Node(host=NODE_HOST, port=free_port())
    settings = {"bind": node.host, "port": node.port, "dir": folder, "databases": SHARDS, "save": ""}
    words = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
    await asyncio.to_thread(folder.mkdir, parents=True)
    process = await asyncio.create_subprocess_exec(
        server_binary(family), *words, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await _wait_for(node, process)
        async with admin_client(node, TIMEOUT_S) as admin:
            yield Opened(node, admin)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@asynccontextmanager
async def edge_lists_on(
    opened: Opened, family: str, metrics: Metrics | None = None
) -> AsyncIterator[PackedEdgeLists]:
    """The product's edge lists on a node that is fresh, or was claimed by this before.

    Its connections are open and the node knows the product's functions: what only first calls cost is done.
    """
    configure_logs(LogSettings(level="warning"))
    cluster = cluster_of(family)
    await opened.admin.set(IDENTITY_KEY, identity_record(cluster, INSTANCE), nx=True)
    instance = Instance(name=INSTANCE, first_shard=0, last_shard=SHARDS - 1, primary=opened.node)
    lists = PackedEdgeLists(instance, cluster, RedisSettings(), metrics or Metrics())
    try:
        await lists.ping()
        await lists.drop(NO_LIST)
        yield lists
    finally:
        await lists.close()


@asynccontextmanager
async def connection_to(node: Node) -> AsyncIterator[PipeliningConnection]:
    """A connection like those under edge lists."""
    connection = await connect(node.host, node.port, max_waiting=1_024)
    try:
        yield connection
    finally:
        connection.abort()
        await connection.closed


async def _wait_for(node: Node, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while process.returncode is None:
            with suppress(RedisError, OSError):
                async with admin_client(node) as admin:
                    await admin.ping()
                    return
            await asyncio.sleep(_POLL_S)
    raise SystemExit("a node with default settings ended at once")


def free_port() -> int:
    """A port that nothing listened on just now."""
    with socket.socket() as probe:
        probe.bind((NODE_HOST, 0))
        port: int = probe.getsockname()[1]
        return port
