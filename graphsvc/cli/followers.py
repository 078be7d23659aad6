"""`graphsvc followers`: who follows a user."""

from graphsvc.cli.edge_pages import All, Limit, OldestFirst, PageToken, listing, put_listing
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout, UserId
from graphsvc.cli.session import open_session
from graphsvc.model.edges import ListKind


def followers(
    user: UserId,
    limit: Limit = 50,
    everything: All = False,
    oldest_first: OldestFirst = False,
    page_token: PageToken = "",
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 10.0,
) -> None:
    """Show who follows a user.

    Newest first, with the time of each follow and the exact total.

    \b
    Examples:
      graphsvc followers 352049879318529
      graphsvc followers --map-ids user 7 --limit 10 --oldest-first
      graphsvc followers --map-ids user 7 --all --json | jq -r .id
    """
    with open_session(target, timeout, map_ids) as session:
        asked = listing(
            ListKind.FOLLOWERS,
            user,
            limit=limit,
            everything=everything,
            oldest_first=oldest_first,
            page_token=page_token,
        )
        put_listing(session, asked, as_json=as_json)
