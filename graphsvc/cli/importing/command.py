"""`graphsvc import`: load a file of edges, resumably, or compare it with what the service has."""

from pathlib import Path
from typing import Annotated

import typer

from graphsvc.cli.edge_files.layout import LayoutOptions, TimeUnit
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
        str | None, typer.Option(metavar="COLUMN", help="Since when; without it, now.")
    ] = None,
    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="Of the times; by default told by their size.")
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="comma, tab, semicolon, pipe, space or a character; by default told by the first row.",
        ),
    ] = None,
    mutual: Annotated[bool, typer.Option("--mutual", help="Each row is two edges, one each way.")] = False,
    batch: Annotated[int, typer.Option(min=1, max=LARGEST_BATCH, help="Edges a call.")] = LARGEST_BATCH,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Calls in flight.")] = 4,
    give_up_after: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to repeat what fails.")
    ] = 60.0,
    rejects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all rejected lines here, as CSV.")
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
    so a migration can be repeated until nothing does. Its exit code is then 0.

    \b
    Examples:
      graphsvc import follows.csv.gz --follower-column user_id --followee-column followed_id
      graphsvc import follows.tsv --follower-column 2 --followee-column 3 --time-column 5 --time-unit ms
      graphsvc import edges.txt --map-ids user --mutual --rejects bad-lines.csv
      zstd -dc follows.csv.zst | graphsvc import -
      graphsvc import follows.csv.gz --compare --ignore-extra
    """
    layout = LayoutOptions(delimiter, follower_column, followee_column, time_column, time_unit)
    with open_session(target, timeout, map_ids) as session:
        if compare:
            asked = CompareOptions(layout, mutual, ignore_extra, passes, concurrency, give_up_after)
            compare_file(session, file, asked, as_json=as_json)
        else:
            options = LoadOptions(layout, mutual, batch, concurrency, give_up_after, rejects, restart)
            load_file(session, file, options, as_json=as_json)
