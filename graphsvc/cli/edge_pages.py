"""What `followers` and `following` share: pages of one list, as far as asked."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from graphsvc.cli.id_text import branded_user
from graphsvc.cli.output import iso, put_json, put_table, say
from graphsvc.cli.session import Session
from graphsvc.model.edges import ListKind
from graphsvc.v1 import edges_pb2
from graphsvc.v1 import follower_graph_service_pb2 as pb

LARGEST_PAGE = 1_000

Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.")]
All = Annotated[bool, typer.Option("--all", help="The whole list; with --json one line an edge.")]
OldestFirst = Annotated[bool, typer.Option("--oldest-first", help="Oldest first; otherwise newest first.")]
PageToken = Annotated[str, typer.Option("--page-token", help="Go on where a former page ended.")]


@dataclass(frozen=True, slots=True)
class Listing:
    """Which part of which list."""

    kind: ListKind
    user: str
    limit: int | None
    """At most so many edges; None: all."""
    oldest_first: bool = False
    page_token: str = ""


def listing(
    kind: ListKind, user: str, *, limit: int, everything: bool, oldest_first: bool, page_token: str
) -> Listing:
    """What the options mean."""
    return Listing(kind, user, None if everything else limit, oldest_first, page_token)


def read_pages(session: Session, asked: Listing) -> Iterator[pb.ListEdgesResponse]:
    """The pages of a listing, each with as many edges as are still wanted.

    Raises:
        CallError: a page can't be read.
        InvalidArgument: the user is no id.
    """
    graph = session.connection.graph
    method = graph.ListFollowing if asked.kind is ListKind.FOLLOWING else graph.ListFollowers
    request = pb.ListUserEdgesRequest(
        user_id=session.ids.read(asked.user, "user"),
        page_token=asked.page_token,
        order=edges_pb2.ORDER_OLDEST_FIRST if asked.oldest_first else edges_pb2.ORDER_NEWEST_FIRST,
    )
    left = asked.limit
    while left is None or left > 0:
        request.page_size = LARGEST_PAGE if left is None else min(LARGEST_PAGE, left)
        page = session.connection.call(method, request)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
        left = None if left is None else left - len(page.ids)


def put_listing(session: Session, asked: Listing, *, as_json: bool) -> None:
    """Read and print a listing."""
    pages = read_pages(session, asked)
    if not as_json:
        _put_text(session, asked, pages)
    elif asked.limit is None:
        for page in pages:
            for edge in _edges(session, page):
                put_json(edge)
    else:
        _put_document(session, asked, list(pages))


def _edges(session: Session, page: pb.ListEdgesResponse) -> Iterator[dict[str, object]]:
    for edge_id, time_us in zip(page.ids, page.followed_at_us, strict=True):
        yield {"id": session.ids.write(edge_id), "followed_at": iso(time_us), "followed_at_us": time_us}


def _put_document(session: Session, asked: Listing, pages: list[pb.ListEdgesResponse]) -> None:
    put_json(
        {
            "user": session.ids.write(session.ids.read(asked.user, "user")),
            "list": asked.kind.value,
            "total": pages[0].total_size,
            "edges": [edge for page in pages for edge in _edges(session, page)],
            "next_page_token": pages[-1].next_page_token or None,
        }
    )


def _put_text(session: Session, asked: Listing, pages: Iterator[pb.ListEdgesResponse]) -> None:
    order = "oldest first" if asked.oldest_first else "newest first"
    user = session.name(session.ids.read(asked.user, "user"))
    token = ""
    for number, page in enumerate(pages):
        if number == 0:
            title = f"{asked.kind.value} of {user}"
            say(f"{title}: {page.total_size:,} in all, {order}")
        rows = [_cells(session, each, time) for each, time in zip(page.ids, page.followed_at_us, strict=True)]
        if rows:
            put_table(("user", "branded", "since") if session.shows_brands else ("user", "since"), rows)
        token = page.next_page_token
    if token:
        say(f"more: {_command(session, asked, token)}")


def _cells(session: Session, edge_id: int, time_us: int) -> tuple[str, ...]:
    brand = (branded_user(edge_id),) if session.shows_brands else ()
    return (session.ids.write(edge_id), *brand, iso(time_us))


def _command(session: Session, asked: Listing, token: str) -> str:
    """The command that goes on after this page."""
    words = ["graphsvc", asked.kind.value, asked.user, *session.flags()]
    words += ["--oldest-first"] if asked.oldest_first else []
    words += ["--limit", str(asked.limit), "--page-token", token]
    return shlex.join(words)
