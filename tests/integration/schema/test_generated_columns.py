"""Generated columns of MariaDB: all records of a table have the same columns, in each release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests import forked_command
from tests.integration.harness import read_committed
from tests.integration.proof.delivered import proven, wait_until_delivered
from tests.rules.server_versions import server_version

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

PRICES = (
    "CREATE TABLE prices (id INT PRIMARY KEY, net INT, gross INT AS (net * 2) STORED, "
    "shown VARCHAR(9) AS (CONCAT(net, '$')) VIRTUAL, note TEXT)"
)


def leaves_out_generated(stream: Stream) -> bool:
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        ((version,),) = cursor.fetchall()
    return server_version(version).leaves_out_generated


def test_records_have_generated_columns_only_if_the_log_always_has_them(
    mariadb_stream: Stream,
) -> None:
    stream = mariadb_stream
    config = stream.config()
    with stream.connector() as connector:
        stream.execute(
            PRICES,
            "INSERT INTO prices (id, net) VALUES (1, 5), (2, 6), (3, 7)",
            "UPDATE prices SET net = 8 WHERE id = 1",
            "UPDATE prices SET id = 4 WHERE id = 2",
            "DELETE FROM prices WHERE id = 3",
        )
        wait_until_delivered(stream, config, connector)
        copied = forked_command.run("snapshot", str(config), f"{stream.database}.prices")
        assert copied.returncode == 0, copied.stderr
        stream.execute(
            "ALTER TABLE prices ADD COLUMN half INT AS (net / 2) STORED, ADD COLUMN vat INT",
            "INSERT INTO prices (id, net, vat) VALUES (9, 10, 1)",
            "UPDATE prices SET vat = 2 WHERE id = 9",
        )
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    assert proven(config).is_equal
    records = [each.value for each in read_committed(stream.broker, stream.prefix) if each.value]
    found = {tuple(row) for each in records for row in (each["before"], each["after"]) if row}
    plain, generated = ("id", "net", "note"), ("id", "net", "gross", "shown", "note")
    if leaves_out_generated(stream):
        assert found == {plain, (*plain, "vat")}
    else:
        assert found == {generated, (*generated, "half", "vat")}
    assert {each["op"] for each in records} >= {"c", "u", "d", "r"}
