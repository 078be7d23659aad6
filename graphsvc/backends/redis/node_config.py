"""The configuration file of a node, and where its files stand in the node's folder."""

import re
from collections.abc import Mapping
from pathlib import Path

from graphsvc.model.ids import SHARDS
from graphsvc.model.topology import Node

CONFIG_FILE = "node.conf"
LOG_FILE = "node.log"
PID_FILE = "node.pid"
LOCK_FILE = "node.lock"
AOF_FOLDER = "appendonlydir"

STORE_SETTINGS = {
    "maxmemory-policy": "noeviction",
    "set-max-intset-entries": "65536",
    "zset-max-listpack-entries": "32",
    "zset-max-listpack-value": "64",
}
"""What edge lists rely on, alike on every node of a cluster. An index that is no set of integers would take
ten times the memory, and long to become one; what is evicted is lost; and a directory is searched by bytes,
which in a longer listpack takes longer than all the rest of reading a page."""

_PORT_LINE = re.compile(r"^port (\d+)$", re.MULTILINE)


def node_config(folder: Path, node: Node) -> str:
    """The configuration of a node that keeps its data in `folder` (absolute): every write in its AOF."""
    settings = {
        "bind": node.host,
        "port": str(node.port),
        "tcp-backlog": "128",
        "daemonize": "no",
        "dir": _quoted(str(folder)),
        "logfile": _quoted(LOG_FILE),
        "pidfile": _quoted(str(folder / PID_FILE)),
        "databases": str(SHARDS),
        **STORE_SETTINGS,
        "save": '""',
        "appendonly": "yes",
        "appendfsync": "everysec",
        # A machine that lost power may leave half a command at the end of the AOF: drop it and start.
        "aof-load-truncated": "yes",
        "repl-diskless-sync-delay": "0",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def settings_problem(found: Mapping[bytes, bytes]) -> str | None:
    """In what a node's settings, as CONFIG GET tells them, differ from STORE_SETTINGS; None if they don't."""
    differing = [
        f"{name} is {found.get(name.encode(), b'unknown').decode()}, not {wanted}"
        for name, wanted in STORE_SETTINGS.items()
        if found.get(name.encode()) != wanted.encode()
    ]
    if not differing:
        return None
    return (
        f"{'; '.join(differing)}: set that in its configuration (and by CONFIG SET, if it must not restart)"
    )


def configured_port(config: str) -> int | None:
    """The port that `node_config` wrote; None in a text that it did not write."""
    match = _PORT_LINE.search(config)
    return int(match[1]) if match else None


def _quoted(text: str) -> str:
    """As the servers read a quoted word: bytes outside plain ASCII as \\xHH."""
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
    return f'"{"".join(plain)}"'
