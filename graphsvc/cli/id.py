"""`graphsvc id`: compose ids, take them apart, and show where they live."""

from typing import Annotated

import typer

from graphsvc.cli.id_text import IdText, decimal
from graphsvc.cli.options import DEFAULT_TARGET, Json, Map, Target, Timeout
from graphsvc.cli.output import put_json, say
from graphsvc.model import branded
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import SHARDS, TypeCodes, pack, unpack
from graphsvc.model.placement import hash_id

app = typer.Typer(
    help="Compose ids, take them apart, and show where they live.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_CODES = TypeCodes()
_BRANDS = {_CODES.user: branded.USER, _CODES.board: branded.BOARD, _CODES.pin: branded.PIN}
_NAMES = {_CODES.user: "user", _CODES.board: "board", _CODES.pin: "pin"}

AnyId = Annotated[str, typer.Argument(metavar="ID", help="Decimal, or branded (USR...).")]


@app.command()
def encode(
    shard: Annotated[int, typer.Option("--shard", help="0 to 65535; above 8191 dormant.")],
    local: Annotated[int, typer.Option("--local", help="0 to 2^36-1.")],
    type_name: Annotated[str, typer.Option("--type", metavar="user|board|pin|CODE")] = "user",
    as_json: Json = False,
) -> None:
    """Compose an id from its shard, type and local part. Calls no service.

    \b
    Example:
      graphsvc id encode --shard 3429 --type pin --local 7075733
    """
    object_id = pack(shard, _code(type_name), local)
    if as_json:
        put_json(describe_id(object_id))
    else:
        say(str(object_id))


@app.command()
def decode(object_id: AnyId, as_json: Json = False) -> None:
    """Take an id apart: its shard, type and local part, as id placement reads them. Calls no service.

    \b
    Example:
      graphsvc id decode 241294492511762325
    """
    _put(describe_id(IdText().read(object_id, "id"), _brand_of(object_id)), as_json=as_json)


@app.command()
def show(
    object_id: AnyId,
    target: Target = DEFAULT_TARGET,
    as_json: Json = False,
    map_ids: Map = None,
    timeout: Timeout = 2.0,
) -> None:
    """Show all about an id, and, if a service answers, on which instance everything about it lives.

    \b
    Examples:
      graphsvc id show USR0KHTOWnGLuC
      graphsvc id show --map-ids user 7
    """
    # gRPC takes longer to load than encode and decode take to run.
    from graphsvc.cli.id_home import IdAndHome  # noqa: PLC0415

    found = IdAndHome.find(object_id, target, timeout, map_ids)
    _put(describe_id(found.object_id, _brand_of(object_id)) | found.home, as_json=as_json)


def describe_id(object_id: int, brand: str | None = None) -> dict[str, object]:
    """All that arithmetic tells about an id; what it names as type goes by the default codes.

    `brand`: that of its branded form; None: the one of its type.
    """
    parts = unpack(object_id)
    return {
        "id": str(object_id),
        "branded": branded.to_branded(object_id, brand or _BRANDS.get(parts.type, branded.USER)),
        "shard": parts.shard,
        "dormant": parts.shard >= SHARDS,
        "type": parts.type,
        "type_name": _NAMES.get(parts.type),
        "local": parts.local,
        "hash_shard": hash_id(object_id) % SHARDS,
    }


def _brand_of(text: str) -> str | None:
    return text[: branded.LETTERS] if text[:1].isalpha() else None


def _code(type_name: str) -> int:
    codes = {name: code for code, name in _NAMES.items()}
    if type_name in codes:
        return codes[type_name]
    code = decimal(type_name)
    if code is None:
        raise InvalidArgument(
            "--type", Reason.ID_WRONG_TYPE, f"{type_name!r} is not user, board, pin or a code"
        )
    return code


def _put(facts: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        put_json(facts)
        return
    dormant = " (dormant: shards above 8191 are not in use)" if facts["dormant"] else ""
    name = f" ({facts['type_name']})" if facts["type_name"] else ""
    say(f"id         {facts['id']}")
    say(f"branded    {facts['branded']}")
    say(
        f"shard      {facts['shard']} under id placement{dormant}, {facts['hash_shard']} under hash placement"
    )
    say(f"type       {facts['type']}{name}")
    say(f"local      {facts['local']}")
    if "placement" in facts:
        say(f"placement  {facts['placement']} in the cluster {facts['cluster']}")
        say(f"instance   {facts['instance'] or 'none: ' + str(facts['problem'])}")
    elif "problem" in facts:
        say(f"instance   not known: {facts['problem']}")
