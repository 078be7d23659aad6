"""`graphsvc check`: does A follow B?"""

from collections.abc import Sequence
from typing import Annotated

import typer

from graphsvc.cli.exits import ExitCode
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout, UserId
from graphsvc.cli.output import iso, put_json, put_table, say
from graphsvc.cli.session import Session, open_session
from graphsvc.v1 import follower_graph_service_pb2 as pb


def check(
    follower: UserId,
    followees: Annotated[list[str], typer.Argument(metavar="USER...", help="Whom the first may follow.")],
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 10.0,
) -> None:
    """Tell whether a user follows another.

    Or each of several others, at most 1,000. Exits with 0 if so (all of them), with 1 if not.

    \b
    Examples:
      graphsvc check 352049879318529 562950159579742210
      graphsvc check --map-ids user 7 8 9 10
      graphsvc check --json 352049879318529 562950159579742210 && echo yes
    """
    with open_session(target, timeout, map_ids) as session:
        if not check_follows(session, follower, followees, as_json=as_json):
            raise typer.Exit(ExitCode.NO)


def check_follows(session: Session, follower: str, followees: Sequence[str], *, as_json: bool) -> bool:
    """Ask, print the answer, and return whether it is yes for all."""
    follower_id = session.ids.read(follower, "follower")
    followee_ids = [session.ids.read(each, "followee") for each in followees]
    if len(followee_ids) == 1:
        return _check_one(session, follower_id, followee_ids[0], as_json=as_json)
    return _check_several(session, follower_id, followee_ids, as_json=as_json)


def _check_one(session: Session, follower_id: int, followee_id: int, *, as_json: bool) -> bool:
    request = pb.CheckFollowRequest(follower_id=follower_id, followee_id=followee_id)
    answer = session.connection.call(session.connection.graph.CheckFollow, request)
    if as_json:
        put_json(
            {
                "follower": session.ids.write(follower_id),
                "followee": session.ids.write(followee_id),
                "following": answer.following,
                "followed_at": iso(answer.followed_at_us) or None,
                "followed_at_us": answer.followed_at_us or None,
            }
        )
    else:
        pair = session.name(follower_id), session.name(followee_id)
        since = iso(answer.followed_at_us)
        say(
            f"yes: {pair[0]} follows {pair[1]} since {since}"
            if answer.following
            else f"no: {pair[0]} does not follow {pair[1]}"
        )
    return answer.following


def _check_several(session: Session, follower_id: int, followee_ids: list[int], *, as_json: bool) -> bool:
    request = pb.CheckFollowsRequest(follower_id=follower_id, followee_ids=followee_ids)
    answer = session.connection.call(session.connection.graph.CheckFollows, request)
    follows = list(zip(followee_ids, answer.following_users, strict=True))
    if as_json:
        put_json(
            {
                "follower": session.ids.write(follower_id),
                "checks": [
                    {"followee": session.ids.write(each), "following": following}
                    for each, following in follows
                ],
            }
        )
    else:
        rows = [(session.name(each), "yes" if following else "no") for each, following in follows]
        put_table(("user", f"followed by {session.name(follower_id)}"), rows)
    return all(answer.following_users)
