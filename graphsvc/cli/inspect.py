"""`graphsvc inspect`: how a user's lists are stored, and whether they are damaged."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from graphsvc.cli.exits import ExitCode
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, UserId
from graphsvc.cli.output import iso, put_json, put_table, say
from graphsvc.cli.session import Session, open_session
from graphsvc.model.edges import ListKind
from graphsvc.v1 import admin_service_pb2 as pb

_ADVICE = {
    ListKind.FOLLOWING: "restore the folder of the instance's node from a copy",
    ListKind.FOLLOWERS: (
        "all of it is in the following lists, from which a later version rebuilds it; until then restore the "
        "folder of the instance's node from a copy"
    ),
}
_COLUMNS = ("key", "part", "bytes", "edges", "first", "last")
_NUMBERS = ("bytes", "edges")


def inspect(
    user: UserId,
    check: Annotated[bool, typer.Option("--check", help="Verify every block, separator and count.")] = False,
    blocks: Annotated[bool, typer.Option("--blocks", help="A line a block, of the newest 100.")] = False,
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            min=0.001,
            max=86_400,
            metavar="SECONDS",
            help="Of each call; else 10, with --check 60.",
        ),
    ] = None,
) -> None:
    """Show how a user's lists are stored.

    Their keys in the database of the user's shard, their form, blocks, bytes, first and last times. Of a
    list with more than 100 blocks the bytes are an estimate unless it is checked. Exits with 1 if a list is
    damaged: --check looks at every part; without it only at what was read.

    \b
    Examples:
      graphsvc inspect 352049879318529
      graphsvc inspect --map-ids user 7 --check
      graphsvc inspect --map-ids user 7 --check --json | jq '.lists[].problems'
    """
    with open_session(target, timeout or (60.0 if check else 10.0), map_ids) as session:
        request = pb.InspectUserRequest(user_id=session.ids.read(user, "user"), check=check)
        answer = session.connection.call(session.connection.admin.InspectUser, request)
        if as_json:
            put_json(_document(session, request.user_id, answer))
        else:
            _put_text(session, request.user_id, answer, blocks=blocks)
        if any(each.problems for each in answer.lists):
            raise typer.Exit(ExitCode.NO)


def _put_text(session: Session, user_id: int, answer: pb.InspectUserResponse, *, blocks: bool) -> None:
    say(f"user       {session.name(user_id)}")
    say(f"shard      {answer.shard} (redis-cli -n {answer.shard}), on {answer.instance}")
    for each in answer.lists:
        say("")
        say(title_of(each))
        if each.keys:
            put_table(_COLUMNS, table_of(each, blocks=blocks), right=_NUMBERS)
        for line in findings_of(each):
            say(session.in_users_numbers(line))


def title_of(found: pb.ListInspection) -> str:
    """What a list is, on one line."""
    if not found.keys:
        return f"{found.list}: {found.form}"
    title = f"{found.list}: {found.form}, {_counted(found.size, 'edge')} in {_counted(found.blocks, 'block')}"
    if not found.size:
        return title
    # Of very many blocks not all are told, and unless checked not all were measured.
    estimated = not found.checked and found.blocks > len(_sealed(found)) + 1
    return f"{title}, {'about ' if estimated else ''}{found.bytes / found.size:.1f} bytes an edge"


def table_of(found: pb.ListInspection, *, blocks: bool) -> Iterator[Sequence[str]]:
    """The keys of a list; sealed blocks on a line together, or with `blocks` a line each of those told."""
    head = [each for each in found.keys if each.part == "the head"]
    sealed = _sealed(found)
    others = [each for each in found.keys if each not in head and each not in sealed]
    yield from map(_row, head)
    count = found.blocks - len(head)
    if blocks:
        yield from map(_row, sealed)
        if count > len(sealed):
            yield "", _counted(count - len(sealed), "older block"), "", "", "", ""
    elif sealed:
        yield _row(_together(found, sealed, count))
    yield from map(_row, others)
    if len(found.keys) > 1:
        yield "", "all", f"{found.bytes:,}", f"{found.size:,}", iso(found.first_us), iso(found.last_us)


def findings_of(found: pb.ListInspection) -> Iterator[str]:
    """What is wrong with a list, a line each, and what to do about it."""
    for problem in found.problems:
        yield f"damaged: {problem}"
    if found.problems:
        yield f"what to do: {_ADVICE[ListKind(found.list)]}"
    for left_out in found.unchecked:
        yield f"not checked: {left_out}"
    if found.checked and not found.problems:
        yield "checked: all of it is as it should be" if not found.unchecked else "checked: no damage found"


def _sealed(found: pb.ListInspection) -> list[pb.StoredKey]:
    return [each for each in found.keys if each.part.startswith("block ")]


def _together(found: pb.ListInspection, sealed: Sequence[pb.StoredKey], count: int) -> pb.StoredKey:
    """All sealed blocks of a list as if they were one key: what the others leave of the whole."""
    others = [each for each in found.keys if each not in sealed]
    in_head = sum(each.edges for each in others if each.part == "the head")
    return pb.StoredKey(
        name=f"{sealed[0].name.rpartition(':')[0]}:N",
        part=_counted(count, "sealed block"),
        bytes=found.bytes - sum(each.bytes for each in others),
        edges=max(0, found.size - in_head),
        first_us=found.first_us,
        last_us=sealed[0].last_us,
    )


def _row(key: pb.StoredKey) -> Sequence[str]:
    return key.name, key.part, f"{key.bytes:,}", f"{key.edges:,}", iso(key.first_us), iso(key.last_us)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _document(session: Session, user_id: int, answer: pb.InspectUserResponse) -> dict[str, object]:
    return {
        "user": session.ids.write(user_id),
        "shard": answer.shard,
        "instance": answer.instance,
        "lists": [_list_document(session, each) for each in answer.lists],
    }


def _list_document(session: Session, found: pb.ListInspection) -> dict[str, object]:
    return {
        "list": found.list,
        "form": found.form,
        "size": found.size,
        "blocks": found.blocks,
        "bytes": found.bytes,
        **_times(found.first_us, found.last_us),
        "keys": [
            {
                "name": each.name,
                "part": each.part,
                "bytes": each.bytes,
                "edges": each.edges,
                **_times(each.first_us, each.last_us),
            }
            for each in found.keys
        ],
        "checked": found.checked,
        "problems": [session.in_users_numbers(each) for each in found.problems],
        "what_to_do": _ADVICE[ListKind(found.list)] if found.problems else None,
        "unchecked": [session.in_users_numbers(each) for each in found.unchecked],
    }


def _times(first_us: int, last_us: int) -> dict[str, object]:
    return {
        "first": iso(first_us) or None,
        "first_us": first_us or None,
        "last": iso(last_us) or None,
        "last_us": last_us or None,
    }
