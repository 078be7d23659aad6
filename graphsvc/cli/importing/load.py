"""Loading a file: where to begin, what to keep, what to tell at the end."""

import signal
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from graphsvc.cli.edge_files.layout import LayoutOptions
from graphsvc.cli.edge_files.reader import EdgeReader, FileDamaged, Source, open_source
from graphsvc.cli.exits import CommandError, ExitCode, exit_of
from graphsvc.cli.importing.report import Rejects, open_bar, open_rejects
from graphsvc.cli.importing.run import Import, Interruption, Plan
from graphsvc.cli.importing.state import ImportState, StateFile, Totals
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
    """Load a file, from where an interrupted run was.

    Raises:
        CommandError: interrupted, the file is damaged, or the service fails; what is done is kept.
        CallError: the service can't be reached at the beginning.
        FileUnusable: there is nothing to be read.
        typer.Exit: lines were rejected.
    """
    with open_source(file) as source:
        state_file = _state_file(session, file, source, options)
        if options.restart:
            state_file.remove()
        state = state_file.load()
        if state is None:
            state = ImportState(file=str(file))
            state_file.save(state)
        elif state.line:
            warn(f"resuming at line {state.line + 1:,} (--restart begins anew)")
        try:
            _load(session, source, options, state, state_file, bar_wanted=not as_json)
        except FileDamaged as error:
            _put_totals(state.totals, as_json=as_json)
            raise CommandError(
                ExitCode.USAGE,
                f"{file}: {error}. Imported is what comes before, to line {state.line:,}: "
                "get the file whole, import it again, and --compare",
            ) from error
    state_file.remove()
    _put_totals(state.totals, as_json=as_json)
    if state.totals.rejected:
        raise typer.Exit(ExitCode.NO)


def _load(
    session: Session,
    source: Source,
    options: LoadOptions,
    state: ImportState,
    state_file: StateFile,
    *,
    bar_wanted: bool,
) -> None:
    connection = session.connection

    def send(request: pb.BatchImportEdgesRequest) -> pb.BatchImportEdgesResponse:
        return connection.once(connection.admin.BatchImportEdges, request)

    plan = Plan(options.mutual, options.concurrency, options.give_up_after_s)
    interruption = Interruption()
    reader = EdgeReader(source, options.layout, session.ids.map_code, options.batch_lines)
    with (
        open_bar("importing", wanted=bar_wanted) as bar,
        open_rejects(options.rejects, state.rejects_bytes) as rejects_file,
    ):
        layout = reader.detect()
        if layout is not None:
            bar.note(layout.describe())
        loading = Import(plan, send, session.ids.write, state, state_file, Rejects(bar, rejects_file), bar)
        # Standard input can't be taken up again, and a read of it can't be stopped politely.
        if state_file.path is None:
            loading.run(reader, source, interruption)
            return
        with interruption.listening():
            try:
                loading.run(reader, source, interruption)
            except CallError as error:
                if interruption.signal is None:
                    raise _gave_up(error, state) from error
    if interruption.signal is not None:
        raise _interrupted(interruption.signal, state)


def _gave_up(error: CallError, state: ImportState) -> CommandError:
    code, message = exit_of(error)
    return CommandError(
        code, f"{message}. Loaded up to line {state.line:,}; the same command given again goes on from there"
    )


def _interrupted(signal_number: int, state: ImportState) -> CommandError:
    code = ExitCode.TERMINATED if signal_number == signal.SIGTERM else ExitCode.INTERRUPTED
    return CommandError(
        code, f"stopped after line {state.line:,}; the same command given again goes on from there"
    )


def _state_file(session: Session, file: Path, source: Source, options: LoadOptions) -> StateFile:
    """What makes it the same import: the file as it is, how it is read, and where it goes."""
    identity = {
        "layout": asdict(options.layout),
        "mutual": options.mutual,
        "map_ids": session.map_ids,
        "cluster": session.cluster.cluster,
        "target": session.connection.target,
    }
    return StateFile(None) if source.size is None else StateFile.of(file, identity)


def _put_totals(totals: Totals, *, as_json: bool) -> None:
    if as_json:
        put_json(totals.model_dump() | {"seconds": round(totals.seconds, 3)})
        return
    rate = totals.edges / max(0.001, totals.seconds)
    say(
        f"{totals.rows:,} rows in {totals.seconds:.1f} s: "
        f"{totals.edges:,} edges acknowledged ({rate:,.0f}/s), {totals.changed:,} of them changed something"
    )
    if totals.rejected:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(totals.reasons.items()))
        warn(f"{totals.rejected:,} lines rejected: {reasons}")
