"""The peer of `bench import`: the same file into the same sorted sets, by redis-py (sync, hiredis).

Written as one would write a loader without graphsvc: batches, one pipeline an instance and batch, in the
order of shards so that SELECT is sent only where the database changes, two ZADDs an edge. It keeps no
limit, resumes nothing and answers no other caller meanwhile. Of batches of 5,000, 20,000 and 50,000 edges the
last were the fastest (32.0, 31.7 and 33.6 thousand edges/s).

usage: python -m ops.bench.redis_py_import FILE PORT PORT...   (nodes that share the shards evenly)
"""

import csv
import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any

from redis import Redis

from graphsvc.model.ids import SHARD_SHIFT, SHARDS

BATCH_EDGES = 50_000

Write = tuple[int, str, str, bytes]
"""Shard, key, score, member."""


def import_file(file: str, ports: Sequence[int]) -> None:
    """Write both sorted sets of every edge."""
    nodes = [Redis(port=port, protocol=2) for port in ports]
    shards_a_node = SHARDS // len(nodes)
    with open(file, newline="") as rows:  # noqa: PTH123 (the shortest that works)
        edges = csv.reader(rows)
        while batch := list(islice(edges, BATCH_EDGES)):
            writes: list[list[Write]] = [[] for _ in nodes]
            for follower, followee, time_us in batch:
                a, b = int(follower), int(followee)
                for key, owner, other in ((f"following:{a}", a, b), (f"followers:{b}", b, a)):
                    shard = owner >> SHARD_SHIFT
                    writes[shard // shards_a_node].append((shard, key, time_us, other.to_bytes(8, "big")))
            for node, its_writes in zip(nodes, writes, strict=True):
                _write(node, its_writes)


def _write(node: Redis, writes: list[Write]) -> None:
    writes.sort()
    database = None
    pipeline: Any  # execute_command is the quickest way in, and has no types
    with node.pipeline(transaction=False) as pipeline:
        for shard, key, score, member in writes:
            if shard != database:
                pipeline.execute_command("SELECT", shard)
                database = shard
            pipeline.execute_command("ZADD", key, score, member)
        pipeline.execute()


if __name__ == "__main__":
    import_file(sys.argv[1], [int(port) for port in sys.argv[2:]])
