"""A stream that the tests of a module share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests.integration.database_stream import new_stream
from tests.integration.proof.delivered import (
    HALVES,
    LINES,
    NO_KEY,
    NOTES,
    ORDERS,
    Delivered,
    log_end,
    wait_until_delivered,
    write_some,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import KafkaBroker, MysqlServer
    from tests.integration.database_stream import Stream


@pytest.fixture(scope="module")
def delivered(
    mysql_server: MysqlServer, kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Delivered]:
    """Each test damages a topic of its own."""
    directory = tmp_path_factory.mktemp("proof")
    stream = new_stream(mysql_server.endpoint, kafka_broker.endpoint, directory)
    changed = {"kafka__partitions": 3, "delivery__transaction_records": True}
    config = stream.config(**changed)
    stream.execute(ORDERS, LINES, NO_KEY, HALVES, NOTES)
    write_some(stream, 1, 20)
    stream.execute(
        *(f"REPLACE INTO notes VALUES ({number % 2}, 'x{number}')" for number in range(6))
    )
    marks = [_mark(stream)]
    for number in range(5):
        stream.transaction(*(f"INSERT INTO halves VALUES ({number}, {row})" for row in range(6)))
        marks.append(_mark(stream))
    with stream.connector(**changed) as connector:
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    yield Delivered(stream, config, marks)
    stream.execute(f"DROP DATABASE {stream.database}")


def _mark(stream: Stream) -> tuple[str, str]:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@gtid_executed")
        ((gtids,),) = cursor.fetchall()
    file, position = log_end(stream)
    return f"{file}:{position}", str(gtids).replace("\n", "")
