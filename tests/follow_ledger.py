"""A ledger, kept outside the service, of the follows it acknowledged; and what must be true of them later."""

import asyncio
import random
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

    def __init__(self, users: int = 60, seed: int = 1) -> None:
        shards = random.Random(seed).sample(range(SHARDS), users)
        self.users = [pack(shard, USER, 1000 + n) for n, shard in enumerate(shards)]
        self.acknowledged: set[tuple[int, int]] = set()
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
    async def load(self, target: str, at_least: int) -> AsyncIterator[None]:
        """Follow as fast as it goes, meanwhile and until then; enters after so many acknowledgements."""
        async with graph_at(target) as graph:
            working = [asyncio.create_task(self._work(graph)) for _ in range(WORKERS)]
            while len(self.acknowledged) < at_least:
                assert not all(each.done() for each in working)
                await asyncio.sleep(0.01)
            yield
            self._stop.set()
            await asyncio.gather(*working)

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
            self.acknowledged.add(pair)
            if response.inverse_pending:
                self.pending.add(pair)

    async def check(self, target: str) -> None:
        """Hold the service's lists and counts against the ledger; then repeat what is unknown, and again."""
        async with graph_at(target) as graph:
            forward, inverse = await self._both_directions(graph)
            assert self.acknowledged <= forward
            assert self.acknowledged - self.pending <= inverse
            # Nothing leaves its shard before it stands there, and nothing comes of itself.
            assert inverse <= forward <= self.acknowledged | self.unknown
            for follower_id, followee_id in self.unknown | self.pending:
                await graph.FollowUser(
                    pb.FollowUserRequest(follower_id=follower_id, followee_id=followee_id), timeout=5
                )
            forward, inverse = await self._both_directions(graph)
            assert forward == inverse == self.acknowledged | self.unknown

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
            pb.ListUserEdgesRequest(user_id=user_id, page_size=40, page_token=token), timeout=5
        )
        ids.extend(page.ids)
        token = page.next_page_token
        if not token:
            assert len(set(ids)) == len(ids)
            return ids
