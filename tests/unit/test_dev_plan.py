"""What `graphsvc dev` decides, for everything it may find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.backends.redis.identity import identity_record
from graphsvc.cli.dev.plan import (
    FIRST_PAUSE_S,
    INSTANCES,
    LONGEST_PAUSE_S,
    SETTLED_S,
    Claim,
    Contents,
    Refused,
    Start,
    check_choices,
    check_map,
    claim_of,
    claimed_cluster,
    claims,
    how_to_start,
    next_map,
    pause_before_restart_s,
    wanted_cluster,
)
from graphsvc.model.ids import SHARDS
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Instance, Node, Topology
from graphsvc.runtime.settings import ClusterChoices

NEW_ID = "a" * 32
CLUSTER = wanted_cluster(ClusterChoices(), "valkey", NEW_ID)
HASHED = wanted_cluster(ClusterChoices(placement=PlacementName.HASH), "valkey", NEW_ID)
OURS = [identity_record(CLUSTER, name) for name in INSTANCES]
THEIRS = identity_record(HASHED, INSTANCES[0])
NODES = [Node(host="127.0.0.1", port=7001), Node(host="127.0.0.1", port=7002)]
OTHER = Node(host="127.0.0.1", port=7003)


def first_map() -> Topology:
    topology = next_map(None, NODES)
    assert topology is not None
    return topology


class TestHowToStart:
    def test_whatever_runs_on_the_folder_is_taken_over(self) -> None:
        for recorded in (False, True):
            for free in (False, True):
                how = how_to_start(still_runs=True, recorded=recorded, recorded_port_free=free)
                assert how is Start.ADOPT

    def test_the_recorded_port_is_kept_unless_a_stranger_has_it(self) -> None:
        assert how_to_start(still_runs=False, recorded=True, recorded_port_free=True) is Start.AS_RECORDED
        assert how_to_start(still_runs=False, recorded=True, recorded_port_free=False) is Start.ELSEWHERE

    def test_a_new_instance_takes_any_port(self) -> None:
        assert how_to_start(still_runs=False, recorded=False, recorded_port_free=False) is Start.ELSEWHERE


class TestClaims:
    EMPTY = Contents(None, 0)
    CLAIMED = Contents(OURS[0], 0)
    SECOND_CLAIMED = Contents(OURS[1], 0)
    IN_USE = Contents(OURS[0], 7)

    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            ([EMPTY, EMPTY], [Claim.WRITE, Claim.WRITE]),
            ([CLAIMED, EMPTY], [Claim.NOTHING, Claim.WRITE]),
            ([EMPTY, SECOND_CLAIMED], [Claim.WRITE, Claim.NOTHING]),
            ([CLAIMED, SECOND_CLAIMED], [Claim.NOTHING, Claim.NOTHING]),
        ],
    )
    def test_an_interrupted_creation_is_done_again(
        self, found: list[Contents], expected: list[Claim]
    ) -> None:
        assert claims(False, found, CLUSTER) == expected

    def test_an_interrupted_creation_binds_nobody_to_its_choices(self) -> None:
        assert claims(False, [Contents(THEIRS, 0), self.EMPTY], CLUSTER) == [Claim.WRITE, Claim.WRITE]

    @pytest.mark.parametrize("created", [False, True])
    def test_data_of_this_cluster_is_served_also_where_the_map_was_lost(self, created: bool) -> None:
        assert claims(created, [self.IN_USE, self.SECOND_CLAIMED], CLUSTER) == [Claim.NOTHING, Claim.NOTHING]

    @pytest.mark.parametrize(("created", "other"), [(True, CLAIMED), (True, IN_USE), (False, IN_USE)])
    def test_a_node_that_lost_its_data_is_never_served(self, created: bool, other: Contents) -> None:
        with pytest.raises(Refused, match=r"instance-1 came up empty.*Put the folder instance-1 back"):
            claims(created, [other, self.EMPTY], CLUSTER)

    @pytest.mark.parametrize("created", [False, True])
    @pytest.mark.parametrize("record", [THEIRS, b"no record"])
    def test_data_of_others_is_never_served(self, created: bool, record: bytes) -> None:
        with pytest.raises(Refused, match="instance-0 holds data that is not this cluster's"):
            claims(created, [Contents(record, 3), self.SECOND_CLAIMED], CLUSTER)

    def test_keys_without_a_record_are_others_data(self) -> None:
        with pytest.raises(Refused, match=r"instance-0 holds data.*no graphsvc identity"):
            claims(False, [Contents(None, 1), self.EMPTY], CLUSTER)

    @given(
        created=st.booleans(),
        found=st.lists(
            st.builds(Contents, st.sampled_from([None, *OURS, THEIRS]), st.integers(0, 2)),
            min_size=2,
            max_size=2,
        ),
    )
    def test_nothing_is_ever_claimed_where_anything_could_be_lost(
        self, created: bool, found: list[Contents]
    ) -> None:
        try:
            verdicts = claims(created, found, CLUSTER)
        except Refused:
            return
        served = created or any(each.keys for each in found)
        for verdict, each, ours in zip(verdicts, found, OURS, strict=True):
            assert verdict is (Claim.NOTHING if each.record == ours else Claim.WRITE)
            assert verdict is Claim.NOTHING or not (served or each.keys)

    @pytest.mark.parametrize("created", [False, True])
    @pytest.mark.parametrize(
        ("found", "said"),
        [
            ([SECOND_CLAIMED, IN_USE], "instance-0's folder holds instance-1's data"),
            ([IN_USE, IN_USE], "instance-1's folder holds instance-0's data"),
        ],
        ids=["swapped", "a copy"],
    )
    def test_data_of_the_other_instance_is_never_served(
        self, created: bool, found: list[Contents], said: str
    ) -> None:
        with pytest.raises(Refused, match=f"{said}: put the folders back in their places"):
            claims(created, found, CLUSTER)

    def test_a_restarted_node_is_judged_alone(self) -> None:
        assert claim_of("instance-0", True, self.CLAIMED, CLUSTER) is Claim.NOTHING
        with pytest.raises(Refused, match="came up empty"):
            claim_of("instance-0", True, self.EMPTY, CLUSTER)
        with pytest.raises(Refused, match="instance-1's folder holds instance-0's data"):
            claim_of("instance-1", True, self.CLAIMED, CLUSTER)


class TestMap:
    def test_the_first_one_gives_each_instance_half(self) -> None:
        topology = first_map()
        assert topology.version == 1
        assert [(each.name, each.first_shard, each.last_shard) for each in topology.instances] == [
            ("instance-0", 0, 4095),
            ("instance-1", 4096, 8191),
        ]
        assert [each.primary for each in topology.instances] == NODES
        check_map(topology)

    def test_nothing_is_written_where_nothing_moved(self) -> None:
        assert next_map(first_map(), NODES) is None

    def test_a_move_raises_the_version_and_that_instances_epoch(self) -> None:
        moved = next_map(first_map(), [NODES[0], OTHER])
        assert moved is not None
        assert moved.version == 2
        assert [(each.primary, each.epoch) for each in moved.instances] == [(NODES[0], 1), (OTHER, 2)]
        assert next_map(moved, [NODES[0], OTHER]) is None

    def test_ports_may_be_swapped(self) -> None:
        swapped = next_map(first_map(), NODES[::-1])
        assert swapped is not None
        assert [each.primary for each in swapped.instances] == NODES[::-1]
        assert [each.epoch for each in swapped.instances] == [2, 2]

    @pytest.mark.parametrize(
        "instances",
        [
            (Instance(name="instance-0", first_shard=0, last_shard=SHARDS - 1),),
            (
                Instance(name="instance-0", first_shard=0, last_shard=99),
                Instance(name="instance-1", first_shard=100, last_shard=SHARDS - 1),
            ),
            (
                Instance(name="a", first_shard=0, last_shard=4095),
                Instance(name="b", first_shard=4096, last_shard=SHARDS - 1),
            ),
        ],
    )
    def test_a_map_of_another_making_is_refused(self, instances: tuple[Instance, ...]) -> None:
        with pytest.raises(Refused, match=r"not one of graphsvc dev.*Use another --data"):
            check_map(Topology(version=1, instances=instances))


class TestChoices:
    def test_the_same_choices_pass(self) -> None:
        check_choices(CLUSTER, wanted_cluster(ClusterChoices(), "valkey", "b" * 32))

    @pytest.mark.parametrize(
        ("choices", "family", "difference"),
        [
            (ClusterChoices(placement=PlacementName.HASH), "valkey", "placement is 'id', not 'hash'"),
            (ClusterChoices(), "redis", "family is 'valkey', not 'redis'"),
            (ClusterChoices(name="prod"), "valkey", "cluster is 'dev', not 'prod'"),
            (ClusterChoices(user_type=9), "valkey", "'user': 3.*'user': 9"),
        ],
    )
    def test_any_other_is_named(self, choices: ClusterChoices, family: str, difference: str) -> None:
        with pytest.raises(Refused, match=f"{difference}.*another --data"):
            check_choices(CLUSTER, wanted_cluster(choices, family, NEW_ID))

    def test_type_codes_must_differ(self) -> None:
        with pytest.raises(Refused, match=r"cluster\.pin_type.*must differ"):
            wanted_cluster(ClusterChoices(pin_type=3), "valkey", NEW_ID)


class TestPauses:
    def test_grow_while_a_node_keeps_ending_and_stay_bounded(self) -> None:
        pauses = [0.0]
        for _ in range(12):
            pauses.append(pause_before_restart_s(pauses[-1], lived_s=1.0))
        assert pauses[1] == FIRST_PAUSE_S
        assert pauses == sorted(pauses)
        assert pauses[-1] == LONGEST_PAUSE_S

    def test_begin_anew_after_a_long_life(self) -> None:
        assert pause_before_restart_s(LONGEST_PAUSE_S, lived_s=SETTLED_S) == FIRST_PAUSE_S


def claimed(cluster: ClusterSettings, keys: int = 0, instance: str = "instance-0") -> Contents:
    """A node that was claimed for a cluster."""
    return Contents(identity_record(cluster, instance), keys)


NAMESAKE = CLUSTER.model_copy(update={"id": "b" * 32})


@pytest.mark.parametrize("rest", [Contents(None, 0), claimed(NAMESAKE, instance="instance-1")])
def test_where_the_map_is_missing_the_nodes_say_which_cluster_it_is(rest: Contents) -> None:
    assert claimed_cluster([claimed(NAMESAKE, keys=5), rest], CLUSTER) == NAMESAKE


@pytest.mark.parametrize(
    "contents",
    [
        [Contents(None, 0), Contents(None, 0)],
        [claimed(HASHED), Contents(None, 0)],
        [claimed(NAMESAKE), claimed(CLUSTER)],
        [Contents(b"{}", 1), Contents(None, 0)],
    ],
)
def test_where_they_say_nothing_or_disagree_it_is_the_wanted_one(contents: list[Contents]) -> None:
    assert claimed_cluster(contents, CLUSTER) == CLUSTER


def test_a_node_of_a_cluster_of_the_same_name_is_refused() -> None:
    with pytest.raises(Refused, match="instance-1 holds data that is not this cluster's: id is"):
        claims(created=True, contents=[claimed(CLUSTER), claimed(NAMESAKE)], cluster=CLUSTER)
