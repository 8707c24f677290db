"""A server that cannot be had or started says why, and what to do."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import pytest

from local_stack import MariadbServer, MysqlServer
from local_stack.server import free_port
from local_stack.stack_errors import LocalStackError


def test_a_version_that_nobody_carries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, version="8.4").start()
    assert caught.value.text == (
        "there is no MySQL 8.4 for the local stack; choose one of 5.7, 8.0, 8.0.15, 9, "
        "or give the address of a server of your own"
    )


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, executable=tmp_path / "mysqld").start()
    assert caught.value.text == (
        f"{tmp_path}/mysqld: there is no program; give the path of mysqld itself"
    )


def test_a_program_that_is_no_server_is_named(tmp_path: Path) -> None:
    program = tmp_path / "mysqld"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, executable=program).start()
    assert caught.value.text == (
        f"{program} is no program for this system: not a dynamic executable; give the path of a "
        "mysqld that is built for this system"
    )


def test_a_program_cannot_be_looked_at_without_ldd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, executable=Path("/bin/true")).start()
    assert caught.value.text == (
        "the libraries of /bin/true cannot be checked without ldd; install libc-bin"
    )


def test_a_library_that_nobody_has_is_named(tmp_path: Path) -> None:
    program = tmp_path / "mysqld"
    # As long as the name of the C library, which a program needs in any case.
    program.write_bytes(Path("/bin/true").read_bytes().replace(b"libc.so.6", b"libx.so.6"))
    program.chmod(0o755)
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, executable=program).start()
    assert caught.value.text == (
        f"{program} needs libx.so.6, which this system lacks; install the package that has it "
        "(apt-get install libaio1 libnuma1, or libaio1t64 libnuma1; dnf install libaio "
        "numactl-libs)"
    )


def test_ports_that_are_all_taken_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("local_stack.server.PORTS", range(port, port + 1))
        with pytest.raises(LocalStackError) as caught:
            free_port()
    assert caught.value.text == (
        f"no port of 127.0.0.1 between {port} and {port} is free; end a server"
    )


def test_workers_with_one_seed_choose_different_ports() -> None:
    chosen = []
    for _ in range(2):
        random.seed(7)
        chosen.append([free_port() for _ in range(3)])

    assert chosen[0] != chosen[1]


def test_a_platform_without_private_servers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    with pytest.raises(LocalStackError) as caught:
        MariadbServer(tmp_path).start()
    assert caught.value.text == (
        "private servers are available for Linux on x86_64, this is Darwin on arm64; "
        "start Docker and use `--container`, or give the address of a server of your own"
    )


def test_what_needs_a_running_server_says_that_it_is_not(tmp_path: Path) -> None:
    server = MariadbServer(tmp_path)
    with pytest.raises(LocalStackError) as caught:
        _ = server.pid
    assert caught.value.text == (f"MariaDB 11.8 in {tmp_path} is not running; start it first")
    with pytest.raises(LocalStackError) as caught:
        _ = server.endpoint
    assert caught.value.text == (f"MariaDB 11.8 in {tmp_path} was not started yet; start it first")
