"""`graphsvc status`: what the service says of its cluster."""

import typer

from graphsvc.cli.exits import ExitCode
from graphsvc.cli.options import DEFAULT_TARGET, Json, Target, Timeout
from graphsvc.cli.output import put_json, put_table, say
from graphsvc.cli.session import open_session
from graphsvc.v1 import admin_service_pb2 as pb


def status(target: Target = DEFAULT_TARGET, as_json: Json = False, timeout: Timeout = 10.0) -> None:
    """Show the cluster and its instances.

    Its limits, and of each instance the shards, and whether its primary answers. Exits with 0 if the service
    serves and all instances can be reached, with 3 otherwise.

    \b
    Examples:
      graphsvc status
      graphsvc status --target graph.internal:50051 --json
    """
    with open_session(target, timeout) as session:
        cluster, health = session.cluster, session.connection.health()
        if as_json:
            put_json(_document(cluster, health, target))
        else:
            _put_text(cluster, health, target)
        if health == "NOT_SERVING" or not all(instance.reachable for instance in cluster.instances):
            raise typer.Exit(ExitCode.UNAVAILABLE)


def _put_text(cluster: pb.GetClusterInfoResponse, health: str, target: str) -> None:
    boards = f", {cluster.max_followed_boards:,} boards" if cluster.max_followed_boards else ""
    codes = ", ".join(f"{each.name} {each.code}" for each in cluster.object_types)
    say(f"service    {target} {health}, version {cluster.server_version}")
    say(f"cluster    {cluster.cluster}: placement {cluster.placement}, {cluster.shards:,} shards")
    say(f"map        version {cluster.map_version}, {len(cluster.instances)} instance(s)")
    say(f"limits     a user follows at most {cluster.max_followed_users:,} users{boards}")
    say(f"types      {codes}")
    say("")
    rows = [
        (
            each.name,
            f"{each.first_shard}-{each.last_shard}",
            each.primary or "none",
            "yes" if each.reachable else "NO",
            ", ".join(each.replicas) or "none",
            each.epoch,
        )
        for each in cluster.instances
    ]
    put_table(("instance", "shards", "primary", "reachable", "replicas", "epoch"), rows)


def _document(cluster: pb.GetClusterInfoResponse, health: str, target: str) -> dict[str, object]:
    return {
        "target": target,
        "health": health,
        "server_version": cluster.server_version,
        "cluster": cluster.cluster,
        "placement": cluster.placement,
        "shards": cluster.shards,
        "map_version": cluster.map_version,
        "max_followed_users": cluster.max_followed_users,
        "max_followed_boards": cluster.max_followed_boards or None,
        "object_types": {each.name: each.code for each in cluster.object_types},
        "instances": [
            {
                "name": each.name,
                "first_shard": each.first_shard,
                "last_shard": each.last_shard,
                "primary": each.primary or None,
                "replicas": list(each.replicas),
                "in_sync": list(each.in_sync),
                "epoch": each.epoch,
                "reachable": each.reachable,
            }
            for each in cluster.instances
        ],
    }
