"""Settings: the example file against the model, and which source wins."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from graphsvc.model.placement import PlacementName
from graphsvc.runtime.settings import Settings, UnknownSection, load_settings

EXAMPLE = Path(__file__).parents[2] / "ops/config/example.toml"


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("GRAPHSVC_"):
            monkeypatch.delenv(name)


def settings_file(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text)
    return file


def defaults() -> dict[str, dict[str, Any]]:
    """Section -> setting -> default, as the model has them."""
    sections = {}
    for name, field in Settings.model_fields.items():
        assert isinstance(field.default, BaseModel), f"{name} is a setting outside of any section"
        sections[name] = field.default.model_dump(mode="json")
    return sections


def example_section(name: str) -> str:
    match = re.search(rf"^\[{name}\]\n(.*?)(?=^\[|\Z)", EXAMPLE.read_text(), re.MULTILINE | re.DOTALL)
    assert match, f"the example has no section [{name}]"
    return match[1]


def test_the_example_has_every_section_and_no_other() -> None:
    assert tomllib.loads(EXAMPLE.read_text()).keys() == defaults().keys()


@pytest.mark.parametrize("section", defaults())
def test_the_example_shows_every_setting_with_its_default(section: str) -> None:
    expected = defaults()[section]
    shown = tomllib.loads(EXAMPLE.read_text())[section]
    # TOML has no null: what is not set by default stands in a comment.
    assert shown == {name: value for name, value in expected.items() if value is not None}
    for name in (name for name, value in expected.items() if value is None):
        assert re.search(rf"^# {name} = .+$", example_section(section), re.MULTILINE)


@pytest.mark.parametrize("section", defaults())
def test_the_example_has_a_comment_on_every_setting(section: str) -> None:
    lines = example_section(section).splitlines()
    for name in defaults()[section]:
        place = next(i for i, line in enumerate(lines) if re.match(rf"(# )?{name} = ", line))
        assert place
        above = lines[place - 1]
        assert above.startswith("# ")
        assert above.endswith(".")


def test_the_example_as_a_settings_file_changes_nothing() -> None:
    assert load_settings(EXAMPLE, {}).model_dump() == Settings().model_dump()


def test_flags_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settings_file(tmp_path, "[service]\nport = 1001\nmetrics_port = 1002\nstop_grace_ms = 1003\n")
    monkeypatch.setenv("GRAPHSVC_SERVICE__PORT", "2001")
    monkeypatch.setenv("GRAPHSVC_SERVICE__METRICS_PORT", "2002")

    service = load_settings(file, {"service": {"port": 3001}}).service

    assert (service.port, service.metrics_port, service.stop_grace_ms) == (3001, 2002, 1003)
    assert service.default_deadline_ms == Settings().service.default_deadline_ms


def test_a_flag_that_was_not_given_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = settings_file(tmp_path, '[dev]\ndata = "/from/file"\n[cluster]\nplacement = "hash"\n')
    monkeypatch.setenv("GRAPHSVC_LOG__LEVEL", "debug")

    settings = load_settings(file, {"dev": {"data": None}, "log": {"level": None, "format": "json"}})

    assert settings.dev.data == Path("/from/file")
    assert settings.cluster.placement is PlacementName.HASH
    assert (settings.log.level, settings.log.format) == ("debug", "json")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[service]\nprot = 1\n", "service.prot"),
        ("[redis]\nmax_waiting = 1\nconnect_timeout = 5\n", "redis.connect_timeout"),
        ("[servise]\nport = 1\n", "servise"),
        ("port = 1\n", "port"),
    ],
)
def test_an_unknown_setting_in_the_file_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ValidationError) as refused:
        load_settings(settings_file(tmp_path, text), {})
    assert [".".join(map(str, error["loc"])) for error in refused.value.errors()] == [named]
    assert {error["type"] for error in refused.value.errors()} == {"extra_forbidden"}


def test_an_unknown_setting_in_the_environment_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHSVC_SERVICE__PROT", "1")
    with pytest.raises(ValidationError, match=r"service\.prot"):
        load_settings(None, {})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[service]\nport = 65536\n", "service.port"),
        ("[service]\nport = -1\n", "service.port"),
        ("[cluster]\nuser_type = 1024\n", "cluster.user_type"),
        ('[cluster]\nplacement = "modulo"\n', "cluster.placement"),
        ("[limits]\nmax_followed_users = 0\n", "limits.max_followed_users"),
        ("[limits]\nmax_followed_users = 65001\n", "limits.max_followed_users"),
        ("[redis]\nread_timeout_ms = 0\n", "redis.read_timeout_ms"),
        ('[log]\nlevel = "loud"\n', "log.level"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ValidationError) as refused:
        load_settings(settings_file(tmp_path, text), {})
    assert [".".join(map(str, error["loc"])) for error in refused.value.errors()] == [named]


def test_the_follow_limit_may_be_what_an_index_holds(tmp_path: Path) -> None:
    file = settings_file(tmp_path, "[limits]\nmax_followed_users = 65000\n")
    assert load_settings(file, {}).limits.max_followed_users == 65_000
    with pytest.raises(ValidationError, match="less than or equal to 65000"):
        load_settings(file, {"limits": {"max_followed_users": 65_001}})


def test_a_file_that_is_missing_or_no_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        load_settings(tmp_path / "nowhere.toml", {})
    with pytest.raises(tomllib.TOMLDecodeError):
        load_settings(settings_file(tmp_path, "[service\n"), {})


def test_settings_do_not_change_once_read() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().service.port = 1  # type: ignore[misc]


def test_an_unknown_section_in_the_environment_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHSVC_SERVISE__PORT", "1")
    with pytest.raises(UnknownSection, match=r"GRAPHSVC_SERVISE__PORT.*'servise'.*service"):
        load_settings(None, {})


def test_other_variables_of_ours_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHSVC_TARGET", "127.0.0.1:1")
    monkeypatch.setenv("SOMEBODY__ELSE", "1")
    assert load_settings(None, {}).service.port == 50051
