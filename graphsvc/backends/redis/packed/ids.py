"""Ids in four bytes where they fit, and the names that ids have in the index.

A short id is a number of 32 bits that stands for one id of 62. Under id placement it is
`shard << 19 | local`, for users whose shard is below 8192 and whose local part is below 2^19 (4.3 billion
users); under hash placement, where the fields of an id mean nothing, it is the id itself, below 2^32. Both
are one formula with two constants, and keep the order of ids. 0 is no short id: it marks free rows.
"""

from typing import NamedTuple, Self

from graphsvc.model.ids import LOCAL_BITS, SHARD_SHIFT
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings

SHORT_BYTES = 4
LONG_BYTES = 8
_SHORT_IDS = 1 << 32


class ShortIds(NamedTuple):
    """Which ids are short in a cluster."""

    local_bits: int
    """Of the 32: those of the local part. The others are the shard's."""
    type_code: int
    """That all short ids have."""

    @classmethod
    def of(cls, cluster: ClusterSettings) -> Self:
        """The short ids of a cluster's users."""
        if cluster.placement == PlacementName.ID:
            return cls(local_bits=19, type_code=cluster.type_codes.user)
        return cls(local_bits=32, type_code=0)

    def shorten(self, edge_id: int) -> int:
        """The short id; 0 where there is none."""
        shard, rest = edge_id >> SHARD_SHIFT, edge_id & ((1 << SHARD_SHIFT) - 1)
        local = rest - (self.type_code << LOCAL_BITS)
        short = shard << self.local_bits | local
        return short if 0 <= local < 1 << self.local_bits and short < _SHORT_IDS else 0

    def lengthen(self, short: int) -> int:
        """The id of a short id."""
        shard, local = short >> self.local_bits, short & ((1 << self.local_bits) - 1)
        return shard << SHARD_SHIFT | self.type_code << LOCAL_BITS | local

    def packed(self, edge_id: int, width: int) -> bytes | None:
        """The id as a block with ids of this width has it; None where it can't have it."""
        if width == LONG_BYTES:
            return edge_id.to_bytes(LONG_BYTES, "big")
        short = self.shorten(edge_id)
        return short.to_bytes(SHORT_BYTES, "big") if short else None

    def index_name(self, edge_id: int) -> int:
        """The integer that stands for the id in the index: of 32 bits where the id is short.

        Short ids have the upper part of the 32-bit integers, all others what is far below: no two ids
        have one name, and an index of short ids takes four bytes an id.
        """
        short = self.shorten(edge_id)
        return short - (_SHORT_IDS >> 1) if short else -(edge_id + _SHORT_IDS)


SENTINEL = -(_SHORT_IDS >> 1)
"""The name that every index holds and no id has: an index without it is no index."""
