"""Loading a file: where to begin, what to keep, what to tell at the end."""

import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from graphsvc.cli.edge_files.layout import FileUnusable, LayoutOptions
from graphsvc.cli.edge_files.reader import STDIN, EdgeReader, FileDamaged, Source, open_source
from graphsvc.cli.exits import CommandError, ExitCode, exit_of
from graphsvc.cli.importing.columns import find_columns
from graphsvc.cli.importing.interruption import Interruption
from graphsvc.cli.importing.rejects import Rejects, open_rejects
from graphsvc.cli.importing.report import Bar, open_bar
from graphsvc.cli.importing.run import Import, Plan
from graphsvc.cli.importing.state import ImportState, StateFile, Totals, printable
from graphsvc.cli.output import put_json, say, warn
from graphsvc.cli.session import Session
from graphsvc.client.errors import CallError
from graphsvc.v1 import admin_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What the command line says about loading."""

    layout: LayoutOptions
    mutual: bool
    batch: int
    """Edges a call."""
    concurrency: int
    give_up_after_s: float
    rejects: Path | None
    restart: bool

    @property
    def batch_lines(self) -> int:
        """Lines that make a batch."""
        return max(1, self.batch // 2 if self.mutual else self.batch)


def load_file(session: Session, file: Path, options: LoadOptions, *, as_json: bool) -> None:
    """Load a file, from where an interrupted run was. The totals are told also where it fails.

    Raises:
        CommandError: interrupted, the file is damaged, or the service fails; what is done is kept.
        CallError: the service can't be reached at the beginning.
        FileUnusable: there is nothing to be read.
        typer.Exit: lines were rejected.
    """
    loading = _Loading(session, file, options, bar_wanted=not as_json)
    try:
        loading.run()
    except Exception as error:
        if as_json:
            put_json(_document(loading.state.totals) | {"error": exit_of(error)[1]})
        elif loading.state.line:
            _put_totals(loading.state.totals)
        raise
    totals = loading.state.totals
    if as_json:
        put_json(_document(totals))
    else:
        _put_totals(totals)
    if totals.rejected:
        raise typer.Exit(ExitCode.NO)


class _Loading:
    def __init__(self, session: Session, file: Path, options: LoadOptions, *, bar_wanted: bool) -> None:
        self._session = session
        self._file = file
        self._options = options
        self._bar_wanted = bar_wanted
        self.state = ImportState(file=printable(file))

    def run(self) -> None:
        if self._file == STDIN and sys.stdin is None:
            raise FileUnusable("standard input is closed: there is nothing to be read")
        with open_source(self._file) as source:
            state_file = self._state_file(source)
            if self._options.restart:
                state_file.remove()
            self.state = state_file.load() or self.state
            if self.state.line:
                warn(f"resuming at line {self.state.line + 1:,} (--restart begins anew)")
            try:
                state_file.save(self.state)  # before anything is sent: it may be impossible
                self._load(source, state_file)
            except FileDamaged as error:
                raise self._damaged(error) from error
            finally:
                if not self.state.line:
                    state_file.remove()
        state_file.remove()

    def _state_file(self, source: Source) -> StateFile:
        """What makes it the same import: the file as it is, how it is read, and where it goes."""
        if source.size is None:
            return StateFile(None)
        identity = {
            "layout": asdict(self._options.layout),
            "mutual": self._options.mutual,
            "map_ids": self._session.map_ids,
            # Not its name or address: another cluster may have the same, and it may change its own.
            "cluster_id": self._session.cluster.cluster_id,
        }
        return StateFile.of(self._file, identity)

    def _load(self, source: Source, state_file: StateFile) -> None:
        connection, options, state = self._session.connection, self._options, self.state

        def send(request: pb.BatchImportEdgesRequest) -> pb.BatchImportEdgesResponse:
            return connection.once(connection.admin.BatchImportEdges, request)

        plan = Plan(options.mutual, options.concurrency, options.give_up_after_s)
        ids = self._session.ids
        reader = EdgeReader(source, options.layout, ids.map_code, options.batch_lines)
        with open_bar("importing", wanted=self._bar_wanted) as bar:
            layout = find_columns(reader, options.layout)
            source_stat = os.fstat(0) if self._file == STDIN else self._file.stat()
            with open_rejects(options.rejects, state, source_stat, bar) as rejects_file:
                if layout is not None:
                    bar.note(layout.describe())
                rejects = Rejects(bar, rejects_file)
                loading = Import(plan, send, ids.write, state, state_file, rejects, bar)
                self._run(loading, reader, source, bar)

    def _run(self, loading: Import, reader: EdgeReader, source: Source, bar: Bar) -> None:
        interruption = Interruption()
        if source.size is None:
            # It can't be taken up again, and a read of it can't be stopped politely.
            try:
                loading.run(reader, source, interruption)
            except KeyboardInterrupt as error:
                raise _interrupted(signal.SIGINT, self._done("import it again from its start")) from error
            return
        try:
            with interruption.listening(bar.note):
                loading.run(reader, source, interruption)
        except KeyboardInterrupt as error:
            again = self._done("the same command given again goes on from what was saved last")
            raise _interrupted(interruption.signal or signal.SIGINT, again) from error
        except CallError as error:
            if interruption.signal is None:
                code, message = exit_of(error)
                raise CommandError(
                    code, f"{message}. Loaded up to line {self.state.line:,}; {_GOES_ON}"
                ) from error
        if interruption.signal is not None:
            raise _interrupted(interruption.signal, self._done(_GOES_ON))

    def _done(self, what_next: str) -> str:
        return f"stopped after line {self.state.line:,}; {what_next}"

    def _damaged(self, error: FileDamaged) -> CommandError:
        return CommandError(
            ExitCode.USAGE,
            f"{self._file}: {error}. Imported is what comes before, to line {self.state.line:,}: "
            "get the file whole, import it again, and --compare",
        )


_GOES_ON = "the same command given again goes on from there"


def _interrupted(signal_number: int, message: str) -> CommandError:
    code = ExitCode.TERMINATED if signal_number == signal.SIGTERM else ExitCode.INTERRUPTED
    return CommandError(code, message)


def _document(totals: Totals) -> dict[str, object]:
    return totals.model_dump() | {"seconds": round(totals.seconds, 3)}


def _put_totals(totals: Totals) -> None:
    rate = totals.edges / max(0.001, totals.seconds)
    say(
        f"{totals.rows:,} rows in {totals.seconds:.1f} s: "
        f"{totals.edges:,} edges acknowledged ({rate:,.0f}/s), {totals.changed:,} of them changed something"
    )
    if totals.rejected:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(totals.reasons.items()))
        warn(f"{totals.rejected:,} lines rejected: {reasons}")
