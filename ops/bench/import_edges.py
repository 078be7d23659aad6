"""`bench import`: how fast a graph comes in through the gRPC API, beside redis-py on the same nodes.

Both sides load the same file (the reference graph) into two fresh nodes: the same server program and
configuration, AOF included. Each is timed as a process of its own, from its start to its exit, on the same
machine with nothing else running, and the two take turns, so that a machine that slows down slows both.

- graphsvc: `graphsvc dev` and the command `graphsvc import`, both with their defaults.
- redis-py: redis_py_import.py, which writes the same two sorted-set entries an edge straight into the nodes.

After each load every user's two counts are compared with the file's; a difference ends the benchmark.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, NamedTuple

import typer
from redis import Redis

from graphsvc.backends.redis.node_process import NodeProcess
from graphsvc.backends.redis.server_binary import embedded_binary
from graphsvc.client.connection import Connection
from graphsvc.model.ids import SHARD_SHIFT, SHARDS
from graphsvc.v1.follower_graph_service_pb2 import GetCountsRequest
from ops.bench.nodes import free_port
from ops.bench.reference_graph import GraphShape, reference_graph
from ops.bench.report import progress, result

COMMAND = Path(sys.executable).parent / "graphsvc"
READY = "graphsvc ready on "
NODES = 2
USERS_A_CALL = 1_000
TIMEOUT_S = 60.0

Counts = list[tuple[int, int]]
"""Following and followers of each user of a graph, in the order of `Graph.users`."""


class Graph(NamedTuple):
    """A file of edges, and what must be true once it is loaded."""

    file: Path
    edges: int
    users: Sequence[int]
    counts: Counts


Side = Callable[[Graph, Path], tuple[float, Counts]]
"""Loads a graph into fresh nodes in a folder; gives the seconds it took, and the counts afterwards."""


def run(
    edges: Annotated[int, typer.Option(min=0, help="Load only the first so many; 0: all 1,514,709.")] = 0,
    rounds: Annotated[int, typer.Option(min=1, help="Loads of each side; the medians count.")] = 3,
) -> None:
    """Load the reference graph through the gRPC API, and beside it with redis-py.

    The result's edges_per_s is that of graphsvc, and ratio_to_redis_py is it divided by that of redis-py.
    """
    with tempfile.TemporaryDirectory(prefix="graphsvc-bench-") as folder:
        graph = write_graph(Path(folder) / "edges.csv", GraphShape(edges=edges))
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(1, rounds + 1):
            ours.append(edges_per_s(load_by_graphsvc, graph))
            theirs.append(edges_per_s(load_by_redis_py, graph))
            progress(f"round {number}: graphsvc {ours[-1]:,.0f} edges/s, redis-py {theirs[-1]:,.0f} edges/s")
    result(
        {
            "edges": graph.edges,
            "edges_per_s": round(median(ours)),
            "ratio_to_redis_py": round(median(ours) / median(theirs), 3),
            "redis_py_edges_per_s": round(median(theirs)),
            "ratio_by_round": [round(our / their, 3) for our, their in zip(ours, theirs, strict=True)],
        }
    )


def write_graph(file: Path, shape: GraphShape) -> Graph:
    """Write the graph's rows, and count what they hold."""
    edges, following, followers = 0, Counter[int](), Counter[int]()
    with file.open("w") as out:
        for edge in reference_graph(shape):
            out.write(f"{edge.follower_id},{edge.followee_id},{edge.followed_at_us}\n")
            edges += 1
            following[edge.follower_id] += 1
            followers[edge.followee_id] += 1
    users = sorted(following.keys() | followers.keys())
    progress(f"the graph: {edges:,} edges of {len(users):,} users")
    return Graph(file, edges, users, [(following[user], followers[user]) for user in users])


def edges_per_s(side: Side, graph: Graph) -> float:
    """Load the graph once.

    Raises:
        SystemExit: not all of it arrived.
    """
    with tempfile.TemporaryDirectory(prefix="graphsvc-bench-") as folder:
        seconds, counts = side(graph, Path(folder))
    wrong = sum(found != expected for found, expected in zip(counts, graph.counts, strict=True))
    if wrong:
        raise SystemExit(f"{side.__name__}: the counts of {wrong:,} users are not those of the file")
    return graph.edges / seconds


def load_by_graphsvc(graph: Graph, folder: Path) -> tuple[float, Counts]:
    """See `Side`."""
    columns = ["--follower-column", "1", "--followee-column", "2", "--time-column", "3", "--time-unit", "us"]
    with running_service(folder) as target:
        seconds = seconds_of([str(COMMAND), "import", str(graph.file), "--target", target, *columns], folder)
        return seconds, counts_of_service(target, graph.users)


@contextmanager
def running_service(folder: Path) -> Iterator[str]:
    """A `graphsvc dev` of its own, as HOST:PORT, while the context is open."""
    arguments = [
        "--data",
        str(folder / "data"),
        "--port",
        "0",
        "--metrics-port",
        "0",
        "--log-level",
        "warning",
    ]
    with subprocess.Popen([COMMAND, "dev", *arguments], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout
        line = service.stdout.readline().rstrip("\n")
        try:
            if not line.startswith(READY):
                raise SystemExit("graphsvc dev did not start; its messages stand above")
            yield line.removeprefix(READY)
        finally:
            service.terminate()
            service.wait(TIMEOUT_S)


def counts_of_service(target: str, users: Sequence[int]) -> Counts:
    """Ask a service."""
    counts: Counts = []
    with Connection(target, TIMEOUT_S) as connection:
        for begin in range(0, len(users), USERS_A_CALL):
            request = GetCountsRequest(user_ids=users[begin : begin + USERS_A_CALL])
            response = connection.call(connection.graph.GetCounts, request)
            counts += [(each.following, each.followers) for each in response.users]
    return counts


def load_by_redis_py(graph: Graph, folder: Path) -> tuple[float, Counts]:
    """See `Side`."""
    return asyncio.run(_load_by_redis_py(graph, folder))


async def _load_by_redis_py(graph: Graph, folder: Path) -> tuple[float, Counts]:
    async with AsyncExitStack() as running:
        ports: list[str] = []
        for number in range(NODES):
            node = await NodeProcess.start(embedded_binary(), folder / f"node-{number}", free_port())
            running.push_async_callback(node.stop)
            ports.append(str(node.node.port))
        program = [sys.executable, "-m", "ops.bench.redis_py_import", str(graph.file), *ports]
        return seconds_of(program, folder), counts_of_nodes([int(port) for port in ports], graph.users)


def counts_of_nodes(ports: Sequence[int], users: Sequence[int]) -> Counts:
    """Ask the nodes themselves; `users` in the order of their shards."""
    counts: Counts = []
    shards_a_node = SHARDS // len(ports)
    for number, port in enumerate(ports):
        with Redis(port=port, protocol=2) as node, node.pipeline(transaction=False) as pipeline:
            for user in users:
                if (user >> SHARD_SHIFT) // shards_a_node == number:
                    pipeline.execute_command("SELECT", user >> SHARD_SHIFT)
                    pipeline.zcard(f"following:{user}")
                    pipeline.zcard(f"followers:{user}")
            replies = pipeline.execute()
        counts += list(zip(replies[1::3], replies[2::3], strict=True))
    return counts


def seconds_of(program: Sequence[str], folder: Path) -> float:
    """Run a program to its end.

    Raises:
        CalledProcessError: it failed.
    """
    # What an import remembers of itself belongs to this run, not to the user.
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    begin = perf_counter()
    subprocess.run(program, check=True, stdout=sys.stderr, env=environment)
    return perf_counter() - begin
