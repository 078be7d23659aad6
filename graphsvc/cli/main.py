"""The command line `graphsvc`: which commands there are, and where every failure ends."""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from graphsvc import __version__
from graphsvc.cli import exits

COMMANDS = {
    "dev": ("graphsvc.cli.dev.command", "dev"),
    "demo": ("graphsvc.cli.demo", "demo"),
    "status": ("graphsvc.cli.status", "status"),
    "check": ("graphsvc.cli.check", "check"),
    "follow": ("graphsvc.cli.follow", "follow"),
    "unfollow": ("graphsvc.cli.unfollow", "unfollow"),
    "followers": ("graphsvc.cli.followers", "followers"),
    "following": ("graphsvc.cli.following", "following"),
    "counts": ("graphsvc.cli.counts", "counts"),
    "inspect": ("graphsvc.cli.inspect", "inspect"),
    "import": ("graphsvc.cli.importing.command", "import_file"),
    "id": ("graphsvc.cli.id", "app"),
}
"""Module and name of each command."""


def build(names: Sequence[str]) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(
        no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=exits.HELP
    )
    app.callback()(_root)
    for name in names:
        module, attribute = COMMANDS[name]
        command = getattr(importlib.import_module(module), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Every failure ends here as one line on standard error and an exit code of `exits`.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    # gRPC would write about lost connections on standard error; what matters of it comes as an error.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Only the command that is asked for is loaded: all of them take half a second.
    if given[:1] == ["--version"]:
        names = []
    else:
        names = given[:1] if given and given[0] in COMMANDS else list(COMMANDS)
    try:
        build(names)(given, prog_name="graphsvc")
    except KeyboardInterrupt:
        sys.exit(exits.ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 (whatever it is, the user gets a line, not a traceback)
        if os.environ.get("GRAPHSVC_TRACEBACK"):
            traceback.print_exc()
        code, message = exits.exit_of(error)
        typer.echo(f"graphsvc: {message}", err=True)
        sys.exit(code)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"graphsvc {__version__}")
        raise typer.Exit


def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A follower graph in Redis memory, answered over gRPC.

    \b
    Begin with:
      graphsvc dev       in one terminal: a service with its data in a folder
      graphsvc demo      in another: load a small graph, and see what one can ask
    """
