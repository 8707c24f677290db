"""A server that cannot be had or started says why, and what to do."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from connector.errors import LocalStackError, local_stack
from local_stack import KafkaBroker, MariadbServer, MysqlServer
from local_stack.libraries import missing_libraries
from local_stack.managed_server import free_port


@pytest.mark.server
def test_a_setting_that_the_server_does_not_know_shows_the_end_of_its_log(tmp_path: Path) -> None:
    server = MysqlServer(tmp_path, settings={"no_such_setting": "1"})
    with pytest.raises(LocalStackError) as caught:
        server.start()
    text = caught.value.text
    assert text.startswith(
        f"MySQL 8.0 ended while starting; read the end of {tmp_path}/server.log:\n"
    )
    assert "unknown variable 'no_such_setting=1'" in text


@pytest.mark.kafka
def test_a_broker_setting_of_no_meaning_shows_the_end_of_its_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, settings={"num.io.threads": "none"})
    with pytest.raises(LocalStackError) as caught:
        broker.start()
    text = caught.value.text
    assert text.startswith(
        f"Kafka 4.3.1 cannot format {tmp_path}/data; read the end of {tmp_path}/server.log:\n"
    )
    assert "Invalid value none for configuration num.io.threads" in text


@pytest.mark.server
def test_a_port_that_was_taken_meanwhile_is_named(tmp_path: Path) -> None:
    server = MysqlServer(tmp_path)
    port = server.start().port
    server.stop()
    with socket.create_server(("127.0.0.1", port)), pytest.raises(LocalStackError) as caught:
        server.start()
    assert caught.value.text == (
        f"MySQL 8.0: port {port} was taken by another process; "
        f"end that one, or delete {tmp_path}/port for another port"
    )


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


@pytest.mark.server
def test_a_program_that_is_another_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, executable=Path("/bin/true")).start()
    assert caught.value.code is local_stack.NO_VERSION
    assert caught.value.text == (
        "/bin/true does not tell its version, it says ''; give the path of mysqld"
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


@pytest.mark.server
def test_a_data_directory_that_cannot_be_made_shows_the_end_of_the_log(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with pytest.raises(LocalStackError) as caught:
        mysql_server._installation.run(["--initialize-insecure", "--datadir=/proc/x"], log)
    assert caught.value.code is local_stack.NO_DATA
    assert caught.value.text.startswith(
        f"{mysql_server._installation.command[-1]} cannot make a data directory; read the end of "
        f"{log}:\n"
    )


@pytest.mark.server
def test_a_server_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_stack.managed_server.START_SECONDS", 0.0)
    server = MysqlServer(tmp_path)
    with pytest.raises(LocalStackError) as caught:
        server.start()
    assert caught.value.code is local_stack.NO_ANSWER
    port = caught.value.message.facts["port"]
    assert caught.value.text.startswith(
        f"MySQL 8.0 did not answer on port {port} within 0 seconds; read the end of "
        f"{tmp_path}/server.log:\n"
    )
    assert not server.directory.joinpath("port").exists()


def test_ports_that_are_all_taken_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("local_stack.managed_server.PORTS", range(port, port + 1))
        with pytest.raises(LocalStackError) as caught:
            free_port()
    assert caught.value.text == (
        f"no port of 127.0.0.1 between {port} and {port} is free; end a server"
    )


@pytest.mark.server
def test_ports_that_are_taken_just_before_the_server_has_them_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("local_stack.managed_server.free_port", lambda: port)
        with pytest.raises(LocalStackError) as caught:
            MysqlServer(tmp_path).start()
    assert caught.value.text == (
        "MySQL 8.0: other processes took 3 free ports before the server could; start it again"
    )


@pytest.mark.server
def test_libraries_that_the_machine_lacks_are_on_the_server_s_path(
    mysql_server: MysqlServer,
) -> None:
    installation = mysql_server._installation
    assert missing_libraries(Path(installation.command[0]), installation.library_path) == set()


def test_a_platform_without_private_servers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    with pytest.raises(LocalStackError) as caught:
        MariadbServer(tmp_path).start()
    assert caught.value.text == (
        "private servers are available for Linux on x86_64, this is Darwin on arm64; "
        "start Docker, or give the address of a server of your own"
    )


def test_what_needs_a_running_server_says_that_it_is_not(tmp_path: Path) -> None:
    server = MariadbServer(tmp_path)
    with pytest.raises(LocalStackError) as caught:
        _ = server.pid
    assert caught.value.text == (f"MariaDB 11.8 in {tmp_path} is not running; start it first")
    with pytest.raises(LocalStackError) as caught:
        _ = server.endpoint
    assert caught.value.text == (f"MariaDB 11.8 in {tmp_path} was not started yet; start it first")
