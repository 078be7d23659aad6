"""`graphsvc dev` stopped and killed under load: what was acknowledged stays, as far as is promised."""

import asyncio
import os
import signal
import time
from collections.abc import Callable

import pytest

from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from tests.dev_process import DevProcess
from tests.follow_ledger import LOSS_WINDOW_S, LOWER, UPPER, FollowLedger, follow, follows
from tests.nodes import server_binary, until

StartDev = Callable[..., DevProcess]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_under_load_loses_nothing(start_dev: StartDev, number: signal.Signals) -> None:
    dev = start_dev().wait_until_ready()
    before = dev.map()
    nodes = dev.nodes()
    ledger = FollowLedger()
    async with ledger.load(dev.target, at_least=300):
        assert await asyncio.to_thread(dev.stop, number) == 0
    assert not any(node.running() for node in nodes)
    again = start_dev().wait_until_ready()
    assert again.map() == before
    await ledger.check(again.target)


async def test_calls_in_flight_finish_before_it_ends(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    nodes = dev.nodes()
    for node in nodes:
        async with admin_client(node.node) as client:
            await client.client_pause(timeout=60_000, all=False)  # writes wait, so that calls are in flight
    in_flight = [
        asyncio.create_task(follow(dev.target, LOWER, UPPER)),
        asyncio.create_task(follow(dev.target, UPPER, LOWER)),
    ]
    for node in nodes:
        await until(lambda node=node: _holds_a_write_back(node))  # type: ignore[misc]
    dev.process.send_signal(signal.SIGTERM)
    await until(lambda: _logged(dev, "stopping"))
    assert not any(call.done() for call in in_flight)
    for node in nodes:
        async with admin_client(node.node) as client:
            await client.client_unpause()
    assert [(await call).changed for call in in_flight] == [True, True]
    assert await asyncio.to_thread(dev.end) == 0
    again = start_dev().wait_until_ready()
    assert await follows(again.target, LOWER, UPPER)
    assert await follows(again.target, UPPER, LOWER)


async def _holds_a_write_back(node: NodeProcess) -> bool:
    async with admin_client(node.node) as client:
        return int((await client.info("clients"))["blocked_clients"]) > 0


async def _logged(dev: DevProcess, text: str) -> bool:
    return text in dev.log()


@pytest.mark.parametrize("family", ["valkey", "redis"], indirect=True)
async def test_kill_9_of_everything_loses_at_most_the_last_two_seconds(
    start_dev: StartDev, family: str
) -> None:
    arguments = ("--redis-server", str(server_binary(family))) if family == "redis" else ()
    dev = start_dev(*arguments).wait_until_ready()
    before = dev.map()
    ledger = FollowLedger()
    async with ledger.load(dev.target, at_least=500, for_s=1.5 * LOSS_WINDOW_S):
        killed_at = time.monotonic()
        dev.kill_all()
    assert ledger.unknown  # it was killed under load
    assert not ledger.pending
    again = start_dev(*arguments).wait_until_ready()
    assert again.map() == before
    assert "took over" not in again.log()
    lost = await ledger.check(again.target, nodes_killed_at=killed_at)
    print(f"{lost} of {len(ledger.acknowledged)} acknowledged follows were lost")
    assert await asyncio.to_thread(again.stop) == 0


async def test_kill_9_of_the_service_alone_leaves_nodes_that_are_taken_over(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    before, nodes = dev.map(), dev.nodes()
    ledger = FollowLedger()
    async with ledger.load(dev.target, at_least=300):
        dev.kill()
    again = start_dev().wait_until_ready()
    assert again.log().count("took over a node that was left running") == 2
    assert again.map() == before
    assert [node.pid for node in again.nodes()] == [node.pid for node in nodes]
    await ledger.check(again.target)
    assert await asyncio.to_thread(again.stop) == 0
    assert not any(node.running() for node in nodes)


async def test_a_second_signal_hurries_past_a_node_that_hangs(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    nodes = dev.nodes()
    os.kill(nodes[0].pid, signal.SIGSTOP)
    dev.process.send_signal(signal.SIGTERM)
    await until(lambda: _logged(dev, "stopping"))
    assert await asyncio.to_thread(dev.stop, signal.SIGTERM) == 0
    assert not any(node.running() for node in nodes)
    again = start_dev().wait_until_ready()
    assert await follows(again.target, LOWER, UPPER)


def test_a_signal_while_starting_leaves_nothing_running(start_dev: StartDev) -> None:
    slow = (
        "import asyncio, os, signal;"
        "from graphsvc.cli import main; from graphsvc.cli.dev import cluster;"
        "hold = lambda *_, **__: (os.kill(os.getpid(), signal.SIGTERM), asyncio.sleep(3600))[1];"
        "cluster.DevCluster._claim_all = hold; main.main()"
    )
    dev = start_dev(code=slow)
    assert dev.end() == 0
    assert dev.log().count("node started") == 2
    assert dev.nodes() == []


HOLD_RESTARTS = """
import asyncio, os, signal
from graphsvc.cli import main
from graphsvc.cli.dev import cluster
real, calls = cluster.NodeProcess.wait_until_answering, 0
async def wait(*arguments, **options):
    global calls
    calls += 1
    if calls > 2:
        {meanwhile}
        await asyncio.sleep(3600)
    await real(*arguments, **options)
cluster.NodeProcess.wait_until_answering = wait
main.main()
"""


async def _killed_and_being_started_again(dev: DevProcess) -> list[NodeProcess]:
    old = dev.nodes()[0].pid
    os.kill(old, signal.SIGKILL)

    async def back() -> bool:
        return len(dev.nodes()) == 2 and dev.nodes()[0].pid not in (0, old)

    await until(back)
    return dev.nodes()


async def test_a_signal_while_a_node_is_started_again_leaves_nothing_running(start_dev: StartDev) -> None:
    signalled = HOLD_RESTARTS.format(meanwhile="os.kill(os.getpid(), signal.SIGTERM)")
    dev = start_dev(code=signalled).wait_until_ready()
    dev.nodes()[0].kill()
    assert await asyncio.to_thread(dev.end) == 0
    assert dev.log().count('"starting a node') == 3
    assert dev.nodes() == []


async def test_a_second_signal_hurries_past_a_node_that_hangs_while_it_is_started(
    start_dev: StartDev,
) -> None:
    dev = start_dev(code=HOLD_RESTARTS.format(meanwhile="pass")).wait_until_ready()
    nodes = await _killed_and_being_started_again(dev)
    os.kill(nodes[0].pid, signal.SIGSTOP)
    dev.process.send_signal(signal.SIGTERM)
    await until(lambda: _logged(dev, "stopping"))
    assert await asyncio.to_thread(dev.stop, signal.SIGTERM) == 0
    assert dev.nodes() == []
