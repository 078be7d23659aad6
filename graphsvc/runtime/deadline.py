"""Deadlines: a moment of the monotonic clock, handed down from the call to each step it takes."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment after which nobody waits for the answer."""

    at_s: float
    """`time.monotonic()` seconds."""

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    def remaining_s(self) -> float:
        """Seconds left; negative when it is over."""
        return self.at_s - time.monotonic()
