"""`verify --topics` where the log does not name columns, which is the default of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.harness import wait_until
from tests.integration.proof.delivered import ORDERS, proven, wait_until_delivered
from tests.integration.proof.kept_topics import records_of, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.database_stream import Stream
    from tests.integration.proof.kept_topics import Records

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture
def unnamed(stream: Stream) -> Iterator[Stream]:
    """A stream whose log names no columns."""
    stream.execute("SET GLOBAL binlog_row_metadata = MINIMAL", ORDERS)
    yield stream
    stream.execute("SET GLOBAL binlog_row_metadata = FULL")


def test_rows_are_missing_unless_the_pipeline_has_dropped_them_and_copied_the_table(
    unnamed: Stream,
) -> None:
    stream, topic = unnamed, f"{unnamed.prefix}.{unnamed.database}.orders"
    config, connector = stream.config(), stream.connector()

    def is_copied() -> bool:
        records = records_of(stream.broker, topic)[0]
        return any(dict(record.headers)["cdc.op"] == b"r" for record in records)

    with connector:
        stream.execute(*(f"INSERT INTO orders VALUES ({number}, 'v')" for number in range(4)))
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    assert proven(config).is_equal
    stream.execute(
        "ALTER TABLE orders ADD COLUMN a INT",
        "INSERT INTO orders VALUES (10, 'v', 1)",
        "ALTER TABLE orders DROP COLUMN a",
    )
    with connector:
        wait_until_delivered(stream, config, connector)
        wait_until(is_copied, connector.output)
        stream.execute("INSERT INTO orders VALUES (20, 'v')")
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    outcome = proven(config)
    assert outcome.is_equal, outcome.examples
    assert outcome.others["columns unknown"] == 1
    lost = []

    def lose_the_second(records: Records) -> None:
        lost.append(dict(records[0].pop(1).headers)["cdc.seq"].decode())

    rewrite(stream.broker, topic, lose_the_second)
    outcome = proven(config)
    assert [(each.kind, each.seq) for each in outcome.examples] == [("missing", lost[0])]


def test_a_statement_without_rows_is_missing_unless_it_is_in_quarantine(stream: Stream) -> None:
    changed = {"quarantine__policy": "fence-table"}
    config, connector = stream.config(**changed), stream.connector(**changed)
    stream.execute(ORDERS, "INSERT INTO orders VALUES (1, 'v')")
    stream.execute("SET SESSION binlog_format = STATEMENT", "UPDATE orders SET v = 'w'")
    with connector:
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    outcome = proven(config)
    assert outcome.is_equal, outcome.examples
    assert outcome.others == {"logged as a statement": 1}
    rewrite(stream.broker, f"{stream.prefix}.quarantine", lambda records: records[0].clear())
    outcome = proven(config)
    assert [(each.kind, each.what) for each in outcome.examples] == [
        ("missing", "it is logged as a statement, and not in quarantine")
    ]
