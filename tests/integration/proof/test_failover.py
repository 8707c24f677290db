"""`verify --topics` after a failover: each epoch is proven against the log of its own server."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceRefused
from tests.foundation.errors.texts import shown
from tests.integration.database_stream import Stream, new_stream
from tests.integration.harness import wait_until_settled
from tests.integration.proof.delivered import proven, verify
from tests.integration.proof.kept_topics import rewrite
from tests.length import full_only
from verification import verify_errors

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.proof.kept_topics import Records
    from tests.integration.replication_pair import ReplicationPair

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB"


def address(server: Server) -> str:
    return f"{server.endpoint.host}:{server.endpoint.port}"


def insert(stream: Stream, first: int, count: int) -> None:
    stream.execute(
        *(f"INSERT INTO t VALUES ({number}, 'x')" for number in range(first, first + count))
    )


def failed_over(pair: ReplicationPair, stream: Stream) -> tuple[Path, str, str]:
    """Deliver rows of both servers; return the configuration, and the GTIDs in each of the two."""
    stream.execute(TABLE)
    insert(stream, 0, 5)
    first = str(pair.gtids(pair.source))
    insert(stream, 5, 5)
    pair.wait_for_replica()
    settings: dict[str, object] = {
        "source__failover_hosts": [address(pair.replica)],
        "delivery__transaction_records": True,
    }
    there = Stream(
        pair.replica.endpoint,
        stream.broker,
        stream.directory,
        stream.database,
        stream.prefix,
        stream.start,
    )
    with stream.connector(**settings) as connector:
        stream.wait_for_changes(10, connector)
        pair.source.kill()
        pair.promote()
        insert(there, 10, 5)
        there.wait_for_changes(15, connector)
        second = str(pair.gtids(pair.replica))
        insert(there, 15, 5)
        there.wait_for_changes(20, connector)
        assert connector.terminate() == 0
    wait_until_settled(stream.broker, stream.prefix)
    return stream.config(**settings), first, second


def purge(pair: ReplicationPair) -> None:
    """Let the first server lose all but a new file of its log."""
    logs = pair.on_source("FLUSH BINARY LOGS", "SHOW BINARY LOGS")
    pair.on_source(f"PURGE BINARY LOGS TO '{logs[-1][0]}'")


def without_two(records: Records) -> None:
    """Drop a record of each epoch."""
    wanted = {b'{"id":3}', b'{"id":13}'}
    for number, found in records.items():
        records[number] = [record for record in found if record.key not in wanted]


@full_only
def test_both_parts_of_a_stream_are_proven_and_what_cannot_be_proven_is_said(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    with ExitStack() as running:
        stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
        config, first, second = failed_over(pair, stream)
        code, output = verify(config)
        assert code == 0, output
        old, new = f"epoch 1 ({address(pair.source)})", f"epoch 2 ({address(pair.replica)})"
        assert f"{old} not proven: [" in output
        assert f"{new} from " in output
        assert output.splitlines()[-1] == "equal"
        code, output = verify(config, "--from", first)
        assert code == 3, output
        assert output.splitlines()[-1] == "equal, but a part of the range is not proven"

        pair.source.start()
        running.callback(pair.source.stop)
        code, output = verify(config, "--json")
        assert code == 0, output
        report = json.loads(output)
        assert [(e["epoch"], e["source"], e["unproven"]) for e in report["epochs"]] == [
            (1, address(pair.source), ""),
            (2, address(pair.replica), ""),
        ]
        assert [e["transactions"] for e in report["epochs"]][1] == 10
        assert (report["differences"], report["others"]) == ({}, {})

        outcome = proven(config, first, second)
        assert outcome.is_equal, outcome.examples
        assert [epoch.transactions for epoch in outcome.epochs] == [5, 5]
        topic = f"{stream.prefix}.{stream.database}.t"
        assert outcome.topics[topic].found == 10

        rewrite(stream.broker, topic, without_two)
        outcome = proven(config)
        missing = [each.seq[:4] for each in outcome.examples if each.kind == "missing"]
        assert missing == ["0001", "0002"]
        assert dict(outcome.differences) == {"missing": 2}

        purge(pair)
        outcome = proven(config)
        ((logs, _, *_),) = pair.on_source("SHOW BINARY LOGS")
        why = outcome.epochs[0].unproven
        assert why == str(
            SourceRefused(
                verify_errors.LOG_GONE,
                source=address(pair.source),
                first=logs,
                file=report["epochs"][0]["to"]["file"],
            )
        )
        assert dict(outcome.differences) == {"missing": 1}


@full_only
def test_an_epoch_of_which_no_progress_is_left_is_said_to_be_unproven(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    config, _, _ = failed_over(pair, stream)

    def keep_the_newest(records: Records) -> None:
        records[0] = records[0][-1:]

    rewrite(stream.broker, f"{stream.prefix}.progress", keep_the_newest)
    outcome = proven(config)
    old, new = outcome.epochs
    assert (old.number, old.unproven) == (1, shown(verify_errors.TOPICS_NO_PROGRESS, epoch=1))
    assert (new.number, new.unproven, new.transactions) == (2, "", 10)
    assert (outcome.is_equal, outcome.has_gap) == (True, False)
