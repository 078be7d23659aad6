"""Object ids: 62 bits, `shard << 46 | type << 36 | local` (16, 10 and 36 bits; the top two are zero).

The layout is that of Pinterest's published sharding scheme (DESIGN vector: 241294492511762325 is shard
3429, type 1, local 7075733). Under hash placement any value from 1 to 2^62-1 is a good id, and none of
these fields means anything.
"""

from dataclasses import dataclass
from typing import NamedTuple

from graphsvc.model.errors import InvalidArgument, Reason

SHARDS = 8192
"""Virtual shards, each one Redis database; never changes. Ids may name 65,536: the rest are dormant."""

MAX_ID = (1 << 62) - 1
LOCAL_BITS = 36
TYPE_BITS = 10
SHARD_SHIFT = LOCAL_BITS + TYPE_BITS
MAX_LOCAL = (1 << LOCAL_BITS) - 1
MAX_TYPE = (1 << TYPE_BITS) - 1
MAX_ID_SHARD = (1 << 16) - 1


class ObjectId(NamedTuple):
    """The three parts of an id."""

    shard: int
    type: int
    local: int


@dataclass(frozen=True, slots=True)
class TypeCodes:
    """The type codes of a cluster, 0 to 1023 each; chosen once, for ever."""

    pin: int = 1
    board: int = 2
    user: int = 3


def pack(shard: int, type_code: int, local: int) -> int:
    """Compose an id.

    Raises:
        InvalidArgument: a part does not fit its bits; names it.
    """
    for field, value, limit in (
        ("shard", shard, MAX_ID_SHARD),
        ("type", type_code, MAX_TYPE),
        ("local", local, MAX_LOCAL),
    ):
        if not 0 <= value <= limit:
            raise InvalidArgument(field, Reason.ID_OUT_OF_RANGE, f"{value} is not between 0 and {limit}")
    return check_id(shard << SHARD_SHIFT | type_code << LOCAL_BITS | local, "id")


def unpack(object_id: int) -> ObjectId:
    """Take an id apart; the inverse of `pack`."""
    check_id(object_id, "id")
    return ObjectId(object_id >> SHARD_SHIFT, object_id >> LOCAL_BITS & MAX_TYPE, object_id & MAX_LOCAL)


def check_id(object_id: int, field: str) -> int:
    """Return the id if it is one.

    Raises:
        InvalidArgument: it is 0, negative or above 2^62-1.
    """
    if not 0 < object_id <= MAX_ID:
        raise InvalidArgument(
            field, Reason.ID_OUT_OF_RANGE, f"{object_id} is not an id: ids are 1 to 2^62-1 ({MAX_ID})"
        )
    return object_id


def spread(number: int, type_code: int) -> int:
    """Give a small integer an id, so that public graphs can be loaded.

    The rule: shard `number mod 8192`, local part `number`.

    Raises:
        InvalidArgument: the number is negative or above 2^36-1.
    """
    if not 0 <= number <= MAX_LOCAL:
        raise InvalidArgument(
            "number", Reason.ID_OUT_OF_RANGE, f"{number} is not between 0 and {MAX_LOCAL}, as mapped ids are"
        )
    return pack(number % SHARDS, type_code, number)


def unspread(object_id: int, type_code: int) -> int | None:
    """The small integer that `spread` made this id from; None where it made no such id."""
    shard, code, local = unpack(object_id)
    return local if code == type_code and shard == local % SHARDS else None
