"""The map: every shard has exactly one instance; and the cluster's choices."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from graphsvc.model.ids import SHARDS, TypeCodes
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Instance, Member, Node, Topology, TypeCodesRecord

LAST = SHARDS - 1


def node(port: int) -> Node:
    return Node(host="127.0.0.1", port=port)


def instance(name: str, first: int, last: int, **more: Any) -> Instance:
    return Instance(name=name, first_shard=first, last_shard=last, **more)


def topology(*instances: Instance) -> Topology:
    return Topology(version=1, instances=instances)


@st.composite
def tilings(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Ranges that cover the shards exactly once, in order."""
    cuts = sorted(draw(st.sets(st.integers(1, LAST), max_size=20)))
    return [(first, end - 1) for first, end in pairwise([0, *cuts, SHARDS])]


def named(ranges: list[tuple[int, int]]) -> list[Instance]:
    return [instance(f"i{index}", *each) for index, each in enumerate(ranges)]


@given(tilings())
def test_every_shard_has_exactly_one_instance(ranges: list[tuple[int, int]]) -> None:
    cluster = topology(*named(ranges))
    for index, (first, last) in enumerate(ranges):
        for shard in {first, (first + last) // 2, last}:
            assert cluster.instance_index(shard) == index
            assert cluster.instance_of(shard).name == f"i{index}"
            holders = [each for each in cluster.instances if each.first_shard <= shard <= each.last_shard]
            assert holders == [cluster.instance_of(shard)]


@given(tilings(), st.data())
def test_a_gap_or_an_overlap_is_refused(ranges: list[tuple[int, int]], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(ranges) - 1))
    first, last = ranges[index]
    bounds = st.integers(0, LAST)
    spoilt = data.draw(
        st.tuples(bounds, bounds).filter(lambda new: new != (first, last) and new[0] <= new[1])
    )
    with pytest.raises(ValidationError, match=r"begins at shard|the ranges end at shard"):
        topology(*named([*ranges[:index], spoilt, *ranges[index + 1 :]]))


@pytest.mark.parametrize(
    ("ranges", "problem"),
    [
        ([], "end at shard -1, not at 8191"),
        ([(0, LAST - 1)], "end at shard 8190, not at 8191"),
        ([(1, LAST)], "begins at shard 1, not at 0"),
        ([(0, 4095), (4097, LAST)], "begins at shard 4097, not at 4096"),
        ([(0, 4096), (4096, LAST)], "begins at shard 4096, not at 4097"),
        ([(4096, LAST), (0, 4095)], "begins at shard 4096, not at 0"),
        ([(0, LAST), (0, LAST)], "begins at shard 0, not at 8192"),
    ],
)
def test_the_message_says_where_the_ranges_go_wrong(ranges: list[tuple[int, int]], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        topology(*named(ranges))


@pytest.mark.parametrize(("first", "last"), [(-1, 5), (0, SHARDS), (6, 5)])
def test_an_instance_with_a_range_that_is_none_is_refused(first: int, last: int) -> None:
    with pytest.raises(ValidationError):
        instance("one", first, last)


def test_two_instances_have_two_names() -> None:
    with pytest.raises(ValidationError, match="same name"):
        topology(instance("one", 0, 4095), instance("one", 4096, LAST))


def test_a_node_stands_in_one_place_only() -> None:
    with pytest.raises(ValidationError, match="two places"):
        topology(instance("a", 0, 4095, primary=node(1)), instance("b", 4096, LAST, replicas=(node(1),)))
    with pytest.raises(ValidationError, match="two places"):
        topology(instance("a", 0, LAST, replicas=(node(1), node(1))))
    with pytest.raises(ValidationError, match="primary and replica"):
        instance("a", 0, LAST, primary=node(1), replicas=(node(1),))


def test_instances_without_a_primary_stand_side_by_side() -> None:
    cluster = topology(instance("a", 0, 4095), instance("b", 4096, LAST))
    assert [each.primary for each in cluster.instances] == [None, None]


def test_only_replicas_are_in_sync() -> None:
    kept = instance("a", 0, LAST, replicas=(node(2),), in_sync=(Member(node=node(2), run_id="r"),))
    assert kept.in_sync[0].node == node(2)
    with pytest.raises(ValidationError, match=r"no replicas: 127\.0\.0\.1:3"):
        instance("a", 0, LAST, replicas=(node(2),), in_sync=(Member(node=node(3), run_id="r"),))


@pytest.mark.parametrize(
    "values",
    [
        {"version": 0, "instances": []},
        {"version": 1, "instances": [], "shards": 8192},
        {"version": 1, "instances": [{"name": "", "first_shard": 0, "last_shard": LAST}]},
        {"version": 1, "instances": [{"name": "a", "first_shard": 0, "last_shard": LAST, "epoch": 0}]},
        {
            "version": 1,
            "instances": [
                {"name": "a", "first_shard": 0, "last_shard": LAST, "primary": {"host": "h", "port": 0}}
            ],
        },
        {
            "version": 1,
            "instances": [
                {"name": "a", "first_shard": 0, "last_shard": LAST, "primary": {"host": "", "port": 1}}
            ],
        },
    ],
)
def test_stored_maps_with_values_that_are_none_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Topology.model_validate(values)


def test_a_map_comes_back_from_json_as_it_was() -> None:
    kept = Topology(
        version=7,
        instances=(
            instance(
                "a",
                0,
                4095,
                primary=node(1),
                replicas=(node(2), node(3)),
                in_sync=(Member(node=node(2), run_id="r"),),
                epoch=5,
            ),
            instance("b", 4096, LAST),
        ),
    )
    assert Topology.model_validate_json(kept.model_dump_json()) == kept


def test_a_map_does_not_change() -> None:
    cluster = topology(instance("a", 0, LAST))
    with pytest.raises(ValidationError, match="frozen"):
        cluster.version = 2  # type: ignore[misc]


def test_type_codes_differ() -> None:
    assert TypeCodesRecord(pin=4, board=5, user=6).codes() == TypeCodes(pin=4, board=5, user=6)
    for codes in ({"pin": 2}, {"board": 3}, {"user": 1}):
        with pytest.raises(ValidationError, match="differ"):
            TypeCodesRecord(**codes)


def test_a_clusters_choices_come_back_from_json_as_they_were() -> None:
    chosen = ClusterSettings(
        cluster="eu",
        id="1" * 32,
        placement=PlacementName.HASH,
        type_codes=TypeCodesRecord(pin=9),
        family="valkey",
    )
    assert ClusterSettings.model_validate_json(chosen.model_dump_json()) == chosen


@pytest.mark.parametrize("family", ["", "Redis", "memcached", "redis "])
def test_a_family_that_is_none_is_refused(family: str) -> None:
    with pytest.raises(ValidationError, match="family"):
        ClusterSettings(cluster="eu", id="1" * 32, placement=PlacementName.ID, family=family)
