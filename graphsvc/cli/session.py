"""What a command has while it runs: a connection, and how it reads and writes ids."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.id_text import IdText, branded_user
from graphsvc.cli.options import DEFAULT_TARGET, MapIds
from graphsvc.client.connection import Connection
from graphsvc.client.errors import CallError
from graphsvc.model import branded
from graphsvc.model.ids import MAX_ID
from graphsvc.model.placement import PlacementName
from graphsvc.v1 import admin_service_pb2 as admin_pb

_LONG_NUMBER = re.compile(r"\d{11,}")
"""Ids of users are never shorter."""


class Session:
    """One command's use of one service."""

    def __init__(self, connection: Connection, map_ids: MapIds | None) -> None:
        self.connection = connection
        self.map_ids = map_ids

    @cached_property
    def cluster(self) -> admin_pb.GetClusterInfoResponse:
        """What the service says of its cluster; asked once, when first needed.

        Raises:
            CallError: it can't be asked.
        """
        return self.connection.call(self.connection.admin.GetClusterInfo, admin_pb.GetClusterInfoRequest())

    @cached_property
    def ids(self) -> IdText:
        """How ids are read and written.

        Raises:
            CallError: with --map-ids, the cluster's type codes are needed and can't be asked for.
        """
        return IdText(
            None if self.map_ids is None else type_code(self.cluster, self.map_ids), brand=branded.USER
        )

    def name(self, user_id: int) -> str:
        """An id for people: with its branded form under hash placement."""
        text = self.ids.write(user_id)
        return f"{text} ({branded_user(user_id)})" if self.shows_brands else text

    def in_users_numbers(self, message: str) -> str:
        """What the service says, with ids as the user writes them."""
        if self.map_ids is None:
            return message
        return _LONG_NUMBER.sub(lambda found: self._written(int(found[0])), message)

    def _written(self, number: int) -> str:
        return self.ids.write(number) if number <= MAX_ID else str(number)

    def flags(self) -> list[str]:
        """The options that another command needs to mean the same."""
        mapping = ["--map-ids", self.map_ids.value] if self.map_ids else []
        target = self.connection.target
        return mapping + ([] if target == DEFAULT_TARGET else ["--target", target])

    @cached_property
    def shows_brands(self) -> bool:
        """Whether people are shown branded forms too."""
        return self.map_ids is None and self.cluster.placement == PlacementName.HASH


def type_code(cluster: admin_pb.GetClusterInfoResponse, name: str) -> int:
    """The code of an object type in this cluster.

    Raises:
        CommandError: the cluster doesn't tell it.
    """
    for object_type in cluster.object_types:
        if object_type.name == name:
            return object_type.code
    raise CommandError(ExitCode.FAILED, f"the cluster {cluster.cluster} tells no type code of {name!r}")


@contextmanager
def open_session(target: str, timeout_s: float, map_ids: MapIds | None = None) -> Iterator[Session]:
    """A session for as long as the context is open; its first call finds out whether a service is there."""
    with Connection(target, timeout_s) as connection:
        session = Session(connection, map_ids)
        try:
            yield session
        except CallError as error:
            error.message = session.in_users_numbers(error.message)
            raise
