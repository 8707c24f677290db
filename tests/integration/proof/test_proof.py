"""`verify --topics` on real servers: nothing is found where nothing is wrong, and what is wrong."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests import forked_command
from tests.integration.proof.delivered import (
    LINES,
    NO_KEY,
    ORDERS,
    proven,
    verify,
    wait_until_delivered,
    write_some,
)
from tests.integration.proof.kept_topics import (
    compact,
    delete_before,
    produce,
    records_of,
    rewrite,
)
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.proof.delivered import Delivered
    from tests.integration.proof.kept_topics import Records
    from verification.topics.outcome import Outcome

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]


def story(stream: Stream, **changed: object) -> Path:
    """Deliver a stream with DDL, a copy, a kill and a restart, and return its configuration."""
    config = stream.config(kafka__partitions=3, **changed)
    connector = stream.connector(kafka__partitions=3, **changed)
    stream.execute(ORDERS, LINES, NO_KEY)
    with connector:
        writing = threading.Thread(target=write_some, args=(stream, 1, 40))
        writing.start()
        stream.wait_for_changes(60, connector)
        # The pipeline goes on meanwhile.
        assert proven(config).is_equal
        connector.kill()
        writing.join()
    with connector:
        wait_until_delivered(stream, config, connector)
        copied = forked_command.run("snapshot", str(config), f"{stream.database}.orders")
        assert copied.returncode == 0, copied.stderr
        stream.execute(
            "ALTER TABLE orders ADD COLUMN extra INT NOT NULL DEFAULT 7",
            "INSERT INTO orders VALUES (900, 'x', 8)",
            "TRUNCATE TABLE log_lines",
            "INSERT INTO log_lines VALUES ('again')",
            "DROP TABLE log_lines",
        )
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    with connector:
        stream.execute("UPDATE orders SET v = 'late' WHERE id < 10")
        wait_until_delivered(stream, config, connector)
        assert connector.terminate() == 0
    return config


def test_a_stream_with_copies_ddl_kills_and_restarts_is_equal(either_stream: Stream) -> None:
    config = story(either_stream, delivery__transaction_records=True)
    code, output = verify(config, "--json")
    assert code == 0, output
    report = json.loads(output)
    assert (report["equal"], report["differences"]) == (True, {})
    assert report["records"]["expected"] == report["records"]["found"] > 40 * 14
    assert set(report["others"]) == {"copied"}


_SCHEMAS = {"key_format": "json_with_schema", "value_format": "json_with_schema"}


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(_SCHEMAS, marks=full_only),
        pytest.param(
            {"shape": "flat", "flat_fields": ["op", "ts_ms", "source.version"]}, marks=full_only
        ),
        {**_SCHEMAS, "shape": "flat", "flat_deletes": "rewrite-with-tombstone"},
    ],
    ids=["schemas", "flat", "flat-schemas"],
)
def test_records_of_each_form_are_equal(stream: Stream, form: dict[str, object]) -> None:
    envelope = {f"envelope__{key}": value for key, value in form.items()}
    config = story(stream, envelope__profile="debezium", **envelope)
    code, output = verify(config, "--json")
    assert code == 0, output
    report = json.loads(output)
    assert (report["equal"], report["differences"]) == (True, {})
    assert set(report["others"]) == {"copied"}


def sequence_of(record: Any) -> str:
    """Return the header cdc.seq."""
    return str(dict(record.headers)["cdc.seq"], "ascii")


def examples_of(outcome: Outcome, topic: str) -> dict[str, list[str]]:
    """Return the sequences of the differences in a topic, by their kinds."""
    found: dict[str, list[str]] = {}
    for example in outcome.examples:
        if example.topic == topic:
            found.setdefault(example.kind, []).append(example.seq)
    return found


def test_a_record_that_is_missing_repeated_moved_or_changed_is_found(
    delivered: Delivered,
) -> None:
    stream, config = delivered.stream, delivered.config
    topic = f"{stream.prefix}.{stream.database}.orders"
    assert not proven(config).topics[topic].differences
    made: dict[str, list[str]] = {}

    def damage(records: Records) -> None:
        most, other = sorted(records, key=lambda number: len(records[number]))[:0:-1]
        damaged = records[most]
        # From the end, so that earlier numbers stay.
        made["repeated"] = [sequence_of(damaged[20])]
        damaged.insert(21, damaged[20])
        made["out of order"] = [sequence_of(damaged[14])]
        damaged[14], damaged[15] = damaged[15], damaged[14]
        made["missing"] = [sequence_of(damaged.pop(11))]
        moved = damaged.pop(7)
        made["wrong partition"] = [sequence_of(moved)]
        at = [sequence_of(record) > sequence_of(moved) for record in records[other]].index(True)
        records[other].insert(at, moved)
        changed = damaged[3]
        made["different"] = [sequence_of(changed)]
        damaged[3] = changed._replace(value=changed.value.replace(b'"v":"', b'"v":"V'))

    rewrite(stream.broker, topic, damage)
    code, output = verify(config, "--json")
    assert code == 4, output
    report = json.loads(output)
    assert not report["equal"]
    assert report["topics"][topic]["differences"] == dict.fromkeys(made, 1)
    found = [each for each in report["examples"] if each["topic"] == topic]
    assert {each["kind"]: [each["seq"]] for each in found} == made


def test_a_record_that_a_foreign_producer_repeats_at_the_end_is_found(
    delivered: Delivered,
) -> None:
    stream, config = delivered.stream, delivered.config
    topic = f"{stream.prefix}.{stream.database}.order_lines"
    records = records_of(stream.broker, topic)
    number = next(number for number, found in records.items() if found)
    again = records[number][0]
    produce(stream.broker, topic, {number: [again]})
    code, output = verify(config)
    assert code == 4
    (said,) = [line for line in output.splitlines() if line.startswith(f"repeated: {topic}[")]
    where, sequence, transaction = said.removeprefix("repeated: ").split(", ")
    assert where.startswith(f"{topic}[{number}]@")
    assert sequence == f"cdc.seq {sequence_of(again)}"
    assert transaction == f"transaction {dict(again.headers)['cdc.txn'].decode()}"


def test_a_statement_with_another_text_is_found(delivered: Delivered) -> None:
    stream, config = delivered.stream, delivered.config
    changed: list[str] = []

    def replace(records: Records) -> None:
        (at,) = [n for n, record in enumerate(records[0]) if b"CREATE TABLE notes" in record.value]
        record = records[0][at]
        changed.append(sequence_of(record))
        value = record.value.replace(b"t TEXT", b"t BLOB")
        records[0][at] = record._replace(value=value)

    rewrite(stream.broker, stream.prefix, replace)
    assert examples_of(proven(config), stream.prefix) == {"different": changed}


def test_half_a_transaction_is_found_by_its_rows_and_by_its_records(
    delivered: Delivered,
) -> None:
    stream, config = delivered.stream, delivered.config
    topic = f"{stream.prefix}.{stream.database}.halves"
    wanted = dict(records_of(stream.broker, topic)[0][0].headers)["cdc.txn"]
    missing: list[str] = []

    def halve(records: Records) -> None:
        missing.extend(
            sequence_of(records[0].pop(at))
            for at in reversed(range(len(records[0])))
            if dict(records[0][at].headers)["cdc.txn"] == wanted
        )

    def without_end(records: Records) -> None:
        records[0] = [
            record
            for record in records[0]
            if wanted not in record.key or b'"END"' not in record.value
        ]

    rewrite(stream.broker, topic, halve)
    rewrite(stream.broker, f"{stream.prefix}.transaction", without_end)
    outcome = proven(config)
    assert examples_of(outcome, topic) == {"missing": sorted(missing)}
    (end,) = [each for each in outcome.examples if each.kind == "transaction record"]
    assert (end.transaction, end.what) == (wanted.decode(), "END is missing before this offset")


def test_records_that_retention_has_deleted_are_said_to_be_unproven(
    delivered: Delivered,
) -> None:
    stream, config = delivered.stream, delivered.config
    topic = f"{stream.prefix}.{stream.database}.log_lines"
    records = records_of(stream.broker, topic)[0]
    delete_before(stream.broker, topic, 0, records[5].offset)
    counts = proven(config).topics[topic]
    since = sequence_of(records[5])
    assert not counts.differences
    assert (counts.expected, counts.found) == (20, 15)
    assert counts.others == {"expired": 5}
    assert counts.kept_since == {0: since}
    _, output = verify(config)
    assert f"{topic}[0] has lost older records: proven from {since} on" in output.splitlines()


def test_a_compacted_topic_proves_less(delivered: Delivered) -> None:
    stream, config = delivered.stream, delivered.config
    topic = f"{stream.prefix}.{stream.database}.notes"

    def lose_the_second(records: Records) -> None:
        del max(records.values(), key=len)[1]

    rewrite(stream.broker, topic, lose_the_second)
    assert list(examples_of(proven(config), topic)) == ["missing"]
    compact(stream.broker, topic)
    counts = proven(config).topics[topic]
    assert not counts.differences
    assert counts.others == {"maybe compacted": 1}
    assert counts.found == counts.expected - 1
