"""The places that `graphsvc dev` needs for itself: its data folder and its ports."""

import errno
import fcntl
import os
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphsvc.cli.dev.plan import Refused

LOCK_FILE = "lock"


@contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """Have the data folder for this process alone while the context is open; gives its absolute path.

    Raises:
        Refused: another process has it, or it cannot be written.
    """
    try:
        folder = folder.expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK_FILE).open("a+")
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
        raise Refused(unusable(folder, error)) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read().strip() or "not known"
            raise Refused(
                f"the data folder {folder} is in use by another graphsvc dev, pid {holder}. "
                "Stop that one, or name another folder with --data"
            ) from error
        try:
            lock.truncate(0)
            os.write(lock.fileno(), f"{os.getpid()}\n".encode())
        except OSError as error:
            raise Refused(unusable(folder, error)) from error
        yield folder


def unusable(folder: Path, error: Exception) -> str:
    """The message for a data folder that cannot be read or written: which file, why, and what to do."""
    file = getattr(error, "filename", None)
    where = f" ({file})" if file and str(file) != str(folder) else ""
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        todo = "Make room there, or name another with --data"
    else:
        todo = "Name another with --data"
    return f"the data folder {folder} cannot be used: {_reason(error)}{where}. {todo}"


def check_port(host: str, port: int, flag: str) -> None:
    """Make sure that the service can listen there, before anything is started; port 0 is any.

    Raises:
        Refused: it cannot; names the flag to use.
    """
    if not port:
        return
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Refused(_port_problem(host, port, flag, error)) from error
    found = [_listen_error(family, address) for family, _, _, _, address in addresses]
    errors = [each for each in found if each is not None]
    # A name may stand for addresses that this machine lacks, as localhost does where there is no IPv6.
    absent = [error for error in errors if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)]
    if len(absent) == len(addresses) or len(errors) > len(absent):
        first = next((error for error in errors if error not in absent), errors[0])
        raise Refused(_port_problem(host, port, flag, first)) from first


def _listen_error(family: int, address: tuple[Any, ...]) -> OSError | None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As servers do it: connections that just ended there are no hindrance, a listener is.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        return error
    return None


def _port_problem(host: str, port: int, flag: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken. Choose another with {flag}, or stop the program that has it"
    if error.errno == errno.EACCES:
        return f"port {port} may not be listened on by this user. Choose one above 1023 with {flag}"
    return f"{host} cannot be listened on: {_reason(error)}. Choose an address of this machine with --host"


def port_is_free(host: str, port: int) -> bool:
    """Whether a node could listen there now."""
    try:
        check_port(host, port, "")
    except Refused:
        return False
    return True


def free_port(host: str, avoid: Collection[int]) -> int:
    """A port that nobody listens on now, and none of those to avoid."""
    while True:
        with socket.socket() as probe:
            probe.bind((host, 0))
            port: int = probe.getsockname()[1]
        if port not in avoid:
            return port


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
