"""Fixtures: real nodes of each family, shared between tests or fresh for one.

A test that takes `family`, or any fixture built on it, runs once a family. To run it on one only:
`@pytest.mark.parametrize("family", ["valkey"], indirect=True)`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.model.topology import ClusterSettings, Topology
from tests.dev_process import DevProcess
from tests.nodes import (
    FAMILIES,
    claim_all,
    cluster_of,
    empty_and_claim_all,
    kill_nodes_under,
    start_nodes,
    two_instance_topology,
)


@pytest.fixture(scope="session", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    """The server family under test."""
    return str(request.param)


@pytest.fixture(scope="session")
def shared_nodes(family: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[NodeProcess]]:
    """Two nodes for the whole session, as the last test left them; tests take `nodes`."""
    folder = tmp_path_factory.mktemp(f"shared-{family}")
    yield asyncio.run(start_nodes(family, folder))
    kill_nodes_under(folder)


@pytest.fixture
def cluster(family: str) -> ClusterSettings:
    """The settings that the nodes are claimed for: id placement, default type codes."""
    return cluster_of(family)


@pytest.fixture
async def nodes(shared_nodes: list[NodeProcess], cluster: ClusterSettings) -> list[NodeProcess]:
    """Two claimed nodes with nothing else in them, shared: a test that stops one takes `fresh_nodes`."""
    await empty_and_claim_all(shared_nodes, cluster)
    return shared_nodes


@pytest.fixture
async def fresh_nodes(
    family: str, cluster: ClusterSettings, tmp_path: Path
) -> AsyncIterator[list[NodeProcess]]:
    """Two claimed nodes of this test's own, to be killed, stopped and damaged at will."""
    nodes = await start_nodes(family, tmp_path)
    await claim_all(nodes, cluster)
    yield nodes
    kill_nodes_under(tmp_path)


@pytest.fixture
def start_dev(tmp_path: Path) -> Iterator[Callable[..., DevProcess]]:
    """Starts `graphsvc dev` on a data folder of this test's own, with more arguments; see DevProcess."""
    started: list[DevProcess] = []

    def start(*arguments: str, **options: Any) -> DevProcess:
        started.append(DevProcess(tmp_path / "data", *arguments, **options))
        return started[-1]

    yield start
    for each in reversed(started):
        each.clean_up()


@pytest.fixture
def topology(nodes: list[NodeProcess]) -> Topology:
    """The map of `nodes`."""
    return two_instance_topology(nodes)
