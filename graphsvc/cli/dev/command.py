"""`graphsvc dev`: the whole service on this machine, with real nodes of its own, in one command."""

import asyncio
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from graphsvc.cli.dev.plan import Refused
from graphsvc.cli.dev.run import run
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.model.placement import PlacementName
from graphsvc.runtime.logs import configure_logs
from graphsvc.runtime.settings import Settings, UnknownSection, load_settings


def dev(
    data: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps the graph.", show_default="~/.local/share/graphsvc/dev"),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port of the gRPC service; 0: any.", show_default="50051"),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port of the metrics page; 0: any.", show_default="9464"),
    ] = None,
    redis_server: Annotated[
        Path | None,
        typer.Option(
            help="A redis-server or valkey-server to run instead.", show_default="the embedded Valkey"
        ),
    ] = None,
    placement: Annotated[
        PlacementName | None,
        typer.Option(help="Where a user's lists live; chosen once, for ever.", show_default="id"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(envvar="GRAPHSVC_CONFIG", help="A TOML file of settings, as ops/config/example.toml."),
    ] = None,
    log_format: Annotated[
        Literal["console", "json"] | None, typer.Option(help="Form of the logs.", show_default="console")
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="Least level that is logged.", show_default="info"),
    ] = None,
) -> None:
    """Serve a follower graph from this machine, with two nodes of its own.

    The graph lives in the nodes' memory and is kept in the --data folder: start again with the same
    folder and it is there, also after a crash. When the service answers, one line on standard output
    says so: graphsvc ready on HOST:PORT. Ctrl-C or SIGTERM stops it, after calls in flight.

    Exits with 0 when it was stopped, with 2 when it cannot serve as asked: the message says what to do.

    \b
    Examples:
      graphsvc dev
      graphsvc dev --data ./graph --port 50052 --metrics-port 0
      graphsvc dev --data ./graph-on-redis --redis-server /usr/bin/redis-server
    """
    flags: dict[str, dict[str, object]] = {
        "service": {"host": host, "port": port, "metrics_port": metrics_port},
        "cluster": {"placement": placement},
        "dev": {"data": data, "redis_server": redis_server},
        "log": {"format": log_format, "level": log_level},
    }
    try:
        settings = _settings(config, flags)
        configure_logs(settings.log)
        asyncio.run(run(settings))
    except Refused as error:
        raise CommandError(ExitCode.USAGE, str(error)) from error


def _settings(file: Path | None, flags: dict[str, dict[str, object]]) -> Settings:
    try:
        return load_settings(file, flags)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"--config {file}: {error}") from error
    except (UnknownSection, SettingsError) as error:
        raise Refused(f"environment: {error}") from error
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
        )
        raise Refused(f"settings that cannot be used: {problems}") from error
