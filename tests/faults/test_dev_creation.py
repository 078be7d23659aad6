"""`graphsvc dev` killed at every step of creating a cluster: the next start heals it by itself."""

from collections.abc import Callable

import pytest

from graphsvc.backends.redis.identity import IDENTITY_KEY
from graphsvc.backends.redis.node_process import admin_client
from tests.dev_process import DevProcess, primaries
from tests.follow_ledger import LOWER, UPPER, follow, follows
from tests.nodes import kill_nodes_under

StartDev = Callable[..., DevProcess]

DIE_AT = """
import os, pathlib
from graphsvc.cli import main
from graphsvc.cli.dev import cluster
calls = 0
def die_at(owner, name, number):
    real = getattr(owner, name)
    def replacement(*arguments, **options):
        global calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), 9)
        return real(*arguments, **options)
    setattr(owner, name, replacement)
die_at({owner}, {name!r}, {number})
main.main()
"""

STEPS = {
    "before the second node starts": ("cluster.DevCluster", "_start_node", 2),
    "before a claim": ("cluster.DevCluster", "_settle", 1),
    "before the second claim": ("cluster.DevCluster", "_settle", 2),
    "before the map": ("cluster.DevCluster", "_write_map", 1),
    "before the map has its name": ("pathlib.Path", "replace", 1),
}


@pytest.mark.parametrize("nodes_too", [False, True], ids=["service killed", "nodes killed too"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_creation_killed_at_any_step_heals(start_dev: StartDev, step: str, nodes_too: bool) -> None:
    owner, name, number = STEPS[step]
    killed = start_dev(code=DIE_AT.format(owner=owner, name=name, number=number))
    assert killed.end() == -9
    assert not (killed.data / "cluster.json").exists()
    if nodes_too:
        kill_nodes_under(killed.data)
    dev = start_dev().wait_until_ready()
    topology = dev.map()
    assert topology.version == 1
    for node in primaries(topology):
        async with admin_client(node) as client:
            assert await client.get(IDENTITY_KEY)
    await follow(dev.target, LOWER, UPPER)
    assert await follows(dev.target, LOWER, UPPER)


def test_a_creation_that_was_interrupted_binds_nobody_to_its_choices(start_dev: StartDev) -> None:
    owner, name, number = STEPS["before the map"]
    assert start_dev(code=DIE_AT.format(owner=owner, name=name, number=number)).end() == -9
    start_dev("--placement", "hash").wait_until_ready()
