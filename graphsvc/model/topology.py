"""The topology: which instance serves which shards, and what a cluster chose once for ever.

Immutable values; a change makes a new topology of the next version. They are what the coordinator stores,
as JSON.
"""

from bisect import bisect_right
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graphsvc.model.ids import MAX_TYPE, SHARDS, TypeCodes
from graphsvc.model.placement import PlacementName

Shard = Annotated[int, Field(ge=0, lt=SHARDS)]
TypeCode = Annotated[int, Field(ge=0, le=MAX_TYPE)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Node(_Value):
    """The address of one server process; as text, HOST:PORT, or [HOST]:PORT of IPv6."""

    host: str = Field(min_length=1, max_length=253)
    port: int = Field(ge=1, le=65535)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Member(_Value):
    """A replica that has all that was acknowledged. A restarted process is another member."""

    node: Node
    run_id: str = Field(min_length=1)


class Instance(_Value):
    """A range of shards, first and last included, and the nodes that hold it."""

    name: str = Field(min_length=1, max_length=64)
    first_shard: Shard
    last_shard: Shard
    primary: Node | None = None
    replicas: tuple[Node, ...] = ()
    in_sync: tuple[Member, ...] = ()
    epoch: int = Field(default=1, ge=1)
    """Raised by any change of primary, in-sync set or range."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.first_shard > self.last_shard:
            raise ValueError(
                f"{self.name}: first_shard {self.first_shard} is above last_shard {self.last_shard}"
            )
        if self.primary in self.replicas:
            raise ValueError(f"{self.name}: {self.primary} is primary and replica")
        strangers = {member.node for member in self.in_sync} - set(self.replicas)
        if strangers:
            raise ValueError(
                f"{self.name}: in-sync members that are no replicas: {', '.join(map(str, strangers))}"
            )
        return self


class Topology(_Value):
    """The map: instances whose ranges cover the shards 0 to 8191 exactly once, in order."""

    version: int = Field(ge=1)
    instances: tuple[Instance, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        expected = 0
        for instance in self.instances:
            if instance.first_shard != expected:
                raise ValueError(f"{instance.name} begins at shard {instance.first_shard}, not at {expected}")
            expected = instance.last_shard + 1
        if expected != SHARDS:
            raise ValueError(f"the ranges end at shard {expected - 1}, not at {SHARDS - 1}")
        names = [instance.name for instance in self.instances]
        if len(set(names)) != len(names):
            raise ValueError("two instances have the same name")
        nodes = [node for each in self.instances for node in (each.primary, *each.replicas) if node]
        if len(set(nodes)) != len(nodes):
            raise ValueError("a node stands in two places")
        return self

    def instance_index(self, shard: int) -> int:
        """The position in `instances` of the one that serves the shard."""
        return bisect_right(self.instances, shard, key=lambda instance: instance.first_shard) - 1

    def instance_of(self, shard: int) -> Instance:
        """The instance that serves the shard."""
        return self.instances[self.instance_index(shard)]


class TypeCodesRecord(_Value):
    """The type codes as stored; all different."""

    pin: TypeCode = 1
    board: TypeCode = 2
    user: TypeCode = 3

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len({self.pin, self.board, self.user}) != 3:
            raise ValueError("type codes must differ from each other")
        return self

    def codes(self) -> TypeCodes:
        """As the model uses them."""
        return TypeCodes(pin=self.pin, board=self.board, user=self.user)


class ClusterSettings(_Value):
    """What a cluster chose once. The coordinator and every instance store it, and must agree."""

    cluster: str = Field(min_length=1, max_length=64)
    id: str = Field(pattern="^[0-9a-f]{32}$")
    """Drawn when the cluster is created: two clusters of one name are still two."""
    placement: PlacementName
    type_codes: TypeCodesRecord = TypeCodesRecord()
    store_format: int = 2
    """How the store keeps edge lists: 2 is packed blocks (1 was plain sorted sets, never released)."""
    family: str = Field(pattern="^(redis|valkey)$")
    """The server family: dumps and AOFs do not travel to another."""
