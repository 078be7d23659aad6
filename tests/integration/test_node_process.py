"""Nodes as real processes: started, found again, stopped; never two on one folder."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from graphsvc.backends.redis.node_config import configured_port, node_config
from graphsvc.backends.redis.node_process import NodeError, NodeProcess, admin_client
from graphsvc.backends.redis.server_binary import BinaryError, inspect_binary, parse_version
from graphsvc.model.topology import Node
from tests.nodes import free_port, kill_nodes_under, server_binary, until


@pytest.fixture
async def node(family: str, tmp_path: Path) -> AsyncIterator[NodeProcess]:
    yield await NodeProcess.start(server_binary(family), tmp_path / 'a "node" \\ é', free_port())
    kill_nodes_under(tmp_path)


async def test_serves_8192_databases_and_logs_every_write(node: NodeProcess) -> None:
    async with admin_client(node.node) as client:
        await client.select(8191)
        await client.set("key", "value")
        info = await client.info("server")
        settings = await client.config_get("appendonly", "appendfsync", "save", "maxmemory-policy")
    assert info["process_id"] == node.pid
    assert settings == {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
    }


async def test_keeps_what_was_written_through_stop_and_kill(node: NodeProcess, family: str) -> None:
    async with admin_client(node.node) as client:
        await client.set("before stop", 1)
    await node.stop()
    assert not node.running()
    again = await NodeProcess.start(server_binary(family), node.folder, node.node.port)
    async with admin_client(again.node) as client:
        await client.set("before kill", 2)
        # While the disk syncs, a write may stand in the process only, for a moment.
        await until(lambda: _is_written(client))
    again.kill()
    await again.stop()
    last = await NodeProcess.start(server_binary(family), node.folder, node.node.port)
    async with admin_client(last.node) as client:
        assert await client.mget("before stop", "before kill") == [b"1", b"2"]
    await last.stop()


async def _is_written(client: Redis) -> bool:
    return bool((await client.info("persistence"))["aof_buffer_length"] == 0)


async def test_a_second_node_on_the_folder_is_refused(node: NodeProcess, family: str) -> None:
    with pytest.raises(NodeError, match="a node already runs on"):
        await NodeProcess.start(server_binary(family), node.folder, free_port())
    assert configured_port((node.folder / "node.conf").read_text()) == node.node.port


async def test_is_found_again_and_outlives_its_starter(family: str, tmp_path: Path) -> None:
    starter = (
        "import asyncio, os, sys; from pathlib import Path;"
        "from graphsvc.backends.redis.node_process import NodeProcess;"
        "asyncio.run(NodeProcess.start(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])));"
        "os.kill(os.getpid(), 9)"
    )
    arguments = [str(server_binary(family)), str(tmp_path), str(free_port())]
    ended = subprocess.run([sys.executable, "-c", starter, *arguments], check=False)  # noqa: ASYNC221
    assert ended.returncode == -signal.SIGKILL
    found = await NodeProcess.find(tmp_path)
    assert found is not None
    assert found.running()
    assert str(found.node) == f"127.0.0.1:{arguments[2]}"
    async with admin_client(found.node) as client:
        assert (await client.info("server"))["process_id"] == found.pid
    await found.stop()
    assert not found.running()
    assert await NodeProcess.find(tmp_path) is None


async def test_finds_nothing_where_nothing_ran(tmp_path: Path) -> None:
    assert await NodeProcess.find(tmp_path) is None


async def test_a_server_started_by_hand_on_the_folder_is_reported(node: NodeProcess, family: str) -> None:
    await node.stop()
    by_hand = subprocess.Popen(  # noqa: ASYNC220
        [server_binary(family), node.folder / "node.conf"], stdout=subprocess.DEVNULL
    )
    try:
        await until(lambda: _is_up(node))
        with pytest.raises(NodeError, match=rf"started by hand .*kill {by_hand.pid}"):
            await NodeProcess.find(node.folder)
    finally:
        by_hand.kill()
        by_hand.wait()


async def _is_up(node: NodeProcess) -> bool:
    try:
        async with admin_client(node.node) as client:
            return bool(await client.ping())
    except RedisError:
        return False


async def test_a_node_that_hangs_is_reported_and_left_alone_but_can_be_stopped(node: NodeProcess) -> None:
    os.kill(node.pid, signal.SIGSTOP)
    with pytest.raises(NodeError, match=rf"did not answer(?s:.*)left alone(?s:.*)kill -9 {node.pid}"):
        await NodeProcess.find(node.folder, answer_within_s=0.1)
    assert node.running()
    await node.stop(patience_s=0.1)
    assert not node.running()


async def test_a_node_that_ends_while_it_is_looked_for_is_none(node: NodeProcess) -> None:
    os.kill(node.pid, signal.SIGSTOP)
    looking = asyncio.create_task(NodeProcess.find(node.folder))
    await asyncio.sleep(0)
    node.kill()
    assert await looking is None


async def test_a_taken_port_fails_with_the_log_and_leaves_no_process(family: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        with pytest.raises(NodeError, match=r"(?s)ended; its log:.*Address already in use"):
            await NodeProcess.start(server_binary(family), tmp_path, port)
    assert await NodeProcess.find(tmp_path) is None


async def test_a_stranger_that_answers_on_the_port_is_no_success_and_survives(
    node: NodeProcess, family: str, tmp_path: Path
) -> None:
    with pytest.raises(NodeError, match="Address already in use"):
        await NodeProcess.start(server_binary(family), tmp_path / "other", node.node.port)
    assert node.running()


async def test_data_that_cannot_be_read_fails_with_the_log(node: NodeProcess, family: str) -> None:
    await node.stop()
    for part in (node.folder / "appendonlydir").glob("*.base.rdb"):
        part.write_bytes(b"REDIS9999 this is no dump")
    with pytest.raises(NodeError, match=r"(?s)ended; its log:.*appendonly.aof.1.base.rdb"):
        await NodeProcess.start(server_binary(family), node.folder, node.node.port)


async def test_binaries_tell_their_family(family: str) -> None:
    binary = await inspect_binary(server_binary(family))
    assert binary.family == family
    assert binary.version[0].isdigit()


@pytest.mark.parametrize(
    ("program", "message"), [("/nonexistent", "cannot be run: No such file"), ("/bin/true", "is neither")]
)
async def test_other_programs_are_refused(program: str, message: str) -> None:
    with pytest.raises(BinaryError, match=message):
        await inspect_binary(Path(program))


def test_version_lines() -> None:
    assert parse_version("Redis server v=7.0.15 sha=0:0 malloc=jemalloc-5.3.0") == ("redis", "7.0.15")
    assert parse_version("Valkey server v=9.1.2 sha=0:1 malloc=libc") == ("valkey", "9.1.2")
    assert parse_version("nginx version: nginx/1.22.1") is None


def test_the_configuration_names_its_port() -> None:
    assert configured_port(node_config(Path("/data"), Node(host="127.0.0.1", port=7001))) == 7001
    assert configured_port("appendonly yes\n") is None
