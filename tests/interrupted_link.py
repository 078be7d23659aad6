"""A link on which others come in between."""

from collections.abc import Awaitable, Callable, Sequence

from graphsvc.backends.redis.connection import Command, Reply
from graphsvc.backends.redis.link import Link
from graphsvc.model.topology import ClusterSettings, Instance
from graphsvc.runtime.metrics import Metrics
from graphsvc.runtime.settings import RedisSettings


class InterruptedLink(Link):
    """Lets something happen before each batch of commands; nodes answer as a whole what so arrives."""

    def __init__(
        self, instance: Instance, cluster: ClusterSettings, between: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(instance, cluster, RedisSettings(), Metrics())
        self._between = between

    async def run(self, commands: Sequence[Command]) -> list[Reply]:
        """See `Link.run`."""
        await self._between()
        return await super().run(commands)
