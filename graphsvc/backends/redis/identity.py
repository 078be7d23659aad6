"""The identity record: every instance carries its cluster's settings, so that no server answers for another.

It stands in database 0 of each node under one key, as JSON, and is read on every new connection.
"""

from pydantic import ValidationError

from graphsvc.model.topology import ClusterSettings

IDENTITY_DATABASE = 0
IDENTITY_KEY = b"graphsvc:cluster"


def identity_record(settings: ClusterSettings) -> bytes:
    """The record as it stands in the node."""
    return settings.model_dump_json().encode()


def read_identity(record: bytes) -> ClusterSettings | None:
    """The settings in a record; None where it cannot be read."""
    try:
        return ClusterSettings.model_validate_json(record)
    except ValidationError:
        return None


def identity_problem(record: bytes | None, settings: ClusterSettings) -> str | None:
    """Why a node with this record is not one of the cluster's; None if it is."""
    if record is None:
        return "it carries no graphsvc identity: it is empty, or not a node of any cluster"
    found = read_identity(record)
    if found is None:
        return "its identity record cannot be read"
    theirs, ours = found.model_dump(mode="json"), settings.model_dump(mode="json")
    differing = [
        f"{name} is {theirs[name]!r}, not {ours[name]!r}" for name in ours if theirs[name] != ours[name]
    ]
    return "; ".join(differing) or None
