"""A server that cannot be had or started says why, and what to do."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from connector.errors import LocalStackError
from local_stack import KafkaBroker, MariadbServer, MysqlServer
from local_stack.libraries import missing_libraries


@pytest.mark.server
def test_a_setting_that_the_server_does_not_know_shows_the_end_of_its_log(tmp_path: Path) -> None:
    server = MysqlServer(tmp_path, settings={"no_such_setting": "1"})
    with pytest.raises(LocalStackError) as caught:
        server.start()
    text = caught.value.text
    assert text.startswith(f"MySQL 8.0 ended while starting. The end of {tmp_path}/server.log:\n")
    assert "unknown variable 'no_such_setting=1'" in text


@pytest.mark.kafka
def test_a_broker_setting_of_no_meaning_shows_the_end_of_its_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, settings={"num.io.threads": "none"})
    with pytest.raises(LocalStackError) as caught:
        broker.start()
    text = caught.value.text
    assert text.startswith(
        f"Kafka 4.3.1 cannot format {tmp_path}/data. The end of {tmp_path}/server.log:\n"
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
        f"{program} is no program for this system: not a dynamic executable"
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
