"""Placement: on which shard a user's lists live. Arithmetic, never a lookup.

A cluster chooses one of two placements once. Both answer with a shard of 0 to 8191 or say what is wrong
with the id.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import LOCAL_BITS, MAX_TYPE, SHARD_SHIFT, SHARDS, TypeCodes, check_id

_MASK_64 = (1 << 64) - 1


class PlacementName(StrEnum):
    """The placements a cluster can choose."""

    ID = "id"
    HASH = "hash"


class Placement(Protocol):
    """Maps ids to shards."""

    @property
    def name(self) -> PlacementName:
        """The placement's name, as stored in the cluster's settings."""
        ...

    def user_shard(self, user_id: int, field: str) -> int:
        """The shard, 0 to 8191, of everything about this user.

        Raises:
            InvalidArgument: not a user's id of this cluster; names `field`.
        """
        ...


@dataclass(frozen=True, slots=True)
class IdPlacement:
    """The id names its shard; its type is checked."""

    codes: TypeCodes = field(default_factory=TypeCodes)
    name: PlacementName = PlacementName.ID

    def user_shard(self, user_id: int, field: str) -> int:
        """See `Placement.user_shard`; a dormant shard and another type are refused too."""
        check_id(user_id, field)
        shard = user_id >> SHARD_SHIFT
        if shard >= SHARDS:
            raise InvalidArgument(
                field, Reason.ID_DORMANT_SHARD, f"{user_id} names shard {shard}; shards are 0 to {SHARDS - 1}"
            )
        code = user_id >> LOCAL_BITS & MAX_TYPE
        if code != self.codes.user:
            raise InvalidArgument(
                field,
                Reason.ID_WRONG_TYPE,
                f"{user_id} is of type {code}; users are of type {self.codes.user}",
            )
        return shard


@dataclass(frozen=True, slots=True)
class HashPlacement:
    """Any id goes where its hash says: for sequential and snowflake ids."""

    name: PlacementName = PlacementName.HASH

    def user_shard(self, user_id: int, field: str) -> int:
        """See `Placement.user_shard`."""
        return hash_id(check_id(user_id, field)) % SHARDS


def hash_id(object_id: int) -> int:
    """32 bits: the first half of MurmurHash3's fmix64; vector: 274557032793636864 -> 234878118."""
    k = object_id ^ object_id >> 33
    k = k * 0xFF51AFD7ED558CCD & _MASK_64
    return (k ^ k >> 33) & 0xFFFFFFFF


def placement_of(name: PlacementName, codes: TypeCodes) -> Placement:
    """The placement a cluster chose."""
    return IdPlacement(codes) if name is PlacementName.ID else HashPlacement()
