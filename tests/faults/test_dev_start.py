"""`graphsvc dev` and what it may find: taken ports, strangers, lost and foreign data. It says what to do."""

import asyncio
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from graphsvc.backends.redis.node_process import admin_client
from tests.dev_process import DevProcess, primaries
from tests.follow_ledger import LOWER, UPPER, follow, follows
from tests.nodes import server_binary

StartDev = Callable[..., DevProcess]


@pytest.mark.parametrize("flag", ["--port", "--metrics-port"])
def test_a_taken_port_is_refused_before_any_node_starts(start_dev: StartDev, flag: str) -> None:
    # One that shares its port, as gRPC servers do: the service must not share it with a stranger.
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as stranger:
        port = stranger.getsockname()[1]
        dev = start_dev(flag, str(port))
        message = dev.refusal()
    assert f"port {port} of 127.0.0.1 is taken. Choose another with {flag}" in message
    assert {path.name for path in dev.data.iterdir()} == {"lock"}


async def test_a_second_one_on_the_same_data_is_refused_and_the_first_serves_on(start_dev: StartDev) -> None:
    first = start_dev().wait_until_ready()
    message = start_dev().refusal()
    assert f"{first.data} is in use by another graphsvc dev, pid {first.process.pid}" in message
    assert "--data" in message
    await follow(first.target, LOWER, UPPER)


async def test_a_stranger_on_a_nodes_port_makes_the_instance_move(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    before = dev.map()
    assert dev.stop() == 0
    port = primaries(before)[0].port
    with socket.create_server(("127.0.0.1", port)):
        moved = start_dev().wait_until_ready()
        assert await follows(moved.target, LOWER, UPPER)
        await follow(moved.target, UPPER, LOWER)
    assert "another program has the instance's port" in moved.log()
    after = moved.map()
    assert after.version == before.version + 1
    assert [each.epoch for each in after.instances] == [2, 1]
    assert primaries(after)[0].port != port
    assert primaries(after)[1] == primaries(before)[1]
    assert moved.stop() == 0
    again = start_dev().wait_until_ready()
    assert again.map() == after
    assert await follows(again.target, UPPER, LOWER)


async def test_the_node_of_another_cluster_on_the_port_is_a_stranger(start_dev: StartDev) -> None:
    """Both have the same choices, so only the folder tells them apart."""
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    assert dev.stop() == 0
    copy = dev.data.with_name("copy")
    shutil.copytree(dev.data, copy)
    dev = start_dev().wait_until_ready()
    other = DevProcess(copy)
    try:
        other.wait_until_ready()
        assert not set(primaries(other.map())) & set(primaries(dev.map()))
        await follow(other.target, UPPER, LOWER)
        assert await follows(other.target, LOWER, UPPER)
        assert not await follows(dev.target, UPPER, LOWER)
    finally:
        other.clean_up()


async def test_an_instance_that_lost_its_data_is_not_served_empty(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    assert dev.stop() == 0
    folder, copy = dev.data / "instance-1", dev.data / "copy"
    folder.rename(copy)
    refused = start_dev()
    message = refused.refusal()
    assert "instance-1 came up empty" in message
    assert "Put the folder instance-1 back" in message
    assert refused.nodes() == []
    shutil.rmtree(folder)
    copy.rename(folder)
    again = start_dev().wait_until_ready()
    assert await follows(again.target, LOWER, UPPER)


@pytest.mark.parametrize("map_lost", [False, True])
async def test_swapped_folders_are_not_served(start_dev: StartDev, map_lost: bool) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    assert dev.stop() == 0
    _swap(dev.data)
    if map_lost:
        (dev.data / "cluster.json").unlink()
    refused = start_dev()
    message = refused.refusal()
    assert "instance-0's folder holds instance-1's data: put the folders back in their places" in message
    assert refused.nodes() == []
    _swap(dev.data)
    again = start_dev().wait_until_ready()
    assert await follows(again.target, LOWER, UPPER)


def _swap(data: Path) -> None:
    first, second, aside = data / "instance-0", data / "instance-1", data / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


async def test_a_copy_of_the_other_instance_is_not_served(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    assert dev.stop() == 0
    shutil.rmtree(dev.data / "instance-1")
    shutil.copytree(dev.data / "instance-0", dev.data / "instance-1")
    assert "instance-1's folder holds instance-0's data" in start_dev().refusal()


@pytest.mark.parametrize("family", ["valkey", "redis"], indirect=True)
async def test_a_damaged_end_of_the_aof_is_cut_off_by_the_command_it_tells(
    start_dev: StartDev, family: str
) -> None:
    arguments = ("--redis-server", str(server_binary(family))) if family == "redis" else ()
    dev = start_dev(*arguments).wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    assert dev.stop() == 0
    [aof] = (dev.data / "instance-0" / "appendonlydir").glob("*.incr.aof")
    whole = aof.read_bytes()
    aof.write_bytes(whole + bytes(600))
    command = start_dev(*arguments).refusal()
    assert command.startswith("ln -sf ")
    repair = await asyncio.create_subprocess_shell(
        command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await repair.communicate(b"y\n")
    assert repair.returncode == 0, output
    assert aof.read_bytes() == whole
    again = start_dev(*arguments).wait_until_ready()
    assert await follows(again.target, LOWER, UPPER)


async def test_a_lost_map_is_written_anew_over_the_same_data(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    await follow(dev.target, LOWER, UPPER)
    assert dev.stop() == 0
    (dev.data / "cluster.json").unlink()
    again = start_dev().wait_until_ready()
    assert await follows(again.target, LOWER, UPPER)


def test_a_damaged_map_is_named(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    assert dev.stop() == 0
    (dev.data / "cluster.json").write_text('{"settings": ')
    message = start_dev().refusal()
    assert f"{dev.data}/cluster.json cannot be read: Invalid JSON" in message
    assert "remove the file: it is written anew from the nodes' data" in message
    (dev.data / "cluster.json").unlink()
    start_dev().wait_until_ready()


def test_other_choices_than_stored_are_refused_by_name(start_dev: StartDev) -> None:
    assert start_dev("--placement", "hash").wait_until_ready().stop() == 0
    assert "placement is 'hash', not 'id'" in start_dev().refusal()
    redis = str(server_binary("redis"))
    message = start_dev("--placement", "hash", "--redis-server", redis).refusal()
    assert "family is 'valkey', not 'redis'" in message
    assert "another --data" in message
    assert start_dev("--placement", "hash").wait_until_ready().stop(signal.SIGINT) == 0


def test_a_full_or_unusable_disk_is_named(start_dev: StartDev) -> None:
    dev = start_dev()
    dev.wait_until_ready()
    assert dev.stop() == 0
    folder = dev.data / "instance-0"
    shutil.rmtree(folder)
    folder.write_text("in the way")
    assert "instance-0" in start_dev().refusal()


def test_data_that_the_server_cannot_read_shows_its_log(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    assert dev.stop() == 0
    [base] = (dev.data / "instance-0" / "appendonlydir").glob("*.base.rdb")
    base.write_bytes(b"no dump")
    again = start_dev()
    assert again.end() == 2
    assert "Bad file format reading the append only file" in again.log()
    assert "base.rdb itself is damaged, which no tool mends: put" in again.log()
    assert again.nodes() == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--redis-server", "/bin/true"), "/bin/true is neither a redis-server nor a valkey-server"),
        (("--redis-server", "/nonexistent"), "/nonexistent cannot be run"),
        (("--config", "/nonexistent"), "no settings file /nonexistent"),
        (("--host", "192.0.2.1", "--port", "50051"), "192.0.2.1 cannot be listened on"),
    ],
)
def test_what_cannot_work_is_refused(start_dev: StartDev, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in start_dev(*arguments).refusal()


async def test_writes_are_kept_each_second_whatever_was_interrupted(start_dev: StartDev) -> None:
    dev = start_dev().wait_until_ready()
    for node in dev.nodes():
        async with admin_client(node.node) as client:
            await client.config_set("appendfsync", "always")  # as a start killed at that step leaves it
    dev.kill()
    again = start_dev().wait_until_ready()
    for node in again.nodes():
        async with admin_client(node.node) as client:
            assert await client.config_get("appendfsync") == {"appendfsync": "everysec"}
