"""The user's choice of a source becomes a server of the right kind, or a clear refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack import (
    Endpoint,
    ExternalServer,
    MariadbServer,
    MysqlServer,
    SourceChoice,
    source_server,
    stack_errors,
)
from local_stack.server import free_port
from local_stack.source import parse_address
from local_stack.stack_errors import LocalStackError


def test_the_default_is_a_private_mysql(tmp_path: Path) -> None:
    server = source_server(SourceChoice(), tmp_path)
    assert isinstance(server, MysqlServer)
    assert server.name == "MySQL 8.0"


def test_a_private_mariadb_can_be_chosen(tmp_path: Path) -> None:
    server = source_server(SourceChoice("mariadb"), tmp_path)
    assert isinstance(server, MariadbServer)
    assert server.name == "MariaDB 11.8"


def test_a_server_that_does_not_answer_is_said() -> None:
    port = free_port()
    with pytest.raises(LocalStackError) as caught:
        ExternalServer(Endpoint("127.0.0.1", port, "root")).start()
    assert caught.value.text == (
        f"127.0.0.1:{port}: cannot log in as 'root': Can't connect to MySQL server on '127.0.0.1' "
        "([Errno 111] Connection refused); check that the server runs, the address and the "
        "password (BINLOG_CONNECTOR_SOURCE__PASSWORD)"
    )


def test_a_server_of_the_user_is_not_killed_nor_restarted() -> None:
    server = ExternalServer(Endpoint("db.example", 3306, "root"))
    for refused, code in (
        (server.kill, stack_errors.OWN_KILL),
        (server.restart, stack_errors.OWN_RESTART),
        (lambda: server.pid, stack_errors.OWN_PID),
    ):
        with pytest.raises(LocalStackError) as caught:
            refused()
        assert caught.value.code is code
        assert caught.value.text.startswith("db.example:3306 is a server of your own and ")
        assert caught.value.text.endswith("; use a private server for that")


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        ("db.example", Endpoint("db.example", 3306, "root", "from-environment")),
        ("db.example:3307", Endpoint("db.example", 3307, "root", "from-environment")),
        ("cdc@db.example", Endpoint("db.example", 3306, "cdc", "from-environment")),
        ("cdc:@db.example", Endpoint("db.example", 3306, "cdc", "")),
        ("cdc:p%40ss%3A@10.0.0.1:3307", Endpoint("10.0.0.1", 3307, "cdc", "p@ss:")),
        ("cdc:s@[::1]:3307", Endpoint("::1", 3307, "cdc", "s")),
    ],
)
def test_an_address_is_read(address: str, endpoint: Endpoint) -> None:
    environment = {"BINLOG_CONNECTOR_SOURCE__PASSWORD": "from-environment"}
    assert parse_address(address, environment) == endpoint


@pytest.mark.parametrize("address", ["", "root:secret@", "db:port", "db:70000", "db/shop", "[::1"])
def test_what_is_no_address_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(LocalStackError) as caught:
        parse_address(address)
    assert caught.value.text == (
        "the address of the server is not of the form [USER[:PASSWORD]@]HOST[:PORT]; write it as "
        "cdc@db.example:3306; % stands before the code of a special character, as in %40"
    )


def test_an_endpoint_does_not_show_its_password() -> None:
    assert repr(Endpoint("db", 1, "cdc", "secret")) == "Endpoint(host='db', port=1, user='cdc')"


def test_two_choices_at_once_are_refused(tmp_path: Path) -> None:
    choice = SourceChoice(executable=Path("/usr/sbin/mysqld"), address="db.example")
    with pytest.raises(LocalStackError) as caught:
        source_server(choice, tmp_path)
    assert caught.value.text == (
        "the path of a mysqld, the address of a server and a container exclude each other; choose "
        "one of them"
    )


def test_a_mysqld_as_a_mariadb_is_refused(tmp_path: Path) -> None:
    choice = SourceChoice("mariadb", executable=Path("/usr/sbin/mysqld"))
    with pytest.raises(LocalStackError) as caught:
        source_server(choice, tmp_path)
    assert caught.value.text == (
        "the path of a mysqld serves MySQL, but the source is mariadb; choose mysql as the source, "
        "or leave the path out"
    )


def test_a_container_without_an_engine_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with pytest.raises(LocalStackError) as caught:
        source_server(SourceChoice(container=True), tmp_path).start()
    assert caught.value.code is stack_errors.NO_ENGINE
    text = caught.value.text
    assert text.startswith("no Docker engine answers: ")
    assert text.endswith(
        "; start Docker, or use a private server or the address of a server of your own"
    )
