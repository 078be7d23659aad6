"""A ledger, kept outside the service, of the follows it acknowledged; and what must be true of them later."""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc

from graphsvc.model.ids import SHARDS, pack
from graphsvc.v1 import follower_graph_service_pb2 as pb
from graphsvc.v1.follower_graph_service_pb2_grpc import FollowerGraphServiceStub

if TYPE_CHECKING:  # for type checkers only
    from graphsvc.v1.follower_graph_service_pb2_grpc import FollowerGraphServiceAsyncStub

USER = 3
WORKERS = 16
LOSS_WINDOW_S = 2.0
"""With appendfsync everysec a node acknowledges writes for so long before it hands them to the system, while
an fsync is under way. What it handed over outlives its process, though not yet a power cut."""

LOWER = pack(5, USER, 1)
"""A user of instance-0."""
UPPER = pack(SHARDS - 5, USER, 2)
"""A user of instance-1."""


@asynccontextmanager
async def graph_at(target: str) -> AsyncIterator["FollowerGraphServiceAsyncStub"]:
    """Calls to the service at HOST:PORT."""
    async with grpc.aio.insecure_channel(target) as channel:
        yield FollowerGraphServiceStub(channel)


async def follow(target: str, follower_id: int, followee_id: int) -> pb.WriteResponse:
    """One follow; raises grpc.aio.AioRpcError."""
    async with graph_at(target) as graph:
        return await graph.FollowUser(
            pb.FollowUserRequest(follower_id=follower_id, followee_id=followee_id), timeout=10
        )


async def follows(target: str, follower_id: int, followee_id: int) -> bool:
    """One check; False too where the service cannot answer."""
    async with graph_at(target) as graph:
        try:
            response = await graph.CheckFollow(
                pb.CheckFollowRequest(follower_id=follower_id, followee_id=followee_id), timeout=2
            )
        except grpc.aio.AioRpcError:
            return False
        return response.following


class FollowLedger:
    """Follows of users spread over all shards, each asked for once, and how each ended."""

    def __init__(self, users: int = 200, seed: int = 1) -> None:
        shards = random.Random(seed).sample(range(SHARDS), users)
        self.users = [pack(shard, USER, 1000 + n) for n, shard in enumerate(shards)]
        self.acknowledged: dict[tuple[int, int], float] = {}
        """When each was, as time.monotonic() tells it."""
        self.unknown: set[tuple[int, int]] = set()
        """Asked for without an answer that says it was done."""
        self.pending: set[tuple[int, int]] = set()
        """Acknowledged before the other side showed it."""
        self._pairs = self._shuffled_pairs(seed)
        self._stop = asyncio.Event()

    def _shuffled_pairs(self, seed: int) -> Iterator[tuple[int, int]]:
        pairs = [(a, b) for a in self.users for b in self.users if a != b]
        random.Random(seed).shuffle(pairs)
        return iter(pairs)

    @asynccontextmanager
    async def load(self, target: str, at_least: int, for_s: float = 0.0) -> AsyncIterator[None]:
        """Follow as fast as it goes, meanwhile and until then.

        Enters after so many acknowledgements, and so many seconds after the first.
        """
        async with graph_at(target) as graph:
            working = [asyncio.create_task(self._work(graph)) for _ in range(WORKERS)]
            while len(self.acknowledged) < at_least or self._lasted_s() < for_s:
                assert not all(each.done() for each in working)
                await asyncio.sleep(0.01)
            yield
            self._stop.set()
            await asyncio.gather(*working)

    def _lasted_s(self) -> float:
        return time.monotonic() - next(iter(self.acknowledged.values()))

    async def _work(self, graph: "FollowerGraphServiceAsyncStub") -> None:
        for pair in self._pairs:
            if self._stop.is_set():
                return
            request = pb.FollowUserRequest(follower_id=pair[0], followee_id=pair[1])
            try:
                response = await graph.FollowUser(request, timeout=5)
            except grpc.aio.AioRpcError:
                self.unknown.add(pair)
                await asyncio.sleep(0.005)
                continue
            assert response.changed
            self.acknowledged[pair] = time.monotonic()
            if response.inverse_pending:
                self.pending.add(pair)

    async def check(self, target: str, nodes_killed_at: float | None = None) -> int:
        """Hold the service's lists and counts against the ledger; then repeat what is unknown, and again.

        Args:
            target: HOST:PORT of the service.
            nodes_killed_at: time.monotonic() before nodes were killed, if they were: what was acknowledged
                in the LOSS_WINDOW_S before may be gone, on either side.

        Returns:
            how many acknowledged follows are gone on a side that had them.
        """
        kept_until = math.inf if nodes_killed_at is None else nodes_killed_at - LOSS_WINDOW_S
        certain = {pair for pair, when in self.acknowledged.items() if when <= kept_until}
        window = self.acknowledged.keys() - certain
        asked = self.acknowledged.keys() | self.unknown
        assert certain
        async with graph_at(target) as graph:
            forward, inverse = await self._both_directions(graph)
            assert certain <= forward
            assert certain - self.pending <= inverse
            assert forward | inverse <= asked  # nothing comes of itself
            if nodes_killed_at is None:
                assert inverse <= forward  # nothing leaves its shard before it stands there
            lost = (window - forward) | (window - self.pending - inverse)
            await self._repeat(graph, self.unknown | self.pending | window)
            forward, inverse = await self._both_directions(graph)
            assert forward == inverse == asked
        return len(lost)

    async def _repeat(self, graph: "FollowerGraphServiceAsyncStub", pairs: set[tuple[int, int]]) -> None:
        waiting = iter(pairs)

        async def work() -> None:
            for follower_id, followee_id in waiting:
                await graph.FollowUser(
                    pb.FollowUserRequest(follower_id=follower_id, followee_id=followee_id), timeout=5
                )

        await asyncio.gather(*(work() for _ in range(WORKERS)))

    async def _both_directions(
        self, graph: "FollowerGraphServiceAsyncStub"
    ) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
        forward: set[tuple[int, int]] = set()
        inverse: set[tuple[int, int]] = set()
        counts = await graph.GetCounts(pb.GetCountsRequest(user_ids=self.users), timeout=5)
        for user_id, count in zip(self.users, counts.users, strict=True):
            following = await _whole_list(graph.ListFollowing, user_id)
            followers = await _whole_list(graph.ListFollowers, user_id)
            assert (count.user_id, count.following, count.followers) == (
                user_id,
                len(following),
                len(followers),
            )
            forward.update((user_id, other) for other in following)
            inverse.update((other, user_id) for other in followers)
        return forward, inverse


async def _whole_list(
    method: "grpc.aio.UnaryUnaryMultiCallable[pb.ListUserEdgesRequest, pb.ListEdgesResponse]",
    user_id: int,
) -> list[int]:
    ids: list[int] = []
    token = ""
    while True:
        page = await method(
            pb.ListUserEdgesRequest(user_id=user_id, page_size=200, page_token=token), timeout=5
        )
        ids.extend(page.ids)
        token = page.next_page_token
        if not token:
            assert len(set(ids)) == len(ids)
            return ids
