"""The settings of every process: from a TOML file, over it the environment, over that flags.

ops/config/example.toml shows each one with its default; a test holds it against this model.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from graphsvc.model.ids import MAX_TYPE
from graphsvc.model.placement import PlacementName

Port = Annotated[int, Field(ge=0, le=65535)]
Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]
TypeCode = Annotated[int, Field(ge=0, le=MAX_TYPE)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServiceSettings(_Section):
    """The gRPC service."""

    host: str = "127.0.0.1"
    port: Port = 50051
    metrics_port: Port = 9464
    """Prometheus metrics on http://HOST:PORT/metrics; 0: any free port."""
    reflection: bool = True
    default_deadline_ms: Milliseconds = 5_000
    """For calls that come without one."""
    import_deadline_ms: Milliseconds = 60_000
    """The same, for BatchImportEdges."""
    max_concurrent_calls: int = Field(default=4_096, ge=1)
    stop_grace_ms: Milliseconds = 10_000
    """How long calls in flight may take to finish after SIGTERM."""


class ClusterChoices(_Section):
    """What a new cluster chooses, once for ever; refused where it differs from what is stored."""

    name: str = Field(default="dev", min_length=1, max_length=64)
    placement: PlacementName = PlacementName.ID
    user_type: TypeCode = 3
    board_type: TypeCode = 2
    pin_type: TypeCode = 1


class LimitSettings(_Section):
    """Limits per user."""

    max_followed_users: int = Field(default=50_000, ge=1, le=65_000)
    """The index of a list is a set of integers, and stays one of at most 65,536; that bounds this limit."""


class RedisSettings(_Section):
    """Connections to the instances; each number is for one instance."""

    max_waiting: int = Field(default=1_024, ge=1)
    """Calls that may wait for an answer; the next is refused at once with RESOURCE_EXHAUSTED."""
    connect_timeout_ms: Milliseconds = 500
    read_timeout_ms: Milliseconds = 1_000
    """For one read; also bounded by four fifths of what is left of the call's deadline."""
    write_timeout_ms: Milliseconds = 5_000
    """For one write; it goes on to its end when the caller's deadline is over."""


class DevSettings(_Section):
    """`graphsvc dev`: the service with embedded instances."""

    data: Path = Path("~/.local/share/graphsvc/dev")
    redis_server: Path | None = None
    """A redis-server or valkey-server to run instead of the embedded Valkey."""


class LogSettings(_Section):
    """Logs go to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


class Settings(BaseSettings):
    """All settings. Environment: GRAPHSVC_SECTION__NAME, for example GRAPHSVC_SERVICE__PORT=50052."""

    model_config = SettingsConfigDict(
        env_prefix="GRAPHSVC_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    service: ServiceSettings = ServiceSettings()
    cluster: ClusterChoices = ClusterChoices()
    limits: LimitSettings = LimitSettings()
    redis: RedisSettings = RedisSettings()
    dev: DevSettings = DevSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 (pydantic's signature)
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then environment, then file: the first that names a setting wins."""
        file = TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, file


class UnknownSection(Exception):
    """An environment variable is named like a setting, but of a section that is none."""


def load_settings(file: Path | None, flags: dict[str, dict[str, Any]]) -> Settings:
    """Read the settings.

    Args:
        file: a TOML file, or None.
        flags: section -> name -> value; values of None are flags that were not given.

    Raises:
        FileNotFoundError: there is no such file.
        tomllib.TOMLDecodeError: the file is not TOML.
        UnknownSection: an environment variable names no section.
        pydantic.ValidationError: a setting is unknown or out of its range; names it.
    """
    _check_environment()
    if file is not None and not file.is_file():
        raise FileNotFoundError(f"no settings file {file}")

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=file)

    given = {
        section: {name: value for name, value in values.items() if value is not None}
        for section, values in flags.items()
    }
    return FromFile(**{section: values for section, values in given.items() if values})  # type: ignore[arg-type]


def _check_environment() -> None:
    # pydantic refuses unknown names within a section by itself, but passes over unknown sections.
    prefix, delimiter = "GRAPHSVC_", "__"
    for name in os.environ:
        section = name.removeprefix(prefix).partition(delimiter)[0].lower()
        if name.startswith(prefix) and delimiter in name and section not in Settings.model_fields:
            raise UnknownSection(
                f"{name}: there is no section {section!r}; sections: {', '.join(Settings.model_fields)}"
            )
