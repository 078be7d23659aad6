"""The data folder and the ports of `graphsvc dev`."""

import errno
import os
import resource
import socket
from pathlib import Path

import pytest

from graphsvc.cli.dev import places
from graphsvc.cli.dev.places import check_port, free_port, own_folder, port_is_free, unusable
from graphsvc.cli.dev.plan import Refused

HOST = "127.0.0.1"


def test_the_folder_is_made_and_belongs_to_one(tmp_path: Path) -> None:
    with own_folder(tmp_path / "a" / "b") as folder:
        assert folder == tmp_path / "a" / "b"
        with (
            pytest.raises(Refused, match=rf"in use by another graphsvc dev, pid {os.getpid()}\..*--data"),
            own_folder(folder),
        ):
            pass
    with own_folder(folder):
        pass


def test_a_lock_left_by_a_process_that_died_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1\n")
    with own_folder(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("place", ["file", "file/below", "/dev/null/graph", "/proc/graph"])
def test_a_place_that_cannot_be_written_names_the_flag(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"cannot be used: .*--data"), own_folder(tmp_path / place):
        pass


def test_a_taken_port_names_the_flag_to_use() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert not port_is_free(HOST, port)
        with pytest.raises(Refused, match=f"port {port} of {HOST} is taken.*--metrics-port"):
            check_port(HOST, port, "--metrics-port")
    assert port_is_free(HOST, port)


def test_a_listener_that_shares_its_port_has_it_too() -> None:
    with socket.create_server((HOST, 0), reuse_port=True) as taken:
        assert not port_is_free(HOST, taken.getsockname()[1])


def test_connections_that_just_ended_leave_the_port_free() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((HOST, port)):
            accepted, _ = server.accept()
            accepted.close()  # this side first: it is the server's that lingers
    assert port_is_free(HOST, port)


def test_an_address_of_another_machine_names_the_flag() -> None:
    with pytest.raises(Refused, match=r"192\.0\.2\.1 cannot be listened on.*--host"):
        check_port("192.0.2.1", 50051, "--port")


def test_a_name_counts_by_the_addresses_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", (HOST, port))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [elsewhere, here])
        with pytest.raises(Refused, match="is taken"):
            check_port("a.name", port, "--port")
    check_port("a.name", port, "--port")


def test_a_name_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        Refused, match=r"no\.such\.name cannot be listened on: Name or service not known.*--host"
    ):
        check_port("no.such.name", 50051, "--port")


def test_a_port_for_the_privileged_is_told_apart() -> None:
    error = OSError(errno.EACCES, "Permission denied")
    assert "above 1023 with --port" in places._port_problem(HOST, 80, "--port", error)


def test_port_0_is_always_good() -> None:
    check_port("192.0.2.1", 0, "--port")


def test_free_ports_avoid_what_the_map_names() -> None:
    ports = {free_port(HOST, avoid=()) for _ in range(20)}
    assert free_port(HOST, avoid=ports) not in ports


def test_a_folder_that_takes_no_more_bytes_is_refused_by_name(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with (
            pytest.raises(Refused, match=rf"{tmp_path} cannot be used: File too large"),
            own_folder(tmp_path),
        ):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_on_a_full_disk_it_says_to_make_room(tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "node.conf"))
    assert unusable(tmp_path, error) == (
        f"the data folder {tmp_path} cannot be used: No space left on device ({tmp_path}/node.conf). "
        "Make room there, or name another with --data"
    )
