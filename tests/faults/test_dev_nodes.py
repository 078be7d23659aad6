"""`graphsvc dev` keeps its nodes running: one that ends comes back on its data, one that hangs is let be."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from graphsvc.backends.redis.node_process import NodeProcess
from tests.dev_process import DevProcess, primaries
from tests.follow_ledger import LOWER, UPPER, follow, follows
from tests.nodes import until

StartDev = Callable[..., DevProcess]


async def test_a_killed_node_returns_with_its_data(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    before, old = dev.map(), dev.nodes()
    old[0].kill()
    await until(lambda: follows(dev.target, LOWER, UPPER))
    new = dev.nodes()
    assert new[0].pid != old[0].pid
    assert new[1].pid == old[1].pid
    assert dev.map() == before
    assert "node ended; starting it again" in dev.log()
    assert (await follow(dev.target, LOWER, LOWER + 1)).changed
    assert dev.stop() == 0
    assert not any(node.running() for node in new)


async def test_both_nodes_killed_return_also_after_they_were_taken_over(start_dev: StartDev) -> None:
    start_dev().wait_until_ready().kill()
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    for node in dev.nodes():
        node.kill()
    await until(lambda: follows(dev.target, LOWER, UPPER))
    assert (await follow(dev.target, UPPER, LOWER)).changed


async def test_a_node_whose_port_is_taken_meanwhile_moves_and_the_service_follows(
    start_dev: StartDev,
) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    before, [node, _] = dev.map(), dev.nodes()
    node.kill()
    with _take(node):
        await until(lambda: follows(dev.target, LOWER, UPPER))
        after = dev.map()
    assert after.version == before.version + 1
    assert [each.epoch for each in after.instances] == [2, 1]
    assert primaries(after)[0] != primaries(before)[0]


def _take(node: NodeProcess) -> socket.socket:
    """Listen on a node's port in the moment it is free."""
    while True:
        try:
            return socket.create_server((node.node.host, node.node.port))
        except OSError:
            continue


async def test_a_node_that_comes_back_empty_is_not_served(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    node = dev.nodes()[0]
    aof = node.folder / "appendonlydir"
    aof.rename(node.folder / "aside")
    node.kill()
    await until(lambda: _logged(dev, "instance-0 came up empty"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await follow(dev.target, LOWER, UPPER)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def _logged(dev: DevProcess, text: str) -> bool:
    return text in dev.log()


async def test_a_node_that_hangs_is_let_be_and_serves_again(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    node = dev.nodes()[0]
    os.kill(node.pid, signal.SIGSTOP)
    assert not await follows(dev.target, LOWER, UPPER)
    os.kill(node.pid, signal.SIGCONT)
    await until(lambda: follows(dev.target, LOWER, UPPER))
    assert dev.nodes()[0].pid == node.pid
    assert "node ended" not in dev.log()


async def test_a_log_that_cannot_be_written_changes_nothing(start_dev: StartDev, tmp_path: Path) -> None:
    full = "import sys; sys.stderr = open('/dev/full', 'w'); from graphsvc.cli.main import main; main()"
    dev = start_dev(code=full).wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    old = dev.nodes()[0]
    old.kill()
    await until(lambda: follows(dev.target, LOWER, UPPER))
    assert dev.nodes()[0].pid != old.pid
    dev.process.terminate()
    assert dev.end() in (0, 120)  # 120: Python itself could not flush the stream at its end
