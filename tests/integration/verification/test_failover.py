"""`verify --forever` after the source has failed over, and after its log was reset."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from connector.cli.configuration import loaded
from connector.foundation.errors import SourceUnavailable
from local_stack import MysqlServer
from tests.foundation.errors.texts import shown
from tests.integration.database_stream import new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.harness import wait_until
from tests.integration.operation.test_metrics import free_port
from tests.integration.verification.pair import pair_of
from tests.integration.verification.test_forever import Verification, settings, through
from verification import verify_errors
from verification.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import KafkaBroker
    from tests.integration.database_stream import Stream
    from tests.integration.replication_pair import ReplicationPair

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]

# Without a change since its last comparison, and one with changes.
TABLES = ("quiet", "busy")


@pytest.fixture
def stream(pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Stream]:
    """Follow a new database on the first of two servers."""
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute(
        *(f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(9))" for name in TABLES),
        *(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')" for name in TABLES),
    )
    pair.wait_for_replica()
    yield stream
    end_topics(stream.broker, stream.prefix)


def equal(process: Verification, table: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until a table was equal so often; return the lines."""

    def lines() -> list[dict[str, Any]]:
        return [each for each in process.lines("equal") if each["cdc.table"].endswith(f".{table}")]

    wait_until(lambda: len(lines()) >= count, process.output)
    return lines()


def test_all_rows_are_compared_at_the_server_that_takes_the_place_of_the_source(
    pair: ReplicationPair, stream: Stream
) -> None:
    port, state = free_port(), stream.directory / "forever.state"
    there = replace(stream, source=pair.replica.endpoint)
    second = f"{pair.replica.endpoint.host}:{pair.replica.endpoint.port}"
    changed = settings(port, source__failover_hosts=[second])
    with pair_of(stream, **changed) as mirror:
        mirror.catch_up(4)
        # No log has it, so only rows of this server show it.
        drift = f"UPDATE {stream.database}.quiet SET v = 'other' WHERE id = 2"
        pair.on_replica("SET sql_log_bin = 0", drift)
        with Verification.of(mirror, port, "--state", str(state)) as process:
            for table in TABLES:
                equal(process, table)
            before = {table: through(process, table) for table in TABLES}
            pair.source.kill()
            pair.promote()
            there.execute("INSERT INTO busy VALUES (3, 'c')")
            mirror.catch_up(5)
            process.wait_for("another server is compared")
            (differs, *_) = process.wait_for_lines("row differs", 1)
            wait_until(lambda: through(process, "busy") > before["busy"], process.output)
            stays = through(process, "quiet")
            assert process.terminate() == 0
            process.log.unlink()
        # The file is that of the new server.
        with Verification.of(mirror, port, "--state", str(state)) as process:
            process.wait_for_lines("round ended", 1)
            assert process.terminate() == 0
        assert not process.lines("another server is compared")
    assert (differs["cdc.table"], differs["cdc.key"]) == (f"{stream.database}.quiet", {"id": 2})
    assert stays == before["quiet"]


def test_a_state_of_the_first_server_is_no_verdict_about_the_second(
    pair: ReplicationPair, stream: Stream
) -> None:
    port, state = free_port(), stream.directory / "forever.state"
    second = f"{pair.replica.endpoint.host}:{pair.replica.endpoint.port}"
    changed = settings(port, source__failover_hosts=[second])
    with pair_of(stream, **changed) as mirror:
        mirror.catch_up(4)
        with Verification.of(mirror, port, "--state", str(state)) as process:
            for table in TABLES:
                equal(process, table)
            assert process.terminate() == 0
            process.log.unlink()
        pair.source.kill()
        pair.promote()
        there = replace(stream, source=pair.replica.endpoint)
        there.execute("INSERT INTO busy VALUES (3, 'c')")
        mirror.catch_up(5)
        with Verification.of(mirror, port, "--state", str(state)) as process:
            process.wait_for("another server is compared")
            lines = [equal(process, table)[0] for table in TABLES]
            assert process.terminate() == 0
    # All of them, also where nothing has changed.
    assert [line["cdc.rows"] for line in lines] == [2, 3]


def test_a_comparison_that_began_before_says_that_the_pipeline_has_moved(
    pair: ReplicationPair, stream: Stream
) -> None:
    second = f"{pair.replica.endpoint.host}:{pair.replica.endpoint.port}"
    with pair_of(stream, source__failover_hosts=[second]) as mirror:
        mirror.catch_up(4)
        with Pipeline(loaded(mirror.connector.config), 200.0) as pipeline:
            pipeline.moment()
            pair.source.kill()
            pair.promote()
            there = replace(stream, source=pair.replica.endpoint)
            there.execute("INSERT INTO busy VALUES (3, 'c')")
            mirror.catch_up(5)
            with pytest.raises(SourceUnavailable) as raised:
                pipeline.moment()
    facts = {"pipeline": stream.prefix, "source": second}
    assert str(raised.value) == shown(verify_errors.MOVED, **facts)


def test_a_log_that_was_reset_is_named_with_what_is_lost(
    pair: ReplicationPair, stream: Stream
) -> None:
    port = free_port()
    with pair_of(stream, **settings(port)) as mirror:
        mirror.catch_up(4)
        with Verification.of(mirror, port) as process:
            equal(process, "quiet")
            pair.stop_replication()
            pair.on_source(pair.reset)
            process.wait_for("interrupted")
            wait_until(
                lambda: (
                    verify_errors.LOST.code
                    in {line["error.code"] for line in process.lines("interrupted")}
                ),
                process.output,
            )
            line = process.lines("interrupted")[-1]
            assert process.terminate() == 0
    assert "lacks what was there when tables were compared: " in line["error.message"]
    if isinstance(pair.source, MysqlServer):
        assert str(pair.source.endpoint.port) in line["error.message"]
