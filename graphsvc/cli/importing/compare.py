"""`graphsvc import --compare`: the difference between a file and the service, on both sides of every edge."""

import math
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event

import tenacity
import typer

from graphsvc.cli.edge_files.layout import FileUnusable, LayoutOptions
from graphsvc.cli.edge_files.reader import EdgeReader, FileDamaged, Source, open_source
from graphsvc.cli.edge_pages import LARGEST_PAGE
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.columns import find_columns
from graphsvc.cli.importing.comparison import Comparison, document, put_text
from graphsvc.cli.importing.delivery import EdgeColumns
from graphsvc.cli.importing.interruption import calls_in_flight
from graphsvc.cli.importing.list_differences import Finding, Share, Takes, Tally, UserList, differences
from graphsvc.cli.importing.report import Bar, Waiting, open_bar
from graphsvc.cli.output import put_json
from graphsvc.cli.session import Session, type_code
from graphsvc.client import retry
from graphsvc.client.errors import CallError
from graphsvc.model.edges import ListKind
from graphsvc.model.errors import InvalidArgument
from graphsvc.model.ids import TypeCodes
from graphsvc.model.placement import PlacementName, placement_of
from graphsvc.v1 import follower_graph_service_pb2 as pb
from graphsvc.v1.admin_service_pb2 import GetClusterInfoResponse

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
    comparison.seconds = time.monotonic() - began
    if as_json:
        put_json(document(session, comparison))
    else:
        put_text(session, comparison)
    if not comparison.equal:
        raise typer.Exit(ExitCode.NO)


def takes_of(cluster: GetClusterInfoResponse) -> Takes:
    """Whether a cluster takes an edge: by its placement, and by the clock."""
    codes = TypeCodes(user=type_code(cluster, "user"))
    placement = placement_of(PlacementName(cluster.placement), codes)

    def takes(finding: Finding) -> bool:
        try:
            placement.user_shard(finding.user, "user")
            placement.user_shard(finding.other, "other")
        except InvalidArgument:
            return False
        return finding.file_us * 1_000 <= time.time_ns()

    return takes


class _Comparing:
    def __init__(self, session: Session, file: Path, options: CompareOptions, bar: Bar) -> None:
        self._session = session
        self._file = file
        self._options = options
        self._bar = bar
        self._found = Comparison()
        self._map_code = session.ids.map_code
        self._takes = takes_of(session.cluster)
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
            layout = find_columns(reader, self._options.layout)
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
        with calls_in_flight(self._options.concurrency, self._stop) as pool:
            while (task := list(islice(lists, _USERS_A_TASK))) or window:
                if task:
                    window.append((len(task), pool.submit(self._compare_some, task)))
                if not task or len(window) > 2 * self._options.concurrency:
                    count, tally = window.popleft()
                    self._found.tally.merge(tally.result())
                    done += count
                    label = f"pass {index + 1} of {self._found.passes}: {self._found.tally.total():,}"
                    self._bar.show(done, total, f"{label} differences")
        self._found.lists += total

    def _compare_some(self, lists: list[UserList]) -> Tally:
        tally = Tally()
        for each in lists:
            actual = self._actual(each, self._retrying)
            found = differences(
                each,
                actual,
                self._takes,
                with_times=self._with_times,
                ignore_extra=self._options.ignore_extra,
            )
            tally.add(found)
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
