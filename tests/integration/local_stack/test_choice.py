"""The user's own program or server becomes the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack import (
    Endpoint,
    ExternalServer,
    MysqlServer,
    SourceChoice,
    connect,
    source_server,
)
from local_stack.stack_errors import LocalStackError

pytestmark = pytest.mark.server


def test_a_mysqld_of_the_user_is_started_as_a_source(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    executable = Path(mysql_server._installation.command[0])
    with source_server(SourceChoice(executable=executable), tmp_path) as server:
        assert isinstance(server, MysqlServer)
        assert server.version == mysql_server.version
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@binlog_row_metadata, @@gtid_mode")
            assert cursor.fetchone() == ("FULL", "ON")


def test_a_running_server_is_used_by_its_address(mysql_server: MysqlServer, tmp_path: Path) -> None:
    endpoint = mysql_server.endpoint
    address = f"{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}"
    with source_server(SourceChoice(address=address), tmp_path) as server:
        assert server.endpoint == endpoint
    # It was not ours to stop.
    connect(endpoint).close()


def test_a_wrong_password_of_a_running_server_is_said(mysql_server: MysqlServer) -> None:
    endpoint = mysql_server.endpoint
    with pytest.raises(LocalStackError) as caught:
        ExternalServer(Endpoint(endpoint.host, endpoint.port, "root", "wrong")).start()
    assert caught.value.text == (
        f"127.0.0.1:{endpoint.port}: cannot log in as 'root': "
        "Access denied for user 'root'@'127.0.0.1' (using password: YES); check that the server "
        "runs, the address and the password (BINLOG_CONNECTOR_SOURCE__PASSWORD)"
    )
