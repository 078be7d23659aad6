"""Inspecting lists on real nodes: what is stored is told as it is, by the service and the command too."""

import random
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from redis.asyncio import Redis

from graphsvc.backends.edge_lists import Addition, Inverse
from graphsvc.backends.redis.edge_lists import PackedEdgeLists
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.packed.inspection import RUN, SHOWN_BLOCKS
from graphsvc.backends.redis.packed.keys import block_key, index_key, list_key
from graphsvc.model.edges import Cursor, ListKind, ListRef
from graphsvc.model.errors import Reason
from graphsvc.model.ids import MAX_ID, spread
from graphsvc.model.list_inspection import ListForm, ListInspection
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Topology
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings
from graphsvc.v1 import admin_service_pb2 as pb
from tests.command_line import CommandLine
from tests.errors import refusal
from tests.nodes import cluster_of, empty_and_claim_all
from tests.packed_lists import (
    ANN,
    FOLLOWERS,
    FOLLOWING,
    SHORT_IDS,
    T0,
    USER,
    PackedList,
    assert_good,
    user_edges,
)
from tests.services import Service, running_service

KEY = list_key(FOLLOWING)
UNLIMITED = 10**9


async def memory_of(node: Redis, head_key: bytes) -> int:
    """Bytes of all keys of a list."""
    return sum([await node.memory_usage(key, samples=0) or 0 for key in await node.keys(head_key + b"*")])


@pytest.mark.parametrize("check", [False, True])
async def test_no_list(lists: PackedEdgeLists, check: bool) -> None:
    found = await lists.inspect(FOLLOWING, check=check)
    assert found == ListInspection(FOLLOWING, ListForm.EMPTY, 0, 0, 0, 0, 0, (), check, ())


class Stored(NamedTuple):
    """A list to be stored."""

    ref: ListRef
    edges: list[Cursor]
    form: ListForm


FORMS = [
    Stored(FOLLOWING, user_edges(1), ListForm.SHORT),
    Stored(FOLLOWERS, user_edges(150), ListForm.SHORT),
    Stored(FOLLOWING, user_edges(5_000), ListForm.INDEXED),
    Stored(FOLLOWERS, user_edges(5_000), ListForm.LONG),
    Stored(FOLLOWING, [Cursor(T0 + n, MAX_ID - n * n) for n in range(2_000)], ListForm.INDEXED),
]


async def write(lists: PackedEdgeLists, stored: Stored) -> None:
    edges = random.Random(5).sample(stored.edges, len(stored.edges))
    if stored.ref.kind is ListKind.FOLLOWING:
        await lists.add([Addition(stored.ref, edge.id, edge.time_us) for edge in edges], UNLIMITED)
    else:
        await lists.put([Inverse(stored.ref, edge.id, edge.time_us) for edge in edges])


@pytest.mark.parametrize("stored", FORMS)
@pytest.mark.parametrize("check", [False, True])
async def test_a_list_is_told_as_it_is(
    lists: PackedEdgeLists, node: Redis, stored: Stored, check: bool
) -> None:
    await write(lists, stored)
    found = await lists.inspect(stored.ref, check=check)
    head_key = list_key(stored.ref)
    assert (found.form, found.size, found.problems) == (stored.form, len(stored.edges), ())
    assert (found.first_us, found.last_us) == (stored.edges[0].time_us, stored.edges[-1].time_us)
    assert {each.name.encode() for each in found.keys} == set(await node.keys(head_key + b"*"))
    assert found.bytes == sum(each.bytes for each in found.keys) == await memory_of(node, head_key)
    blocks = [each for each in found.keys if each.part.startswith(("the head", "block "))]
    assert len(blocks) == found.blocks
    assert sum(each.edges for each in blocks) == found.size
    times = [time for each in blocks for time in (each.last_us, each.first_us)]
    assert times == sorted(times, reverse=True)
    if check:
        assert_good(found)


async def test_ids_of_any_size_under_hash_placement(
    nodes: list[NodeProcess], topology: Topology, family: str
) -> None:
    cluster = cluster_of(family, PlacementName.HASH)
    await empty_and_claim_all(nodes, cluster)
    lists = PackedEdgeLists(topology.instances[0], cluster, RedisSettings(), Metrics())
    try:
        for ids in (range(1, 2_000), range(1, 1 << 62, (1 << 62) // 2_000)):
            edges = [Cursor(T0 + n, each) for n, each in enumerate(ids)]
            await write(lists, Stored(FOLLOWING, edges, ListForm.INDEXED))
            assert_good(await lists.inspect(FOLLOWING, check=True))
    finally:
        await lists.close()


LONG_EDGES = user_edges(2 * SHOWN_BLOCKS * 3 + 1)


async def test_a_very_long_list_is_told_in_part_and_checked_as_a_whole(
    lists: PackedEdgeLists, node: Redis
) -> None:
    packed, key = PackedList.of(LONG_EDGES, 3), list_key(FOLLOWING)
    count = len(packed.blocks)
    assert count == 2 * SHOWN_BLOCKS > 3 * RUN
    await packed.store(node)
    glance = await lists.inspect(FOLLOWING, check=False)
    checked = await lists.inspect(FOLLOWING, check=True)
    assert_good(checked)
    assert checked == glance._replace(checked=True, bytes=checked.bytes)
    assert checked.bytes == await memory_of(node, key)
    assert abs(glance.bytes - checked.bytes) < checked.bytes / 10
    assert [each.part for each in glance.keys] == [
        "the head", *(f"block {number}" for number in range(count)[: -SHOWN_BLOCKS - 1 : -1]), "the directory"
    ]  # fmt: skip
    assert (glance.first_us, glance.last_us) == (LONG_EDGES[0].time_us, LONG_EDGES[-1].time_us)

    for number in (0, 1, RUN - 1, RUN, RUN + 1, 2 * RUN, count - 1):
        await node.delete(block_key(key, number))
        assert (await lists.inspect(FOLLOWING, check=True)).problems == (f"block {number} is missing",)
        await node.set(block_key(key, number), packed.blocks[number])
    await node.delete(block_key(key, 1))
    assert (await lists.inspect(FOLLOWING, check=False)).problems == ()


async def follow_many(service: Service, count: int) -> None:
    others = [spread(n, USER) for n in range(10, 10 + count)]
    for followers, followees in (([ANN] * count, others), (others, [ANN] * count)):
        await service.admin.BatchImportEdges(
            pb.BatchImportEdgesRequest(
                kind=pb.BatchImportEdgesRequest.KIND_FOLLOW_USER, follower_ids=followers, target_ids=followees
            )
        )


async def test_the_service_tells_both_lists(service: Service) -> None:
    await follow_many(service, 300)
    answer = await service.admin.InspectUser(pb.InspectUserRequest(user_id=ANN, check=True))
    assert (answer.shard, answer.instance) == (7, "instance-0")
    told = [(each.list, each.form, each.size, each.checked, list(each.problems)) for each in answer.lists]
    assert told == [
        ("following", "long, indexed", 300, True, []),
        ("followers", "long", 300, True, []),
    ]
    [following, _] = answer.lists
    assert [each.part for each in following.keys][:1] == ["the head"]
    assert following.bytes == sum(each.bytes for each in following.keys)
    nobody = await service.admin.InspectUser(pb.InspectUserRequest(user_id=spread(5_000, USER)))
    assert (nobody.instance, [each.form for each in nobody.lists]) == ("instance-1", ["empty", "empty"])


@pytest.mark.parametrize(
    ("user_id", "reason"),
    [(0, Reason.ID_OUT_OF_RANGE), (spread(7, 2), Reason.ID_WRONG_TYPE), (MAX_ID, Reason.ID_DORMANT_SHARD)],
)
async def test_what_is_no_user_is_refused(service: Service, user_id: int, reason: Reason) -> None:
    refused = await refusal(service.admin.InspectUser(pb.InspectUserRequest(user_id=user_id, check=True)))
    assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
    assert refused.fields == ("user_id",)


async def test_a_check_may_take_longer_than_a_read(
    tmp_path: Path, cluster: ClusterSettings, topology: Topology, node: Redis
) -> None:
    await PackedList.of(LONG_EDGES, 3).store(node)
    redis = RedisSettings(read_timeout_ms=1)
    async with running_service(tmp_path, cluster, topology, redis=redis) as service:
        answer = await service.admin.InspectUser(pb.InspectUserRequest(user_id=ANN, check=True))
    assert [each.size for each in answer.lists] == [len(LONG_EDGES), 0]


async def test_the_command_names_damage_and_exits_with_1(
    service: Service, tmp_path: Path, node: Redis
) -> None:
    await follow_many(service, 300)
    cli = CommandLine(service.target, tmp_path)
    good = await cli.run("inspect", "--map-ids", "user", 7, "--check")
    assert (good.code, good.err) == (0, "")
    assert good.lines[:2] == ["user       7", "shard      7 (redis-cli -n 7), on instance-0"]
    assert good.lines.count("checked: all of it is as it should be") == 2

    await node.srem(index_key(KEY), SHORT_IDS.index_name(spread(200, USER)))
    await node.delete(block_key(list_key(FOLLOWERS), 0))
    damaged = await cli.run("inspect", "--map-ids", "user", 7, "--check")
    assert damaged.code == 1
    assert {line for line in damaged.lines if line.startswith("damaged: ")} == {
        "damaged: the index lacks ids of the head: 1 of 143, as 200",
        "damaged: the index has not one name an edge, and the sentinel: 300 names, 300 edges",
        "damaged: block 0 is missing",
    }
    assert sum(line.startswith("what to do: ") for line in damaged.lines) == 2

    document = (await cli.run("inspect", ANN, "--check", "--json")).json
    assert (document["user"], document["shard"]) == (str(ANN), 7)
    assert document["lists"][1]["problems"] == ["block 0 is missing"]
    assert [len(each["problems"]) for each in document["lists"]] == [2, 1]
