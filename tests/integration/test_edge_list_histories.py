"""Conformance of the edge lists: random histories beside the model, on real nodes of every family.

fakeredis cannot take part: it has no `struct`, which the functions need, and refuses database 8191, by which
a link knows that its node has all shards.
"""

import asyncio
from collections.abc import Iterator

import pytest
import redis.asyncio
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.functions import BlockSizes
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from tests.edge_list_machine import Histories, Stage
from tests.edge_shapes import PRODUCT, TINY
from tests.nodes import cluster_of, empty_and_claim_all, two_instance_topology

QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
EVERY_TIME = settings(
    derandomize=True,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=QUIET,
    max_examples=25,
    stateful_step_count=25,
)
LONG = settings(EVERY_TIME, derandomize=False, print_blob=True, max_examples=1_500, stateful_step_count=60)
SIZES = {"tiny": (TINY, 250), "product": (PRODUCT, 800)}
"""And the longest lists."""


@pytest.fixture(params=PlacementName)
def placement(request: pytest.FixtureRequest) -> PlacementName:
    """Either says which ids are short."""
    return PlacementName(request.param)


@pytest.fixture(params=SIZES)
def stage(
    request: pytest.FixtureRequest, shared_nodes: list[NodeProcess], family: str, placement: PlacementName
) -> Iterator[Stage]:
    """An empty node, and a driver of these sizes and this placement."""
    sizes, longest = SIZES[request.param]
    cluster = cluster_of(family, placement)
    with asyncio.Runner() as runner:
        runner.run(empty_and_claim_all(shared_nodes, cluster))
        instance = two_instance_topology(shared_nodes).instances[0]
        lists = runner.run(driver(instance, cluster, sizes))
        client = redis.asyncio.Redis(port=shared_nodes[0].node.port, single_connection_client=True)
        yield Stage(runner, lists, client, ShortIds.of(cluster), head_keeps=sizes.pull_below, longest=longest)
        runner.run(lists.close())
        runner.run(client.aclose())


async def driver(instance: Instance, cluster: ClusterSettings, sizes: BlockSizes) -> PackedEdgeLists:
    """A driver that lives in the running loop."""
    return PackedEdgeLists(instance, cluster, RedisSettings(), Metrics(), sizes)


def histories_on(stage: Stage) -> type[Histories]:
    """Histories as hypothesis makes them, without arguments."""

    class HistoriesHere(Histories):
        def __init__(self) -> None:
            super().__init__(stage)

    return HistoriesHere


def test_histories(stage: Stage) -> None:
    run_state_machine_as_test(histories_on(stage), settings=EVERY_TIME)


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_many_long_histories(stage: Stage) -> None:
    run_state_machine_as_test(histories_on(stage), settings=LONG)
