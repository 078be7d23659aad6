"""The format in Python: the vectors, what is no block, and that any block comes back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.backends.redis.packed.block import (
    HEAD,
    LONG,
    OLDEST,
    WIDE_IDS,
    Block,
    Damage,
    Frame,
    Separator,
    Totals,
    check_order,
    checksum,
    decode_separator,
    encode_block,
)
from graphsvc.backends.redis.packed.ids import SENTINEL, ShortIds
from graphsvc.backends.redis.packed.keys import KeyMeaning, Place, list_key, meaning_of
from graphsvc.model.edges import Cursor, ListKind, ListRef
from graphsvc.model.ids import MAX_ID, pack
from graphsvc.model.placement import PlacementName
from tests.edge_shapes import BORDER_IDS
from tests.format_vectors import (
    BLOCK_5,
    BLOCKS,
    BY_HASH,
    BY_ID,
    CHECKS,
    FOLLOWERS_HEAD,
    FOLLOWING_HEAD,
    IDS,
    SEEDS,
    SEPARATORS,
    T0,
    BlockVector,
    CheckVector,
    IdVector,
    SeedVector,
    SeparatorVector,
)
from tests.nodes import cluster_of

blocks = pytest.mark.parametrize("vector", BLOCKS, ids=lambda vector: vector.name)
placements = st.sampled_from([BY_ID, BY_HASH])
object_ids = st.integers(1, MAX_ID) | st.sampled_from(BORDER_IDS)


@blocks
def test_a_block_is_written_so(vector: BlockVector) -> None:
    _, ids, place, flags, frame, edges, _, totals = vector
    assert encode_block(edges, place, frame, ids, len(vector.data), flags, totals) == vector.data


@blocks
def test_a_block_is_read_so(vector: BlockVector) -> None:
    block = Block(vector.data, vector.place)
    found, times_us = block.columns(vector.ids)
    assert [Cursor(*each) for each in zip(times_us, found, strict=True)] == vector.edges
    assert Frame(block.time_width, block.id_width, block.base_us) == vector.frame
    assert block.totals == vector.totals
    assert block.size == vector.totals.edges + len(vector.edges)
    assert [block.find(each, vector.ids) for each in dict.fromkeys(found)] == [
        found.index(each) for each in dict.fromkeys(found)
    ]
    assert [block.time_of(row) for row in range(block.rows)] == times_us


@blocks
def test_any_flipped_bit_of_a_header_is_damage(vector: BlockVector) -> None:
    for bit in range(8 * Block(vector.data, vector.place).header):
        flipped = bytearray(vector.data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Damage, match=vector.place.name):
            Block(bytes(flipped), vector.place)


@blocks
def test_any_other_length_is_damage(vector: BlockVector) -> None:
    for length in range(len(vector.data)):
        with pytest.raises(Damage, match=vector.place.name):
            Block(vector.data[:length], vector.place)
    with pytest.raises(Damage, match=vector.place.name):
        Block(vector.data + b"\0", vector.place)


@blocks
def test_a_block_that_belongs_elsewhere_is_damage(vector: BlockVector) -> None:
    for place in {each.place for each in SEEDS} - {vector.place}:
        with pytest.raises(Damage, match=f"{place.name} .*another block|is not the kind of block"):
            Block(vector.data, place)


def test_a_head_is_no_sealed_block_and_a_sealed_block_no_head() -> None:
    frame = Frame(6, 8, T0 - (1 << 47))
    for flags, place in ((HEAD, BLOCK_5), (0, FOLLOWING_HEAD)):
        data = encode_block([Cursor(T0, 1)], place, frame, BY_ID, 40, flags)
        with pytest.raises(Damage, match=f"{place.name} is not the kind of block that belongs there"):
            Block(data, place)


@pytest.mark.parametrize("vector", IDS, ids=str)
def test_an_id_has_these_names(vector: IdVector) -> None:
    assert vector.ids.shorten(vector.id) == vector.short
    assert vector.ids.index_name(vector.id) == vector.index_name
    if vector.short:
        assert vector.ids.lengthen(vector.short) == vector.id


@pytest.mark.parametrize("vector", SEPARATORS, ids=str)
def test_a_separator_is_written_and_read_so(vector: SeparatorVector) -> None:
    separator = Separator(vector.time_us, vector.id, vector.number)
    assert separator.packed() == bytes.fromhex(vector.written)
    assert decode_separator(bytes.fromhex(vector.written)) == separator
    assert separator.packed().startswith(OLDEST) == (vector.time_us == 0)


@pytest.mark.parametrize("length", [0, 18, 20])
def test_an_entry_of_another_length_is_no_separator(length: int) -> None:
    with pytest.raises(Damage, match=f"{length} bytes"):
        decode_separator(bytes(length))


@pytest.mark.parametrize("vector", CHECKS, ids=str)
def test_the_check_is_computed_so(vector: CheckVector) -> None:
    assert checksum(*vector[:-1]) == vector.check


@pytest.mark.parametrize("vector", SEEDS, ids=str)
def test_the_check_begins_with_the_seed_of_the_place(vector: SeedVector) -> None:
    assert vector.place.seed == vector.seed


@given(st.integers(1, MAX_ID))
def test_the_lists_of_a_user_have_different_seeds(user_id: int) -> None:
    seeds = [Place(list_key(ListRef(0, kind, user_id))).seed for kind in ListKind]
    assert len(set(seeds)) == len(seeds)


def test_short_ids_are_those_of_the_cluster() -> None:
    assert ShortIds.of(cluster_of("valkey", PlacementName.ID)) == BY_ID
    assert ShortIds.of(cluster_of("valkey", PlacementName.HASH)) == BY_HASH


@given(placements, object_ids, object_ids)
def test_names_are_as_different_as_ids(ids: ShortIds, one: int, other: int) -> None:
    assert (ids.index_name(one) == ids.index_name(other)) == (one == other)
    assert SENTINEL not in (ids.index_name(one), ids.index_name(other))
    shorts = [ids.shorten(each) for each in (one, other)]
    if all(shorts):
        assert (one < other) == (shorts[0] < shorts[1])
        assert [ids.lengthen(short) for short in shorts] == [one, other]


Written = tuple[list[Cursor], Place, Frame, ShortIds, int, int, Totals]


@st.composite
def written_blocks(draw: st.DrawFn) -> Written:
    """What `encode_block` takes, of any frame."""
    ids, width, wide = draw(placements), draw(st.integers(4, 7)), draw(st.booleans())
    base_us = 0 if width == 7 else draw(st.integers(0, T0))
    users = st.integers(1, 2**32 - 1).map(ids.lengthen)
    offsets = st.integers(256 ** (width - 1), min(256**width - 1, 2**53 - 1 - base_us))
    edges = draw(
        st.sets(
            st.builds(Cursor, offsets.map(lambda offset: base_us + offset), object_ids if wide else users),
            min_size=1,
            max_size=30,
        )
    )
    flags = draw(st.sampled_from([0, HEAD, HEAD | LONG]))
    totals = Totals(*draw(st.tuples(*[st.integers(1, 2**32 - 1)] * 3))) if flags & LONG else Totals()
    length = (
        (24 if flags & LONG else 12) + len(edges) * (width + (8 if wide else 4)) + draw(st.integers(0, 99))
    )
    place = FOLLOWERS_HEAD if flags & HEAD else BLOCK_5
    return sorted(edges), place, Frame(width, 8 if wide else 4, base_us), ids, length, flags, totals


@given(written_blocks())
def test_any_block_comes_back_as_it_was(
    written: Written,
) -> None:
    edges, place, frame, ids, length, flags, totals = written
    data = encode_block(*written)
    assert len(data) == length
    block = Block(data, place)
    found, times_us = block.columns(ids)
    assert list(zip(times_us, found, strict=True)) == edges
    assert Frame(block.time_width, block.id_width, block.base_us) == frame
    assert (block.long, block.totals) == (bool(flags & LONG), totals)
    assert block.form & WIDE_IDS == (WIDE_IDS if frame.id_width == 8 else 0)


@given(written_blocks(), object_ids)
def test_an_id_is_found_where_it_stands_and_nowhere_else(written: Written, sought: int) -> None:
    edges, place, _, ids, *_ = written
    block = Block(encode_block(*written), place)
    standing = [edge.id for edge in edges]
    for each in (*standing, sought):
        assert block.find(each, ids) == (standing.index(each) if each in standing else -1)


@pytest.mark.parametrize(
    ("edge", "frame"),
    [
        (Cursor(T0 + 2**24 - 1, 1), Frame(4, 8, T0)),
        (Cursor(T0 + 2**32, 1), Frame(4, 8, T0)),
        (Cursor(T0 + 2**24, 2**32), Frame(4, 4, T0)),
    ],
    ids=["an offset too small", "an offset too large", "an id that is not short"],
)
def test_what_does_not_fit_is_not_written(edge: Cursor, frame: Frame) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        encode_block([edge], FOLLOWING_HEAD, frame, BY_HASH, 100, HEAD)


def test_rows_that_need_more_bytes_are_not_written() -> None:
    with pytest.raises(ValueError, match="1 rows need 24 bytes, not 23"):
        encode_block([Cursor(T0 + 2**24, 1)], FOLLOWING_HEAD, Frame(4, 8, T0), BY_HASH, 23, HEAD)


@pytest.mark.parametrize("rows", [[(2, 1), (1, 2)], [(2, 1), (1, 1)], [(1, 1), (1, 1)]], ids=str)
def test_rows_out_of_order_are_damage(rows: list[tuple[int, int]]) -> None:
    with pytest.raises(Damage, match="block 5 has rows out of order"):
        check_order([edge_id for _, edge_id in rows], [time_us for time_us, _ in rows], "block 5")


@given(st.sampled_from(ListKind), st.integers(0, MAX_ID), st.sampled_from([b"", b"d", b"i", b"0", b"77"]))
def test_a_key_tells_its_list_and_part(kind: ListKind, user_id: int, part: bytes) -> None:
    ref = ListRef(3429, kind, user_id)
    key = list_key(ref) + (b":" + part if part else b"")
    assert meaning_of(key, 3429) == KeyMeaning(ref, part)


def test_the_key_that_the_documentation_shows() -> None:
    assert list_key(ListRef(5, ListKind.FOLLOWING, pack(5, 3, 1))) == b">AAFAMAAAAAE"


@pytest.mark.parametrize(
    "key",
    [b"", b"graphsvc:cluster", b">AAFAMAAAAA", b">AAFAMAAAAAEx", b"?AAFAMAAAAAE", b">AAFA*AAAAAE"],
    ids=str,
)
def test_other_keys_are_no_lists(key: bytes) -> None:
    assert meaning_of(key, 0) is None
