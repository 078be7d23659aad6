"""Placement: where a user's lists live."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import MAX_ID, MAX_ID_SHARD, MAX_LOCAL, SHARDS, TypeCodes, pack
from graphsvc.model.placement import (
    HashPlacement,
    IdPlacement,
    PlacementName,
    hash_id,
    placement_of,
)

PIN = 241294492511762325
SNOWFLAKE = 274557032793636864


@given(st.integers(0, SHARDS - 1), st.integers(0, MAX_LOCAL))
def test_an_id_names_its_shard(shard: int, local: int) -> None:
    assert IdPlacement().user_shard(pack(shard, 3, local), "user_id") == shard


@given(st.integers(SHARDS, MAX_ID_SHARD))
def test_a_dormant_shard_is_refused(shard: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        IdPlacement().user_shard(pack(shard, 3, 1), "user_id")
    assert (refused.value.field, refused.value.reason) == ("user_id", Reason.ID_DORMANT_SHARD)
    assert f"shard {shard}" in refused.value.message
    assert f"0 to {SHARDS - 1}" in refused.value.message


@pytest.mark.parametrize("user_id", [PIN, pack(3429, 2, 1), pack(3429, 0, 1), pack(3429, 1023, 1)])
def test_another_type_is_no_user(user_id: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        IdPlacement().user_shard(user_id, "followee_id")
    assert (refused.value.field, refused.value.reason) == ("followee_id", Reason.ID_WRONG_TYPE)


def test_type_codes_can_be_chosen() -> None:
    placement = IdPlacement(TypeCodes(pin=3, board=2, user=1))
    assert placement.user_shard(PIN, "user_id") == 3429
    with pytest.raises(InvalidArgument, match="type 3; users are of type 1"):
        placement.user_shard(pack(3429, 3, 1), "user_id")


def test_the_hash_vector() -> None:
    assert hash_id(SNOWFLAKE) == 234878118
    assert HashPlacement().user_shard(SNOWFLAKE, "user_id") == 234878118 % SHARDS


@given(st.integers(1, MAX_ID))
def test_hashing_takes_any_id_to_a_shard(user_id: int) -> None:
    assert 0 <= hash_id(user_id) < 2**32
    assert 0 <= HashPlacement().user_shard(user_id, "user_id") < SHARDS


def test_hashing_fills_all_shards_with_snowflakes_of_one_machine() -> None:
    # One a millisecond, machine and sequence bits zero: `id % 8192` would use 2 shards of 8192.
    snowflakes = [SNOWFLAKE + (step << 22) for step in range(16 * SHARDS)]
    load = [0] * SHARDS
    for user_id in snowflakes:
        load[HashPlacement().user_shard(user_id, "user_id")] += 1
    assert min(load) > 0
    assert max(load) < 64


@pytest.mark.parametrize("placement", [IdPlacement(), HashPlacement()])
@pytest.mark.parametrize("user_id", [0, -5, MAX_ID + 1])
def test_what_is_no_id_is_nowhere(placement: IdPlacement | HashPlacement, user_id: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        placement.user_shard(user_id, "user_id")
    assert (refused.value.field, refused.value.reason) == ("user_id", Reason.ID_OUT_OF_RANGE)


def test_a_cluster_gets_the_placement_that_it_chose() -> None:
    codes = TypeCodes(pin=7, board=8, user=9)
    chosen = placement_of(PlacementName.ID, codes)
    assert chosen.name is PlacementName.ID
    assert chosen.user_shard(pack(1, 9, 1), "user_id") == 1
    assert placement_of(PlacementName.HASH, codes).name is PlacementName.HASH
