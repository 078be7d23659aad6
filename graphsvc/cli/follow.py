"""`graphsvc follow`: make a user follow another."""

from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout, UserId
from graphsvc.cli.output import iso, put_json, say, warn
from graphsvc.cli.session import Session, open_session
from graphsvc.v1 import follower_graph_service_pb2 as pb


def follow(
    follower: UserId,
    followee: UserId,
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 10.0,
) -> None:
    """Make the first user follow the second. Safe to repeat.

    \b
    Examples:
      graphsvc follow 352049879318529 562950159579742210
      graphsvc follow --map-ids user 7 8
    """
    with open_session(target, timeout, map_ids) as session:
        follower_id = session.ids.read(follower, "follower")
        followee_id = session.ids.read(followee, "followee")
        request = pb.FollowUserRequest(follower_id=follower_id, followee_id=followee_id)
        answer = session.connection.call(session.connection.graph.FollowUser, request)
        if not as_json:
            already = "" if answer.changed else "already "
            pair = session.name(follower_id), session.name(followee_id)
            say(f"{pair[0]} {already}follows {pair[1]} since {iso(answer.followed_at_us)}")
        put_written(session, (follower_id, followee_id), answer, as_json=as_json)


def put_written(session: Session, pair: tuple[int, int], answer: pb.WriteResponse, *, as_json: bool) -> None:
    """Print what a write answered, as JSON; for people only what they would not expect."""
    if as_json:
        put_json(
            {
                "follower": session.ids.write(pair[0]),
                "followee": session.ids.write(pair[1]),
                "changed": answer.changed,
                "followed_at": iso(answer.followed_at_us) or None,
                "followed_at_us": answer.followed_at_us or None,
                "inverse_pending": answer.inverse_pending,
            }
        )
    elif answer.inverse_pending:
        warn("durable, but the list of followers does not show it yet; repeating the command mends that")
