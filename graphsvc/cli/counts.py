"""`graphsvc counts`: exact counts of users' lists."""

from collections.abc import Sequence
from typing import Annotated

import typer

from graphsvc.cli.exits import ExitCode
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout
from graphsvc.cli.output import put_json, put_table, warn
from graphsvc.cli.session import Session, open_session
from graphsvc.v1 import follower_graph_service_pb2 as pb


def counts(
    users: Annotated[list[str], typer.Argument(metavar="USER...", help="Ids: decimal, or branded (USR...).")],
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 10.0,
) -> None:
    """Show how many follow a user, and how many the user follows.

    Exact; of at most 1,000 users a call. Users whose counts cannot be told are shown with the reason; the
    exit code is then 3, or 4 where trying again later would not help all of them.

    \b
    Examples:
      graphsvc counts 352049879318529
      graphsvc counts --map-ids user 1 2 3 --json
    """
    with open_session(target, timeout, map_ids) as session:
        code = put_counts(session, users, as_json=as_json)
    if code is not ExitCode.DONE:
        raise typer.Exit(code)


def put_counts(session: Session, users: Sequence[str], *, as_json: bool) -> ExitCode:
    """Ask, print, and return what to end with: not every user's counts may be there."""
    user_ids = [session.ids.read(each, "user") for each in users]
    request = pb.GetCountsRequest(user_ids=user_ids, allow_partial=True)
    answer = session.connection.call(session.connection.graph.GetCounts, request)
    errors = {error.index: error.reason for error in answer.errors}
    known = [(each, errors.get(index)) for index, each in enumerate(answer.users)]
    if as_json:
        put_json({"users": [_document(session, each, error) for each, error in known]})
    else:
        rows = [
            (
                session.name(each.user_id),
                *((error, "") if error else (f"{each.following:,}", f"{each.followers:,}")),
            )
            for each, error in known
        ]
        put_table(("user", "following", "followers"), rows, right=("following", "followers"))
    lasting = [error.message for error in answer.errors if not error.retry_after_ms]
    for message in dict.fromkeys(lasting):
        warn(message)
    if lasting:
        return ExitCode.FAILED
    return ExitCode.UNAVAILABLE if errors else ExitCode.DONE


def _document(session: Session, counted: pb.UserCounts, error: str | None) -> dict[str, object]:
    user: dict[str, object] = {"user": session.ids.write(counted.user_id)}
    if error:
        return user | {"error": error}
    return user | {"following": counted.following, "followers": counted.followers}
