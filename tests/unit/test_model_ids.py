"""Ids: packing, the branded form, and mapped small integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.model import branded
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import (
    MAX_ID,
    MAX_ID_SHARD,
    MAX_LOCAL,
    MAX_TYPE,
    SHARDS,
    ObjectId,
    check_id,
    pack,
    spread,
    unpack,
    unspread,
)

PIN = 241294492511762325
SNOWFLAKE = 274557032793636864

ids = st.integers(1, MAX_ID)
brands = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=3, max_size=3)


def test_the_vector_packs_and_unpacks() -> None:
    assert pack(3429, 1, 7075733) == PIN
    assert unpack(PIN) == ObjectId(shard=3429, type=1, local=7075733)


def test_the_largest_parts_make_the_largest_id() -> None:
    assert pack(MAX_ID_SHARD, MAX_TYPE, MAX_LOCAL) == MAX_ID == 2**62 - 1


@given(ids)
def test_every_id_is_its_parts(object_id: int) -> None:
    assert pack(*unpack(object_id)) == object_id


@given(st.integers(0, MAX_ID_SHARD), st.integers(0, MAX_TYPE), st.integers(1, MAX_LOCAL))
def test_parts_come_out_as_they_went_in(shard: int, type_code: int, local: int) -> None:
    assert unpack(pack(shard, type_code, local)) == (shard, type_code, local)


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ((MAX_ID_SHARD + 1, 3, 1), "shard"),
        ((-1, 3, 1), "shard"),
        ((1, MAX_TYPE + 1, 1), "type"),
        ((1, -1, 1), "type"),
        ((1, 3, MAX_LOCAL + 1), "local"),
        ((1, 3, -1), "local"),
        ((0, 0, 0), "id"),
    ],
)
def test_parts_that_do_not_fit_are_refused_by_name(parts: tuple[int, int, int], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        pack(*parts)
    assert (refused.value.field, refused.value.reason) == (field, Reason.ID_OUT_OF_RANGE)


@pytest.mark.parametrize("value", [0, -1, MAX_ID + 1, 2**63, 2**64 - 1])
def test_what_is_no_id_is_refused_with_the_field_and_the_limit(value: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_id(value, "follower_ids[3]")
    assert (refused.value.field, refused.value.reason) == ("follower_ids[3]", Reason.ID_OUT_OF_RANGE)
    assert refused.value.message.startswith("follower_ids[3]: ")
    assert str(MAX_ID) in refused.value.message


@pytest.mark.parametrize("value", [1, MAX_ID])
def test_the_ends_of_the_range_are_ids(value: int) -> None:
    assert check_id(value, "id") == value


def test_the_branded_vector() -> None:
    assert branded.to_branded(SNOWFLAKE, branded.USER) == "USR0KHTOWnGLuC"
    assert branded.from_branded("USR0KHTOWnGLuC") == ("USR", SNOWFLAKE)


@given(ids, brands)
def test_the_branded_form_round_trips_and_has_one_width(object_id: int, brand: str) -> None:
    text = branded.to_branded(object_id, brand)
    assert len(text) == branded.LETTERS + branded.WIDTH
    assert branded.from_branded(text) == (brand, object_id)


@given(ids, ids)
def test_branded_ids_sort_as_their_numbers(one: int, other: int) -> None:
    assert (one < other) == (branded.to_branded(one, "USR") < branded.to_branded(other, "USR"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "USR",
        "USR0KHTOWnGLu",
        "USR0KHTOWnGLuCC",
        "usr0KHTOWnGLuC",
        "US10KHTOWnGLuC",
        "ÜSR0KHTOWnGLuC",
        "USR0KHTOWnGLu-",
        "USR0KHTOWnGLu\n",
        "USR00000000000",
        "USRzzzzzzzzzzz",
    ],
)
def test_a_text_that_is_no_branded_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        branded.from_branded(text)
    assert refused.value.field == "id"


def test_one_above_the_largest_branded_id_is_refused() -> None:
    largest = branded.to_branded(MAX_ID, "USR")
    above = largest[:-1] + branded.DIGITS[branded.DIGITS.index(largest[-1]) + 1]
    assert branded.from_branded(largest) == ("USR", MAX_ID)
    with pytest.raises(InvalidArgument):
        branded.from_branded(above)


@pytest.mark.parametrize("brand", ["", "US", "USRR", "usr", "U1R", "ÄBC"])
def test_a_bad_brand_is_refused(brand: str) -> None:
    with pytest.raises(InvalidArgument, match="three letters"):
        branded.to_branded(SNOWFLAKE, brand)


@given(st.integers(0, MAX_LOCAL))
def test_a_mapped_number_comes_back_and_sits_on_its_remainder(number: int) -> None:
    object_id = spread(number, 3)
    assert unspread(object_id, 3) == number
    assert unpack(object_id).shard == number % SHARDS


def test_mapping_spreads_neighbours_over_all_shards() -> None:
    assert sorted(unpack(spread(number, 3)).shard for number in range(SHARDS)) == list(range(SHARDS))


@pytest.mark.parametrize("number", [-1, MAX_LOCAL + 1])
def test_a_number_that_cannot_be_mapped_is_refused(number: int) -> None:
    with pytest.raises(InvalidArgument, match=str(MAX_LOCAL)):
        spread(number, 3)


def test_an_id_that_mapping_did_not_make_maps_back_to_nothing() -> None:
    assert unspread(PIN, 1) is None
    assert unspread(spread(5, 2), 3) is None
