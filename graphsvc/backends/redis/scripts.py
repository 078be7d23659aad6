"""The Lua scripts of this folder's lua/, each run by its SHA-1."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files

from graphsvc.backends.redis.connection import Command


class Script:
    """One script. `call` runs it by hash; `call_with_source` also where the node does not know it yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._source = files("graphsvc.backends.redis").joinpath("lua", f"{name}.lua").read_bytes()
        self._sha1 = hashlib.sha1(self._source, usedforsecurity=False).hexdigest()

    def call(self, database: int, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Command:
        """The command that runs the script in a database."""
        return Command(database, ("EVALSHA", self._sha1, len(keys), *keys, *arguments))

    def with_source(self, command: Command) -> Command:
        """The same call for a node that has forgotten the script: restart, SCRIPT FLUSH."""
        return Command(command.database, ("EVAL", self._source, *command.words[2:]))

    def made(self, command: Command) -> bool:
        """Whether the command is a call of this script."""
        return command.words[0] == "EVALSHA" and command.words[1] == self._sha1


ADD = Script("add")
PAGE = Script("page")
SCRIPTS = (ADD, PAGE)


def with_source(command: Command) -> Command:
    """The call of any of the scripts, with its source."""
    return next(script for script in SCRIPTS if script.made(command)).with_source(command)
