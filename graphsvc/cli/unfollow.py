"""`graphsvc unfollow`: end a follow."""

from graphsvc.cli.follow import put_written
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout, UserId
from graphsvc.cli.output import say
from graphsvc.cli.session import open_session
from graphsvc.v1 import follower_graph_service_pb2 as pb


def unfollow(
    follower: UserId,
    followee: UserId,
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 10.0,
) -> None:
    """Make the first user no longer follow the second. Safe to repeat.

    \b
    Examples:
      graphsvc unfollow 352049879318529 562950159579742210
      graphsvc unfollow --map-ids user 7 8
    """
    with open_session(target, timeout, map_ids) as session:
        follower_id = session.ids.read(follower, "follower")
        followee_id = session.ids.read(followee, "followee")
        request = pb.UnfollowUserRequest(follower_id=follower_id, followee_id=followee_id)
        answer = session.connection.call(session.connection.graph.UnfollowUser, request)
        if not as_json:
            does = "no longer follows" if answer.changed else "did not follow"
            say(f"{session.name(follower_id)} {does} {session.name(followee_id)}")
        put_written(session, (follower_id, followee_id), answer, as_json=as_json)
