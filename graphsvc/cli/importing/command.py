"""`graphsvc import`: load a file of edges, resumably, or compare it with what the service has."""

from pathlib import Path
from typing import Annotated

import typer

from graphsvc.cli.edge_files.layout import LayoutOptions, TimeUnit
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.compare import CompareOptions, compare_file
from graphsvc.cli.importing.delivery import LARGEST_BATCH
from graphsvc.cli.importing.load import LoadOptions, load_file
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout
from graphsvc.cli.session import open_session


def import_file(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV, TSV or blank-separated; gzip too; - reads standard input."),
    ],
    follower_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Who follows: a name or a number from 1.")
    ] = None,
    followee_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Who is followed.")] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Since when; by default a column with a well-known name, or else now. none: now always.",
        ),
    ] = None,
    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="Of the times; by default told by their size.")
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="comma, tab, semicolon, pipe, space or a character; by default told by the first rows.",
        ),
    ] = None,
    mutual: Annotated[bool, typer.Option("--mutual", help="Each row is two edges, one each way.")] = False,
    batch: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST_BATCH, help=f"Edges a call; by default {LARGEST_BATCH:,}."),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Calls in flight.")] = 4,
    give_up_after: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="How long to repeat what fails; a call that has begun then may take its --timeout still.",
        ),
    ] = 60.0,
    rejects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all rejected lines here, as CSV; no file of another kind is overwritten.",
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew, also after an interruption.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Change nothing: tell how the service differs from the file.")
    ] = False,
    ignore_extra: Annotated[
        bool,
        typer.Option("--ignore-extra", help="With --compare: edges only the service has are no difference."),
    ] = False,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="With --compare: readings of the file; more need less memory. By default told by its size.",
        ),
    ] = None,
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 60.0,
) -> None:
    """Load a file of follows. Safe to repeat: of a repeated edge the earliest time stays.

    Without options for columns, those with well-known names (follower, followee, from, to, time, ...) are
    taken, or else the first two. Bad lines are told and left out. What was interrupted goes on where it was
    when the same command is given again.

    --compare reads the file again and tells what differs, in the lists of every user in it, on both sides;
    so a migration can be repeated until nothing does. Its exit code is then 0, and 1 where anything differs,
    also where lines can't be read. What another import won't mend, the last line tells: lines that can't be
    read and edges that the service refuses (correct or remove them), edges that it has since earlier (the
    earliest time stays: unfollow them first) and those that only it has (unfollow, or --ignore-extra).

    A first Ctrl-C lets calls in flight end, for 5 s at most; a second one ends at once.

    \b
    Examples:
      graphsvc import follows.csv.gz --follower-column user_id --followee-column followed_id
      graphsvc import follows.tsv --follower-column 2 --followee-column 3 --time-column 5 --time-unit ms
      graphsvc import edges.txt --map-ids user --mutual --rejects bad-lines.csv
      zstd -dc follows.csv.zst | graphsvc import -
      graphsvc import follows.csv.gz --compare --ignore-extra
    """
    _refuse_mixed(
        compare,
        {"--rejects": rejects is not None, "--restart": restart, "--batch": batch is not None},
        {"--ignore-extra": ignore_extra, "--passes": passes is not None},
    )
    layout = LayoutOptions(delimiter, follower_column, followee_column, time_column, time_unit)
    with open_session(target, timeout, map_ids) as session:
        if compare:
            asked = CompareOptions(layout, mutual, ignore_extra, passes, concurrency, give_up_after)
            compare_file(session, file, asked, as_json=as_json)
        else:
            size = LARGEST_BATCH if batch is None else batch
            options = LoadOptions(layout, mutual, size, concurrency, give_up_after, rejects, restart)
            load_file(session, file, options, as_json=as_json)


def _refuse_mixed(compare: bool, loading: dict[str, bool], comparing: dict[str, bool]) -> None:
    """Refuse options that mean nothing here: whoever forgot --compare must not write."""
    given = [option for option, is_given in (loading if compare else comparing).items() if is_given]
    if given:
        advice = "goes without --compare, which changes nothing" if compare else "needs --compare"
        raise CommandError(ExitCode.USAGE, f"{given[0]} {advice}")
