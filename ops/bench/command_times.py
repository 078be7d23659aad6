"""Times of commands on the server's side, as a node itself takes them.

What a node counts of a command is its execution only: not the network, the parsing, the AOF or the waiting.
Commands that a function calls are counted twice, in lines of their own and in that of FCALL. So an operation
is the sum over the commands that a client sends for it, known by name; where a function calls commands of
such a name too, they count once more, and the sum is rather too high than too low. Commands of a transaction
count in their own lines and again in that of EXEC, which is left out; so what EXEC itself does, about 0.3 us
a command, is not in the sum. Lists are in one database where they are timed, so no SELECT is sent.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from redis.asyncio import Redis

Answer = TypeVar("Answer")

OF_THE_BENCHMARK = ("info", "config|", "select")
TRANSACTION = "EXEC"
_PERCENTILES = "latency_percentiles_usec_"


class CommandTimes:
    """The times of one node, to which nobody else may send anything meanwhile."""

    def __init__(self, admin: Redis, sent: Callable[[], Counter[str]]) -> None:
        """`sent` tells how many commands of which name were sent to the node so far."""
        self._admin = admin
        self._sent = sent

    async def microseconds(self, operation: Coroutine[Any, Any, Answer]) -> tuple[float, Answer]:
        """Microseconds of the commands of an operation, and its answer.

        Args:
            operation: what to wait for. (A future or task would have begun before the counts are reset.)

        Raises:
            SystemExit: the node counted fewer commands than were sent, so the sum would not be the operation.
        """
        before = self._sent()
        await self._admin.config_resetstat()
        answer = await operation
        stats = await self._admin.info("commandstats")
        total = 0
        for name, calls in (self._sent() - before).items():
            line = stats.get(f"cmdstat_{name.lower()}", {"calls": 0, "usec": 0})
            if line["calls"] < calls:
                raise SystemExit(
                    f"the node counted {line['calls']} {name} of {calls}: the times mean nothing"
                )
            total += line["usec"] if name != TRANSACTION else 0
        return total, answer

    async def longest_ms(self, operation: Coroutine[Any, Any, object]) -> float:
        """Milliseconds of the longest command of an operation, to 1 %; functions count as a whole."""
        await self._admin.config_set("latency-tracking-info-percentiles", "100")
        await self._admin.config_resetstat()
        await operation
        stats = await self._admin.info("latencystats")
        times = {name.removeprefix(_PERCENTILES): float(line["p100"]) for name, line in stats.items()}
        return max(us for name, us in times.items() if not name.startswith(OF_THE_BENCHMARK)) / 1_000
