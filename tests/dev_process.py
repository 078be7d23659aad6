"""`graphsvc dev` as its user runs it: another process, seen through its output, ports and signals."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from graphsvc.backends.local.coordinator import ClusterRecord
from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.cli.dev.plan import INSTANCES
from graphsvc.model.topology import Node, Topology
from tests.nodes import kill_nodes_under

_CODE = "from graphsvc.cli.main import main; main()"
_READY = re.compile(r"graphsvc ready on (\S+:\d+)\n")


class DevProcess:
    """A `graphsvc dev` on the folder `data`, with its logs beside it."""

    def __init__(self, data: Path, *arguments: str, code: str = _CODE) -> None:
        """Start it, on any free ports unless the arguments name others; see `wait_until_ready`.

        `code` may break something first, and then run the command line.
        """
        self.data = data
        self._log = data.with_name(f"{data.name}.log")
        ports = [] if "--port" in arguments else ["--port", "0"]
        if "--metrics-port" not in arguments:
            ports += ["--metrics-port", "0"]
        with self._log.open("ab") as log:
            self._log_begin = log.tell()
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    code,
                    "dev",
                    "--data",
                    str(data),
                    "--log-format",
                    "json",
                    *ports,
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.target = ""

    def wait_until_ready(self) -> "DevProcess":
        """Return once it printed its ready line, which must be all that it prints; fail if it ends first."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        ready = _READY.fullmatch(line)
        assert ready, f"no ready line but {line!r}; exit code {self.process.poll()}; log:\n{self.log()}"
        self.target = ready[1]
        return self

    def refusal(self) -> str:
        """The message with which it refuses to start: exit code 2, and no node left that was not there."""
        code = self.end()
        assert code == 2, f"exit code {code}; log:\n{self.log()}"
        return self.log().splitlines()[-1]

    def log(self) -> str:
        """What this process wrote on standard error."""
        with self._log.open("rb") as log:
            log.seek(self._log_begin)
            return log.read().decode()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; gives the exit code."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> int:
        """Wait for the end; gives the exit code."""
        self.process.wait()
        assert self.process.stdout is not None
        assert self.process.stdout.read() == ""
        self.process.stdout.close()
        return self.process.returncode

    def kill(self) -> None:
        """kill -9 of this process alone."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def kill_all(self) -> None:
        """kill -9 of this process and of its nodes, as close together as can be."""
        pids = [self.process.pid, *(node.pid for node in self.nodes())]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.kill()

    def nodes(self) -> list[NodeProcess]:
        """The nodes that run on its data."""
        found = (NodeProcess._holder(self.data / name) for name in INSTANCES)
        return [node for node in found if node is not None]

    def map(self) -> Topology:
        """The map as it is stored."""
        return stored_map(self.data)

    def clean_up(self) -> None:
        """Leave nothing running, whatever happened before."""
        self.kill()
        kill_nodes_under(self.data)


def stored_map(data: Path) -> Topology:
    """The map in a data folder."""
    return ClusterRecord.model_validate_json((data / "cluster.json").read_text()).topology


def primaries(topology: Topology) -> list[Node]:
    """The nodes of a map."""
    nodes = [instance.primary for instance in topology.instances]
    return [node for node in nodes if node is not None]
