"""`graphsvc import --compare`: the difference between a file and the service, on both sides of every edge."""

import math
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Event

import tenacity
import typer

from graphsvc.cli.edge_files.layout import FileUnusable, LayoutOptions
from graphsvc.cli.edge_files.reader import EdgeReader, FileDamaged, Source, open_source
from graphsvc.cli.edge_pages import LARGEST_PAGE
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.delivery import EdgeColumns
from graphsvc.cli.importing.list_differences import Difference, Finding, Share, Tally, UserList, differences
from graphsvc.cli.importing.report import Bar, Waiting, open_bar
from graphsvc.cli.output import iso, put_json, say, warn
from graphsvc.cli.session import Session
from graphsvc.client import retry
from graphsvc.client.errors import CallError
from graphsvc.model.edges import ListKind
from graphsvc.v1 import follower_graph_service_pb2 as pb

EDGES_A_PASS = 1_000_000
"""Edges of the file that a pass keeps: about 100 MB, 500 MB if every user has but one."""

_BATCH_LINES = 10_000
_USERS_A_TASK = 32


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What the command line says about comparing."""

    layout: LayoutOptions
    mutual: bool
    ignore_extra: bool
    passes: int | None
    """None: by the size of the file."""
    concurrency: int
    give_up_after_s: float


@dataclass(slots=True)
class Comparison:
    """What was compared, and what was found."""

    rows: int = 0
    edges: int = 0
    rejected: int = 0
    """Lines that are no edges, and were not compared."""
    lists: int = 0
    passes: int = 0
    tally: Tally = field(default_factory=Tally)

    def clean(self) -> bool:
        """Whether nothing differs, and nothing was left out."""
        return not self.tally.total() and not self.rejected


def compare_file(session: Session, file: Path, options: CompareOptions, *, as_json: bool) -> None:
    """Compare a file with the service and tell the difference.

    Raises:
        CommandError: the file is damaged.
        CallError: the service can't be reached or refuses.
        FileUnusable: there is nothing to be read, or it can't be read several times.
        typer.Exit: there is a difference.
    """
    began = time.monotonic()
    with open_bar("comparing", wanted=not as_json) as bar:
        comparison = _Comparing(session, file, options, bar).run()
    seconds = time.monotonic() - began
    if as_json:
        put_json(_document(session, comparison, seconds))
    else:
        _put_text(session, comparison, seconds)
    if not comparison.clean():
        raise typer.Exit(ExitCode.NO)


class _Comparing:
    def __init__(self, session: Session, file: Path, options: CompareOptions, bar: Bar) -> None:
        self._session = session
        self._file = file
        self._options = options
        self._bar = bar
        self._found = Comparison()
        self._map_code = session.ids.map_code
        self._with_times = False
        self._stop = Event()
        self._retrying = retry.patient(
            options.give_up_after_s, self._stop, Waiting(bar, options.give_up_after_s).tell
        )

    def run(self) -> Comparison:
        self._plan()
        for index in range(self._found.passes):
            self._compare(self._read(index), index)
        return self._found

    def _plan(self) -> None:
        """How many passes, and whether there are times."""
        with open_source(self._file) as source:
            if source.size is None:
                raise FileUnusable(
                    f"{self._file} can't be read several times: --compare needs a file on disk"
                )
            reader = self._reader(source)
            layout = reader.detect()
            if layout is not None:
                self._bar.note(layout.describe())
                self._with_times = layout.time is not None
            edges = reader.lines_in_file() * (2 if self._options.mutual else 1)
        self._found.passes = self._options.passes or max(1, math.ceil(edges / EDGES_A_PASS))

    def _reader(self, source: Source) -> EdgeReader:
        return EdgeReader(source, self._options.layout, self._map_code, _BATCH_LINES)

    def _read(self, index: int) -> Share:
        share = Share(index, self._found.passes)
        label = f"pass {index + 1} of {self._found.passes}: reading"
        with open_source(self._file) as source:
            try:
                for rows, end in self._reader(source).batches():
                    edges = EdgeColumns.of(rows, mutual=self._options.mutual)
                    share.add(edges)
                    if index == 0:
                        self._found.rows += len(rows.lines) + len(rows.rejects)
                        self._found.edges += len(edges)
                        self._found.rejected += len(rows.rejects)
                    self._bar.show(source.position(), source.size, f"{label}, line {end.line:,}")
            except FileDamaged as error:
                raise CommandError(ExitCode.USAGE, f"{self._file}: {error}: get it whole first") from error
        return share

    def _compare(self, share: Share, index: int) -> None:
        """The lists of a share, several at a time."""
        done, total = 0, len(share)
        window: deque[tuple[int, Future[Tally]]] = deque()
        lists = share.take()
        with ThreadPoolExecutor(self._options.concurrency, "lists") as pool:
            try:
                while (task := list(islice(lists, _USERS_A_TASK))) or window:
                    if task:
                        window.append((len(task), pool.submit(self._compare_some, task)))
                    if not task or len(window) > 2 * self._options.concurrency:
                        count, tally = window.popleft()
                        self._found.tally.merge(tally.result())
                        done += count
                        label = f"pass {index + 1} of {self._found.passes}: {self._found.tally.total():,}"
                        self._bar.show(done, total, f"{label} differences")
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._found.lists += total

    def _compare_some(self, lists: list[UserList]) -> Tally:
        tally = Tally()
        for each in lists:
            actual = self._actual(each, self._retrying)
            tally.add(
                differences(
                    each, actual, with_times=self._with_times, ignore_extra=self._options.ignore_extra
                )
            )
        return tally

    def _actual(self, expected: UserList, retrying: tenacity.Retrying) -> Iterator[tuple[int, int]]:
        """The list as the service has it; of what it doesn't take as a user's id, it has none."""
        connection = self._session.connection
        graph = connection.graph
        method = graph.ListFollowing if expected.kind is ListKind.FOLLOWING else graph.ListFollowers
        request = pb.ListUserEdgesRequest(user_id=expected.user, page_size=LARGEST_PAGE)
        while True:
            try:
                page = connection.call(method, request, retrying)
            except CallError as error:
                if error.field == "user_id":
                    return
                raise
            yield from zip(page.ids, page.followed_at_us, strict=True)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


def _put_text(session: Session, found: Comparison, seconds: float) -> None:
    for finding in found.tally.first:
        say(_sentence(session, finding))
    if found.tally.total() > len(found.tally.first):
        say(f"... and {found.tally.total() - len(found.tally.first):,} more")
    say(f"{found.rows:,} rows, {found.edges:,} edges, {found.lists:,} lists compared in {seconds:.1f} s")
    for kind in ListKind:
        counts = ", ".join(f"{found.tally.counts[kind, each]:,} {_MEANING[each]}" for each in Difference)
        say(f"lists of {kind.value}: {counts}")
    if found.rejected:
        warn(f"{found.rejected:,} lines are no edges and were not compared; an import tells why")
    missing = any(found.tally.counts[kind, Difference.MISSING] for kind in ListKind)
    hint = ": importing the file again adds what is missing" if missing else ""
    say(f"there is a difference{hint}" if found.tally.total() else "no difference")


_MEANING = {
    Difference.MISSING: "missing in the service",
    Difference.EXTRA: "only in the service",
    Difference.TIME: "with another time",
}


def _sentence(session: Session, finding: Finding) -> str:
    edge = f"{finding.list.value} of {session.name(finding.user)}: {session.name(finding.other)}"
    if finding.difference is Difference.TIME:
        return f"{edge} is since {iso(finding.service_us)}, in the file since {iso(finding.file_us)}"
    since = finding.file_us or finding.service_us
    return f"{edge} is {_MEANING[finding.difference]}" + (f", since {iso(since)}" if since else "")


def _document(session: Session, found: Comparison, seconds: float) -> dict[str, object]:
    return {
        "rows": found.rows,
        "edges": found.edges,
        "rejected": found.rejected,
        "lists": found.lists,
        "passes": found.passes,
        "differences": found.tally.total(),
        **{
            kind.value: {each.value: found.tally.counts[kind, each] for each in Difference}
            for kind in ListKind
        },
        "examples": [
            {
                "list": each.list.value,
                "user": session.ids.write(each.user),
                "difference": each.difference.value,
                "other": session.ids.write(each.other),
                "file_us": each.file_us or None,
                "service_us": each.service_us or None,
            }
            for each in found.tally.first
        ],
        "seconds": round(seconds, 3),
    }
