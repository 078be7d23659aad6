"""A link on which others come in between, wherever a node lets them."""

import random
from collections.abc import Awaitable, Callable, Sequence

from graphsvc.backends.redis.connection import Command, Reply
from graphsvc.backends.redis.link import Link
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings


class InterruptedLink(Link):
    """Lets something happen before each batch of commands, as it may on a busy node.

    Nodes answer a batch that arrives as a whole as a whole, but nobody promises it: with `within` batches are
    taken apart as well, but for transactions.
    """

    def __init__(
        self,
        instance: Instance,
        cluster: ClusterSettings,
        between: Callable[[], Awaitable[None]],
        chance: random.Random,
        *,
        within: bool,
    ) -> None:
        super().__init__(instance, cluster, RedisSettings(), Metrics())
        self._between = between
        self._chance = chance
        self._within = within

    async def run(self, commands: Sequence[Command]) -> list[Reply]:
        """See `Link.run`."""
        replies: list[Reply] = []
        rest = list(commands)
        while rest:
            await self._between()
            count = len(rest)
            if self._within and rest[0].words[0] != "MULTI":
                count = self._chance.randint(1, count)
            replies += await super().run(rest[:count])
            del rest[:count]
        return replies
