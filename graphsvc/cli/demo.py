"""`graphsvc demo`: load a small graph, and show what one can ask."""

import shlex
from collections.abc import Sequence
from threading import Event
from typing import Annotated

import typer

from graphsvc.cli.check import check_follows
from graphsvc.cli.counts import put_counts
from graphsvc.cli.demo_graph import USERS, DemoEdge, demo_edges
from graphsvc.cli.edge_pages import Listing, put_listing
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.delivery import Delivery, EdgeColumns, deliver
from graphsvc.cli.importing.report import open_bar
from graphsvc.cli.options import DEFAULT_TARGET, MapIds, Target, Timeout
from graphsvc.cli.output import say
from graphsvc.cli.session import Session, open_session
from graphsvc.client import retry
from graphsvc.model.edges import ListKind
from graphsvc.model.ids import spread

DEV_CLUSTER = "dev"

_BATCH = 250
_GIVE_UP_AFTER_S = 30.0


def demo(
    any_cluster: Annotated[
        bool, typer.Option("--any-cluster", help="Load it also into a cluster that is not called dev.")
    ] = False,
    target: Target = DEFAULT_TARGET,
    timeout: Timeout = 10.0,
) -> None:
    """Load a small graph, and show what one can ask of it.

    Into a running dev service. The graph has 300 users, numbered from 1, and is the same every time; loading
    it again changes nothing.

    \b
    Example:
      graphsvc dev       in one terminal
      graphsvc demo      in another
    """
    with open_session(target, timeout, MapIds.USER) as session:
        if session.cluster.cluster != DEV_CLUSTER and not any_cluster:
            raise CommandError(
                ExitCode.USAGE,
                f"{target} serves the cluster {session.cluster.cluster!r}, not a dev service: "
                "--any-cluster loads the demo into it all the same",
            )
        edges = demo_edges()
        loaded = _load(session, edges)
        say(f"loaded {loaded.edges:,} follows of {USERS} users, {loaded.changed:,} of them new")
        _show(session, edges)


def _load(session: Session, edges: Sequence[DemoEdge]) -> Delivery:
    connection, whole = session.connection, Delivery()
    code = session.ids.map_code or 0
    with open_bar("loading", wanted=True) as bar:
        for begin in range(0, len(edges), _BATCH):
            part = edges[begin : begin + _BATCH]
            columns = EdgeColumns(
                range(len(part)),
                [spread(each.follower, code) for each in part],
                [spread(each.followee, code) for each in part],
                [each.time_us for each in part],
            )
            delivery = deliver(
                columns,
                lambda request: connection.once(connection.admin.BatchImportEdges, request),
                session.ids.write,
                retry.patient(_GIVE_UP_AFTER_S, Event()),
            )
            whole.edges += delivery.edges
            whole.changed += delivery.changed
            bar.show(begin + len(part), len(edges), f"{whole.edges:,} follows")
    return whole


def _show(session: Session, edges: Sequence[DemoEdge]) -> None:
    """Some questions, each as the command that asks it, with its real answer."""
    newest = edges[-1]
    followed = {edge.followee for edge in edges if edge.follower == newest.follower}
    stranger = next(user for user in range(USERS, 0, -1) if user not in {newest.follower, *followed})
    a, b, c = str(newest.follower), str(newest.followee), str(stranger)

    def show(question: str, *words: str) -> None:
        say(f"\n{question}\n$ {shlex.join(['graphsvc', *words, *session.flags()])}")

    show("How many do these follow, and how many follow them?", "counts", "1", "2", b)
    put_counts(session, ["1", "2", b], as_json=False)
    show("Who followed user 1 last?", "followers", "1", "--limit", "5")
    put_listing(session, Listing(ListKind.FOLLOWERS, "1", 5), as_json=False)
    show(f"Whom did user {a} follow first?", "following", a, "--limit", "5", "--oldest-first")
    put_listing(session, Listing(ListKind.FOLLOWING, a, 5, oldest_first=True), as_json=False)
    show(f"Does user {a} follow user {b}?", "check", a, b)
    check_follows(session, a, [b], as_json=False)
    show("A screenful at once:", "check", a, "1", b, c)
    check_follows(session, a, ["1", b, c], as_json=False)
    say("\nThe numbers stand for ids (--map-ids user). What else there is: graphsvc --help")
