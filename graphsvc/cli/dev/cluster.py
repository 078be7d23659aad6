"""The cluster of `graphsvc dev`: its nodes, brought up and kept running, and the map of them."""

import asyncio
import time
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import cast

import structlog
from redis.exceptions import RedisError

from graphsvc.backends.coordinator import Coordinator, CoordinatorDamaged, VersionConflict
from graphsvc.backends.redis.identity import IDENTITY_KEY, identity_record
from graphsvc.backends.redis.node_config import STORE_SETTINGS
from graphsvc.backends.redis.node_process import NODE_HOST, NodeError, NodeProcess, admin_client
from graphsvc.backends.redis.server_binary import ServerBinary
from graphsvc.cli.dev.places import free_port, port_is_free
from graphsvc.cli.dev.plan import (
    INSTANCES,
    Claim,
    Contents,
    Refused,
    Start,
    check_choices,
    check_map,
    claim_of,
    claimed_cluster,
    claims,
    how_to_start,
    next_map,
    pause_before_restart_s,
    repair_advice,
)
from graphsvc.model.topology import ClusterSettings, Node, Topology

FAILURES = (NodeError, RedisError, OSError, CoordinatorDamaged, VersionConflict, Refused)
"""What bringing up nodes and writing the map may raise."""

_ATTEMPTS = 5

log = structlog.get_logger()


class DevCluster:
    """The instances in the folders `data`/instance-N; one node each."""

    def __init__(
        self, data: Path, binary: ServerBinary, cluster: ClusterSettings, coordinator: Coordinator
    ) -> None:
        self._data = data
        self._binary = binary
        self._cluster = cluster
        self._coordinator = coordinator
        self._nodes: dict[int, NodeProcess] = {}
        self._adopted: set[int] = set()
        self._started = False
        self._writing_map = asyncio.Lock()

    async def start(self) -> None:
        """Bring up every node, claim those of a new cluster, and bring the map in line.

        Where this fails or is cancelled, `stop` ends the nodes that it started; those that ran before are
        left alone.

        Raises:
            one of FAILURES: Refused where the user has to decide something.
        """
        stored, topology = await self._coordinator.settings(), await self._coordinator.topology()
        if stored is not None and topology is not None:
            check_choices(stored, self._cluster)
            check_map(topology)
            self._cluster = stored
        await self._bring_up_all(topology)
        await self._claim_all(created=topology is not None)
        # Last: a cluster is created once it has a map, and until then every step may be repeated.
        await self._write_map()
        self._started = True

    async def keep_running(self) -> None:
        """Start nodes that end again, on their data, for as long as this is not cancelled.

        Once it has ended, none of it goes on; `stop` ends also a node that was just being started.
        """
        async with asyncio.TaskGroup() as group:
            for index in self._nodes:
                group.create_task(self._keep_running(index))

    async def stop(self, patience_s: float = 10.0) -> None:
        """Stop the nodes, their data flushed; seconds of patience as in NodeProcess.stop.

        Raises:
            NodeError: one cannot be ended; the others are.
        """
        ours = self._nodes.keys() if self._started else self._nodes.keys() - self._adopted
        await _all_of(self._nodes[i].stop(patience_s) for i in ours)

    async def _bring_up_all(self, topology: Topology | None) -> None:
        await _all_of(self._bring_up(i, topology) for i in range(len(INSTANCES)))

    async def _bring_up(self, index: int, topology: Topology | None) -> None:
        """Find or start an instance's node, and put it into `_nodes`."""
        name, folder = INSTANCES[index], self._data / INSTANCES[index]
        recorded = topology.instances[index].primary if topology else None
        running = await NodeProcess.find(folder)
        how = how_to_start(
            still_runs=running is not None,
            recorded=recorded is not None,
            recorded_port_free=recorded is not None and port_is_free(recorded.host, recorded.port),
        )
        if running is not None and how is Start.ADOPT:
            self._nodes[index] = running
            self._adopted.add(index)
            log.warning("took over a node that was left running", instance=name, **_facts(running))
            return
        if recorded is not None and how is Start.AS_RECORDED:
            port = recorded.port
        else:
            port = self._unused_port(topology)
            if recorded is not None:
                log.warning(
                    "another program has the instance's port; moving",
                    instance=name,
                    taken=recorded.port,
                    to=port,
                )
        log.info("starting a node; it answers when its data is loaded", instance=name, folder=str(folder))
        await self._start_node(index, port, topology)
        log.info("node started", instance=name, version=self._binary.version, **_facts(self._nodes[index]))

    async def _start_node(self, index: int, port: int, topology: Topology | None) -> None:
        for _ in range(_ATTEMPTS):
            node = NodeProcess.spawn(self._binary.path, self._data / INSTANCES[index], port)
            # At once: from here on it is `stop` that ends it, whatever is cancelled meanwhile.
            self._nodes[index] = node
            try:
                await node.wait_until_answering()
            except NodeError as error:
                await node.stop()
                if port_is_free(NODE_HOST, port):
                    advice = repair_advice(node.log_tail(), node.folder, self._binary)
                    raise NodeError(f"{error}\n{advice}" if advice else str(error)) from error
                # Somebody took the port in the moment between looking and listening.
                port = self._unused_port(topology)
            else:
                return
        raise NodeError(f"no port of {NODE_HOST} stayed free long enough to start a node; try again")

    def _unused_port(self, topology: Topology | None) -> int:
        recorded = {each.primary.port for each in topology.instances if each.primary} if topology else set()
        return free_port(NODE_HOST, avoid=recorded)

    async def _claim_all(self, *, created: bool) -> None:
        nodes = [self._nodes[i].node for i in range(len(INSTANCES))]
        contents = [await _contents(node) for node in nodes]
        if not created:
            self._cluster = claimed_cluster(contents, self._cluster)
        verdicts = claims(created, contents, self._cluster)
        for name, node, claim in zip(INSTANCES, nodes, verdicts, strict=True):
            await self._settle(name, node, claim)

    async def _settle(self, name: str, node: Node, claim: Claim) -> None:
        async with admin_client(node) as client:
            if claim is Claim.WRITE:
                # On disk before there is a map: after a power cut the two must not contradict each other.
                await client.config_set("appendfsync", "always")
                await client.set(IDENTITY_KEY, identity_record(self._cluster, name))
            # A node that was left running may have been started, or changed by hand, with others.
            for name, value in STORE_SETTINGS.items():
                await client.config_set(name, value)
            await client.config_set("appendfsync", "everysec")

    async def _write_map(self) -> None:
        async with self._writing_map:
            stored = await self._coordinator.topology()
            topology = next_map(stored, [self._nodes[i].node for i in range(len(INSTANCES))])
            if topology is None:
                return
            if stored is None:
                await self._coordinator.create(self._cluster, topology)
            else:
                await self._coordinator.replace(topology)
            log.info("map written", version=topology.version)

    async def _keep_running(self, index: int) -> None:
        pause_s = 0.0
        began = time.monotonic()
        while True:
            node = self._nodes[index]
            await node.ended()
            pause_s = pause_before_restart_s(pause_s, time.monotonic() - began)
            log.warning(
                "node ended; starting it again", instance=INSTANCES[index], in_s=pause_s, **_facts(node)
            )
            await asyncio.sleep(pause_s)
            try:
                await self._restart(index)
            except FAILURES as error:
                log.error("node could not be started", instance=INSTANCES[index], problem=str(error))  # noqa: TRY400
            began = time.monotonic()

    async def _restart(self, index: int) -> None:
        topology = await self._coordinator.topology()
        await self._bring_up(index, topology)
        node = self._nodes[index]
        try:
            claim_of(INSTANCES[index], True, await _contents(node.node), self._cluster)
            await self._write_map()
        except Exception:
            await node.stop()
            raise


async def _all_of(steps: Iterable[Awaitable[None]]) -> None:
    """Wait for the end of all, also where one fails; then raise what the first of them raised."""
    for error in await asyncio.gather(*steps, return_exceptions=True):
        if error is not None:
            raise error


async def _contents(node: Node) -> Contents:
    async with admin_client(node) as client:
        record = cast("bytes | None", await client.get(IDENTITY_KEY))
        databases = await client.info("keyspace")
    keys = sum(database["keys"] for database in databases.values())
    return Contents(record, keys - (record is not None))


def _facts(node: NodeProcess) -> dict[str, str | int]:
    return {"node": str(node.node), "pid": node.pid, "folder": str(node.folder)}
