"""The identity record: every instance carries its name and its cluster's settings.

So no server answers for another: not that of another cluster, nor that of another range of shards.
It stands in database 0 of each node under one key, as JSON, and is read on every new connection.
"""

from pydantic import BaseModel, ConfigDict, ValidationError

from graphsvc.model.topology import ClusterSettings

IDENTITY_DATABASE = 0
IDENTITY_KEY = b"graphsvc:cluster"


class IdentityRecord(BaseModel):
    """Which instance of which cluster a node's data is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance: str
    cluster: ClusterSettings


def identity_record(settings: ClusterSettings, instance: str) -> bytes:
    """The record as it stands in a node of the instance."""
    return IdentityRecord(instance=instance, cluster=settings).model_dump_json().encode()


def read_identity(record: bytes) -> IdentityRecord | None:
    """What a record says; None where it cannot be read."""
    try:
        return IdentityRecord.model_validate_json(record)
    except ValidationError:
        return None


def identity_problem(record: bytes | None, settings: ClusterSettings, instance: str) -> str | None:
    """Why a node with this record is not one of the cluster's instance; None if it is."""
    if record is None:
        return "it carries no graphsvc identity: it is empty, or not a node of any cluster"
    found = read_identity(record)
    if found is None:
        return "its identity record cannot be read"
    if found.cluster != settings:
        return settings_problem(found.cluster, settings)
    if found.instance != instance:
        return f"it holds {found.instance}'s data, not {instance}'s"
    return None


def settings_problem(found: ClusterSettings, wanted: ClusterSettings) -> str | None:
    """In what the settings of a cluster differ from the wanted ones; None if they don't."""
    theirs, ours = found.model_dump(mode="json"), wanted.model_dump(mode="json")
    differing = [
        f"{name} is {theirs[name]!r}, not {ours[name]!r}" for name in ours if theirs[name] != ours[name]
    ]
    return "; ".join(differing) or None
