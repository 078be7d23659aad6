"""Faults around edge lists: forgotten functions, restarts, drops that end early, nodes of other settings."""

import asyncio
import random
from collections.abc import Awaitable

import pytest
from structlog.testing import capture_logs

from graphsvc.backends.edge_lists import Added, Addition, Inverse, Removal
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.node_process import NodeProcess, admin_client
from graphsvc.backends.redis.packed.ids import ShortIds
from graphsvc.model.edges import Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import ConnectionLost, ShardUnavailable
from graphsvc.model.ids import spread
from graphsvc.model.list_inspection import ListForm
from graphsvc.model.topology import ClusterSettings
from tests.edge_shapes import T0, UNLIMITED, USER
from tests.nodes import server_binary, until
from tests.packed_nodes import driver_of, start_again
from tests.stored_lists import StoredList, read_list, shard_client

ADDED = ListRef(0, ListKind.FOLLOWING, 11)
PUT = ListRef(4095, ListKind.FOLLOWERS, 12)

both_sorts = pytest.mark.parametrize("ref", [ADDED, PUT], ids=["added", "put"])


async def fill(lists: PackedEdgeLists, ref: ListRef, count: int) -> list[Cursor]:
    """Give an empty list the edges of users 1, 2, 3 ..., a second apart."""
    edges = [Cursor(T0 + number * 1_000_000, spread(number, USER)) for number in range(1, count + 1)]
    if ref.kind is ListKind.FOLLOWING:
        await lists.add([Addition(ref, each.id, each.time_us) for each in edges], UNLIMITED)
    else:
        await lists.put([Inverse(ref, each.id, each.time_us) for each in edges])
    return edges


async def stored(node: NodeProcess, ref: ListRef, cluster: ClusterSettings) -> StoredList:
    """The list, which is a good one."""
    async with shard_client(node.node, ref.shard) as client:
        return await read_list(client, ref, ShortIds.of(cluster))


async def use_all(lists: PackedEdgeLists, number: int) -> None:
    """Each call once, about two lists; `number` is another one each time."""
    edge = Cursor(T0 + number, number)
    assert await lists.add([Addition(ADDED, edge.id, edge.time_us)], UNLIMITED) == [Added(True, edge.time_us)]
    assert await lists.put([Inverse(PUT, edge.id, edge.time_us)]) == [True]
    for ref in (ADDED, PUT):
        assert await lists.contains([(ref, [edge.id, edge.id + 1])]) == [[True, False]]
        assert await lists.time_of(ref, edge.id) == edge.time_us
        for order in Order:
            page = await lists.page(ref, order, Cursor(edge.time_us, edge.id - 1), 3)
            assert page.size >= 1
    if number % 2:
        assert await lists.remove([Removal(ADDED, edge.id)]) == [edge.time_us]
        assert await lists.remove([Removal(PUT, edge.id, edge.time_us)]) == [edge.time_us]
    if number % 50 == 0:
        for ref in (ADDED, PUT):
            assert await lists.sizes([ref]) == [await lists.drop(ref)]


async def test_no_call_fails_while_the_functions_are_flushed_all_the_time(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings
) -> None:
    ended, flushes = asyncio.Event(), 0

    async def flush() -> None:
        nonlocal flushes
        async with admin_client(fresh_nodes[0].node) as client:
            while not ended.is_set():
                await client.function_flush()
                await client.script_flush()
                flushes += 1

    flushing = asyncio.create_task(flush())
    async with driver_of(fresh_nodes[0], cluster) as lists:
        for number in range(1, 201):
            await use_all(lists, number)
    ended.set()
    await flushing
    assert flushes > 200


async def test_a_restart_gives_transient_errors_at_most_and_a_repeat_succeeds(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings, family: str
) -> None:
    node = fresh_nodes[0]
    async with driver_of(node, cluster) as lists:
        for number in range(1, 5):
            # Each is idempotent, so what became of those that failed need not be known.
            additions = [Addition(ADDED, each, T0 + each) for each in range(number * 100, number * 100 + 100)]
            calls = [lists.add([each], UNLIMITED) for each in additions]
            restarting = asyncio.create_task(restart(node, family))
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(each, list | ShardUnavailable) for each in results), results
            node = await restarting
            await until(lambda: answers(lists.add(additions, UNLIMITED)))  # noqa: B023 (awaited here)
            assert await lists.contains([(ADDED, [each.id for each in additions])]) == [[True] * 100]
    assert len((await stored(node, ADDED, cluster)).edges) == 400


async def restart(node: NodeProcess, family: str) -> NodeProcess:
    """Stop a node in order, and start it again."""
    await node.stop()
    return await NodeProcess.start(server_binary(family), node.folder, node.node.port)


DROPPED = 4_000
"""Edges of a list whose removal takes several steps."""


async def size_below(lists: PackedEdgeLists, ref: ListRef, size: int) -> None:
    """Return once so much is gone."""
    while (await lists.sizes([ref]))[0] >= size:  # type: ignore[operator]
        pass


@both_sorts
@pytest.mark.parametrize("left", range(DROPPED, 0, -DROPPED // 5))
async def test_a_cancelled_drop_leaves_a_good_list_of_the_newest(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings, ref: ListRef, left: int
) -> None:
    async with driver_of(fresh_nodes[0], cluster) as lists, driver_of(fresh_nodes[0], cluster) as other:
        edges = await fill(lists, ref, DROPPED)
        dropping = asyncio.create_task(lists.drop(ref))
        await size_below(other, ref, left)
        dropping.cancel()
        await asyncio.wait([dropping])
        await lists.remove([Removal(ref, 99)])  # behind the step that may be under way
        rest = await stored(fresh_nodes[0], ref, cluster)
        assert 0 <= len(rest.edges) < left
        assert rest.edges == edges[DROPPED - len(rest.edges) :]
        await check_life_goes_on(lists, ref, rest)


@both_sorts
@pytest.mark.parametrize("left", [DROPPED, DROPPED // 2, DROPPED // 4])
async def test_a_node_killed_in_a_drop_has_a_good_list_of_the_newest(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings, family: str, ref: ListRef, left: int
) -> None:
    async with driver_of(fresh_nodes[0], cluster) as lists, driver_of(fresh_nodes[0], cluster) as other:
        edges = await fill(lists, ref, DROPPED)
        async with admin_client(fresh_nodes[0].node) as client:
            await client.config_set("appendfsync", "always")
        dropping = asyncio.create_task(lists.drop(ref))
        await size_below(other, ref, left)
        fresh_nodes[0].kill()
        await asyncio.wait([dropping])
    node = await start_again(fresh_nodes[0], family)
    rest = await stored(node, ref, cluster)
    assert len(rest.edges) < left
    assert rest.edges == edges[DROPPED - len(rest.edges) :]
    async with driver_of(node, cluster) as lists:
        await check_life_goes_on(lists, ref, rest)


async def check_life_goes_on(lists: PackedEdgeLists, ref: ListRef, rest: StoredList) -> None:
    """What is left of a list is asked, grows, and can be dropped again."""
    chance = random.Random(5)
    edges = rest.edges
    gone = spread(1, USER)
    held = chance.sample(edges, min(20, len(edges)))
    assert await lists.contains([(ref, [gone, *(each.id for each in held)])]) == [
        [False] + [True] * len(held)
    ]
    for each in held:
        assert await lists.time_of(ref, each.id) == each.time_us
    if ref.kind is ListKind.FOLLOWING:
        assert await lists.add([Addition(ref, gone, T0)], UNLIMITED) == [Added(True, T0)]
        again = [Addition(ref, each.id, 0) for each in held]
        assert await lists.add(again, UNLIMITED) == [Added(False, each.time_us) for each in held]
    else:
        assert await lists.put([Inverse(ref, gone, T0)]) == [True]
    page = await lists.page(ref, Order.OLDEST_FIRST, None, 2 * DROPPED)
    assert [Cursor(*each) for each in zip(page.times_us, page.ids, strict=True)] == [Cursor(T0, gone), *edges]
    assert (await lists.inspect(ref, check=True)).problems == ()
    assert await lists.drop(ref) == len(edges) + 1
    assert (await lists.inspect(ref, check=True)).form is ListForm.EMPTY


OTHER_SETTINGS = {
    "set-max-intset-entries": "512",
    "maxmemory-policy": "allkeys-lru",
    "zset-max-listpack-entries": "64",
    "zset-max-listpack-value": "16",
}


@pytest.mark.parametrize("name", OTHER_SETTINGS)
async def test_a_node_of_other_settings_is_refused_at_connect_and_after_a_reconnect(
    fresh_nodes: list[NodeProcess], cluster: ClusterSettings, name: str
) -> None:
    async with admin_client(fresh_nodes[0].node) as client, driver_of(fresh_nodes[0], cluster) as lists:
        right = str((await client.config_get(name))[name])
        assert await lists.put([Inverse(PUT, 5, T0)]) == [True]
        await client.config_set(name, OTHER_SETTINGS[name])
        # Connections that stand are not asked again; those opened from now on are.
        await client.client_kill_filter(skipme=True, _type="normal")
        await refuses(lists, name, right)
        async with driver_of(fresh_nodes[0], cluster) as at_connect:
            await refuses(at_connect, name, right)
        await client.config_set(name, right)
        await until(lambda: answers(lists.sizes([PUT])))
        assert await lists.sizes([PUT]) == [1]


async def refuses(lists: PackedEdgeLists, name: str, right: str) -> None:
    """Neither reads nor writes get through; the log tells which setting is wrong, and what is right."""
    with capture_logs() as logs:
        await until(lambda: is_refused(lists.sizes([PUT])))
        await until(lambda: is_refused(lists.put([Inverse(PUT, 5, T0)])))
    problems = [entry["problem"] for entry in logs if entry["event"] == "node refused"]
    assert len(problems) >= 2
    assert {problem.partition(":")[0] for problem in problems} == {
        f"{name} is {OTHER_SETTINGS[name]}, not {right}"
    }


async def is_refused(call: Awaitable[object]) -> bool:
    """Whether a call is refused by a new connection; one that stood may still break."""
    try:
        await call
    except ConnectionLost:
        return False
    except ShardUnavailable:
        return True
    return False


async def answers(call: Awaitable[object]) -> bool:
    """Whether a call gets through."""
    try:
        await call
    except ShardUnavailable:
        return False
    return True
