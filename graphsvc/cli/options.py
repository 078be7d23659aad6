"""The options that commands have in common."""

from enum import StrEnum
from typing import Annotated

import typer

from graphsvc.cli.id_text import decimal

DEFAULT_TARGET = "127.0.0.1:50051"


class MapIds(StrEnum):
    """The types that --map-ids can give to small integers."""

    USER = "user"


def _check_target(target: str) -> str:
    host, colon, port = target.rpartition(":")
    number = decimal(port)
    if not (host and colon and number is not None and number < 1 << 16):
        raise typer.BadParameter(f"{target!r} is not HOST:PORT")
    return target


Target = Annotated[
    str,
    typer.Option(
        "--target",
        envvar="GRAPHSVC_TARGET",
        metavar="HOST:PORT",
        callback=_check_target,
        help="The service to call.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of text; ids are strings.")]
Map = Annotated[
    MapIds | None,
    typer.Option(
        "--map-ids",
        help="Small integers stand for ids of this type: N is the id of shard N mod 8192, local part N.",
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0.001, max=86_400, metavar="SECONDS", help="Of each call.")
]
UserId = Annotated[str, typer.Argument(metavar="USER", help="An id: decimal, or branded (USR...).")]
