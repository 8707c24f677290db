"""A mirror that lags is not waited for: the topic says that it was equal, and through when."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.configuration import load_settings
from local_stack import MariadbServer
from tests.foundation.errors.texts import shown
from tests.integration.database_stream import new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.verification.pair import pair_of
from tests.length import full_only
from verification import verify_errors
from verification.pipeline import Pipeline
from verification.run import job_settings
from verification.table_check import Limits
from verification.table_comparison import TableComparison

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from local_stack import KafkaBroker
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row
    from verification.report import TableResult

pytestmark = pytest.mark.kafka

CHANGES = (
    "UPDATE t SET v = v + 1 WHERE id < 3",
    "UPDATE t SET v = 9 WHERE id = 1",
    "DELETE FROM t WHERE id = 4",
    "INSERT INTO t VALUES (7, 7)",
    "UPDATE t SET id = 8 WHERE id = 5",
)


@contextmanager
def comparing(pair: Pair) -> Iterator[tuple[Pipeline, Callable[[], TableResult]]]:
    """Yield a pipeline, and what compares the table row by row."""
    settings = load_settings(pair.connector.config)
    job = job_settings(settings, pair.job_config)
    name = pair.stream.database, "t"
    with Pipeline(settings, 30.0) as pipeline:
        comparison = TableComparison(
            pipeline, job, None, Limits(patience_seconds=1.0), lambda *_: None
        )
        yield pipeline, lambda: comparison.compared(name, None, "rows")


def test_a_mirror_that_lags_is_equal_through_the_last_moment_that_it_has(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    stream.execute("INSERT INTO t VALUES (2,2), (3,3), (4,4), (5,5), (6,6)")

    def wrong(rows: list[Row]) -> list[Row]:
        return [row | ({"v": 100} if row["id"] == 1 else {}) for row in rows]

    with pair_of(stream) as pair:
        pair.catch_up(6)
        with comparing(pair) as (pipeline, compare):
            first = pipeline.moment()
            assert compare().equal_through is not None
            last = pipeline.moment()
            stream.execute(*CHANGES)
            equal = compare()
            pair.damage("t", wrong)
            lagging = compare()
            pair.apply()
            healed = compare()
    assert (equal.verdict, equal.rows, equal.mirror_rows) == ("equal", 6, 6)
    assert equal.equal_through == last
    assert first < last
    # A row that the topic does not know is waited for: the next change may replace it.
    late = shown(verify_errors.MIRROR_LAGS, table=f"{stream.database}.t", seconds=1.0)
    assert (lagging.verdict, str(lagging.error)) == ("not finished", late)
    assert healed.verdict == "equal"
    assert healed.equal_through is not None
    assert healed.equal_through > last


def test_a_mirror_that_lags_since_before_the_first_moment_is_waited_for(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    with pair_of(stream) as pair:
        pair.catch_up(1)
        stream.execute("UPDATE t SET v = 2")
        with comparing(pair) as (_, compare):
            lagging = compare()
    late = shown(verify_errors.MIRROR_LAGS, table=f"{stream.database}.t", seconds=1.0)
    assert (lagging.verdict, str(lagging.error)) == ("not finished", late)


@full_only
def test_numbers_of_two_servers_in_a_domain_of_mariadb_do_not_say_what_was_delivered(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    loose = {"gtid_strict_mode": "OFF"}
    with MariadbServer(tmp_path / "mariadb", settings=loose) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        # As if two other servers had written them.
        stream.execute("SET server_id = 91, gtid_seq_no = 1001", "INSERT INTO t VALUES (1)")
        with pair_of(stream) as pair:
            pair.catch_up(1)
            pair.connector.kill()
            stream.execute("SET server_id = 92, gtid_seq_no = 991", "INSERT INTO t VALUES (2)")
            code, report = pair.report("--patience", "2")
            (table,) = report["tables"]
            assert (code, table["verdict"]) == (1, "not finished"), table
            facts = {"pipeline": stream.prefix, "table": f"{stream.database}.t", "seconds": 2.0}
            assert table["error"] == shown(verify_errors.CONNECTOR_LAGS, **facts)
            pair.connector.start()
            pair.catch_up(2)
            assert pair.verify().returncode == 0
    end_topics(stream.broker, stream.prefix)
