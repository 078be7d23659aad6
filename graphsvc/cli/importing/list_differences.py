"""Lists as a file says they should be, against lists as they are. Pure.

Of a pair that a file repeats, the earliest time counts, as in an import.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from graphsvc.cli.importing.delivery import EdgeColumns
from graphsvc.model.edges import ListKind
from graphsvc.model.placement import hash_id

SHOWN_DIFFERENCES = 20


class Difference(StrEnum):
    """What can differ about an edge of a list."""

    MISSING = "missing"
    """The service lacks it."""
    EXTRA = "extra"
    """Only the service has it."""
    LATER = "later"
    """The service has it since later than the file: another import gives it the file's time."""
    EARLIER = "earlier"
    """The service has it since earlier than the file: the earliest time stays, whatever is imported."""
    REFUSED = "refused"
    """The service lacks it, and would refuse it."""


class Finding(NamedTuple):
    """One difference; times in microseconds, 0 where there is none."""

    list: ListKind
    user: int
    difference: Difference
    other: int
    """The user at the other end of the edge."""
    file_us: int
    service_us: int


Takes = Callable[[Finding], bool]
"""Whether the service would take an edge that it lacks."""


class UserList(NamedTuple):
    """One list of one user as the file says: id and time in turn, 16 bytes an edge."""

    kind: ListKind
    user: int
    pairs: "array[int]"

    def times(self) -> dict[int, int]:
        """The time of each id: the earliest that the file has; 0 where it has none."""
        times: dict[int, int] = {}
        values = iter(self.pairs)
        for other, time_us in zip(values, values, strict=True):
            times[other] = min(time_us, times.get(other, time_us))
        return times


class Share:
    """Those lists of a file that one pass over it keeps in memory: of users whose hash falls into it."""

    def __init__(self, index: int, shares: int) -> None:
        """Share `index` of so many."""
        self._index = index
        self._shares = shares
        self._lists: dict[ListKind, dict[int, array[int]]] = {kind: {} for kind in ListKind}

    def add(self, edges: EdgeColumns) -> None:
        """Keep what of these edges belongs to this share."""
        times = edges.times_us or [0] * len(edges)
        self._add(ListKind.FOLLOWING, edges.followers, edges.followees, times)
        self._add(ListKind.FOLLOWERS, edges.followees, edges.followers, times)

    def __len__(self) -> int:
        return sum(map(len, self._lists.values()))

    def take(self) -> Iterator[UserList]:
        """All lists; each is forgotten when it is given out."""
        for kind, lists in self._lists.items():
            while lists:
                user, pairs = lists.popitem()
                yield UserList(kind, user, pairs)

    def _add(self, kind: ListKind, users: Sequence[int], others: Sequence[int], times: Sequence[int]) -> None:
        lists = self._lists[kind]
        for user, other, time_us in zip(users, others, times, strict=True):
            if self._shares > 1 and hash_id(user) % self._shares != self._index:
                continue
            pairs = lists.get(user)
            if pairs is None:
                pairs = lists[user] = array("q")
            pairs.append(other)
            pairs.append(time_us)


def differences(
    expected: UserList,
    actual: Iterable[tuple[int, int]],
    takes: Takes,
    *,
    with_times: bool,
    ignore_extra: bool,
) -> Iterator[Finding]:
    """What differs in one list.

    Args:
        expected: as the file says.
        actual: id and time of each edge that the service has, in any order.
        takes: whether the service would take what it lacks.
        with_times: whether the file has times.
        ignore_extra: say nothing of edges that only the service has.
    """
    kind, user, _ = expected
    left = expected.times()
    for other, service_us in actual:
        file_us = left.pop(other, None)
        if file_us is None:
            if not ignore_extra:
                yield Finding(kind, user, Difference.EXTRA, other, 0, service_us)
        elif with_times and file_us != service_us:
            difference = Difference.LATER if service_us > file_us else Difference.EARLIER
            yield Finding(kind, user, difference, other, file_us, service_us)
    for other, file_us in left.items():
        missing = Finding(kind, user, Difference.MISSING, other, file_us, 0)
        yield missing if takes(missing) else missing._replace(difference=Difference.REFUSED)


@dataclass(slots=True)
class Tally:
    """How many differences there are of each kind, and the first few."""

    counts: Counter[tuple[ListKind, Difference]] = field(default_factory=Counter)
    first: list[Finding] = field(default_factory=list)

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings, however many."""
        for finding in findings:
            self.counts[finding.list, finding.difference] += 1
            if len(self.first) < SHOWN_DIFFERENCES:
                self.first.append(finding)

    def merge(self, other: "Tally") -> None:
        """Add another tally to this."""
        self.counts.update(other.counts)
        self.first += other.first[: SHOWN_DIFFERENCES - len(self.first)]

    def kinds(self) -> set[Difference]:
        """Which kinds there are."""
        return {difference for (_, difference), count in self.counts.items() if count}

    def total(self) -> int:
        """All differences; one edge counts on each side that differs."""
        return self.counts.total()
