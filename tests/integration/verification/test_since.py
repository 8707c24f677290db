"""`verify --since`: what has changed since a cut, at the source or in the mirror, is compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from connector.cli.configuration import loaded
from connector.foundation.contract import row_topic
from connector.kafka.kafka_python import network_client
from connector.stream.snapshot import copy_errors
from stream_jobs.cuts import Cut, cut_errors, latest_cut
from stream_jobs.delta.storages import storage_of
from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until
from tests.integration.verification.pair import pair_of
from tests.length import full_only
from verification import verify_errors
from verification.cut_facts import CutSummary
from verification.pipeline import Pipeline

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row

pytestmark = pytest.mark.kafka


def newest_cut(pair: Pair) -> Cut:
    cut = latest_cut(storage_of(str(pair.stream.directory / "mirror")))
    assert cut is not None
    return cut


def with_value(key: object, value: int) -> Any:
    """Return what sets the value of a row."""

    def change(rows: list[Row]) -> list[Row]:
        return [row | {"v": value} if row["id"] == key else row for row in rows]

    return change


def since(pair: Pair, cut: str, table: str) -> dict[str, Any]:
    """Compare a table since a cut; return its part of the report."""
    (found,) = pair.report("--since", cut, f"{pair.stream.database}.{table}")[1]["tables"]
    return dict(found)


def test_only_keys_that_have_changed_since_a_cut_are_compared(either_stream: Stream) -> None:
    stream = either_stream
    rows = ",".join(f"({number}, 0)" for number in range(100))
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE texts (id VARCHAR(9) PRIMARY KEY, v INT)",
        f"INSERT INTO t VALUES {rows}",
        "INSERT INTO texts VALUES ('a', 1), ('b', 2)",
    )
    with pair_of(stream) as pair:
        pair.catch_up(102)
        # What was wrong before the cut is not looked for.
        pair.damage("t", with_value(50, 7))
        stream.execute("INSERT INTO t VALUES (500, 0)")
        pair.catch_up(103)
        cut = newest_cut(pair)
        quiet = since(pair, str(cut.number), "t")
        stream.execute(
            "UPDATE t SET v = 1 WHERE id = 1",
            "UPDATE t SET v = 1 WHERE id = 2",
            "DELETE FROM t WHERE id = 3",
            "INSERT INTO t VALUES (501, 0)",
            "UPDATE texts SET v = 3 WHERE id = 'a'",
        )
        pair.catch_up(108)
        pair.damage("t", with_value(2, 0))
        pair.damage("t", with_value(60, 8))
        pair.damage("texts", with_value("b", 5))
        found = since(pair, str(cut.number), "t")
        texts = since(pair, str(cut.number), "texts")
        assert cut.source_time_ms is not None
        names = [cut.gtid or cut.position, cut.position, "2100-01-01"]
        others = [since(pair, name, "t")["compared_since"]["keys"] for name in names]
        said = pair.verify("--since", str(cut.number), f"{stream.database}.t")
        whole = pair.report(f"{stream.database}.t")[1]["tables"][0]
    assert (quiet["verdict"], quiet["rows"]) == ("equal", 0)
    facts = CutSummary.of(cut)
    assert quiet["compared_since"] == facts.to_json() | {"keys": 0, "all_rows_because": None}
    keys = {each["key"]["id"]: each["since"]["cut"] for each in found["differences"]}
    # Both were written by hand, into versions that no cut has.
    assert keys == {2: None, 60: None}
    assert (found["rows"], found["compared_since"]["keys"]) == (5, 5)
    assert [each["key"]["id"] for each in texts["differences"]] == ["b"]
    assert texts["rows"] == 2
    assert others == [5, 5, 2]
    assert said.returncode == 4
    assert f"  keys that have changed since {facts}: 5" in said.stdout.splitlines()
    wrong = {each["key"]["id"]: each["since"] for each in whole["differences"]}
    assert wrong.keys() == {2, 50, 60}
    # The damage is a version that no cut names; the cut after it is the first one that has it.
    assert (wrong[50]["cut"], wrong[50]["or_earlier"]) == (cut.number, False)
    assert wrong[50]["version"] == wrong[50]["cut_version"] - 1


@full_only
def test_a_table_that_cannot_be_told_from_its_changes_is_compared_as_a_whole(
    stream: Stream,
) -> None:
    stream.execute(
        "CREATE TABLE emptied (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE rekeyed (id INT PRIMARY KEY, v INT)",
        "INSERT INTO emptied VALUES (1, 1), (2, 2)",
        "INSERT INTO rekeyed VALUES (1, 1), (2, 2)",
        "CREATE TABLE many (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO many VALUES {','.join(f'({number}, 0)' for number in range(1001))}",
    )
    with pair_of(stream) as pair:
        pair.catch_up(4 + 1001)
        cut = newest_cut(pair)
        stream.execute(
            "TRUNCATE emptied",
            "INSERT INTO emptied VALUES (3, 3)",
            "CREATE TABLE later (id INT PRIMARY KEY)",
            "INSERT INTO later VALUES (1), (2)",
            "ALTER TABLE rekeyed ADD part INT NOT NULL DEFAULT 0, DROP PRIMARY KEY, "
            "ADD PRIMARY KEY (id, part)",
            "INSERT INTO rekeyed VALUES (3, 3, 3)",
            "UPDATE many SET v = v + 1",
        )
        wait_for_all(pair)
        code, report = pair.report("--since", str(cut.number))
        said = pair.verify("--since", str(cut.number), f"{stream.database}.emptied")
    found = {
        table["table"].removeprefix(f"{stream.database}."): (
            table["verdict"],
            table["rows"],
            table["compared_since"]["all_rows_because"],
        )
        for table in report["tables"]
    }
    assert code == 0
    assert found["emptied"] == ("equal", 1, "the table was emptied or copied since then")
    assert found["later"] == ("equal", 2, "the cut does not have the table as it is now")
    assert found["many"] == ("equal", 1001, "many keys have changed since then")
    assert found["rekeyed"][:2] == ("equal", 3)
    assert found["rekeyed"][2] in {
        "the table has got another key since then",
        "the table was emptied or copied since then",
    }
    assert said.stdout.splitlines()[1] == (
        f"  all rows, not only changes since {CutSummary.of(cut)}: "
        "the table was emptied or copied since then"
    )


def wait_for_all(pair: Pair) -> None:
    """Bring all changes into the mirror, however many there are."""
    done = pair.verify("--patience", "0")
    while done.returncode:
        pair.apply()
        done = pair.verify("--patience", "0")


def test_what_is_not_there_any_more_is_an_error_with_a_way_out(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    table, mirror = f"{stream.database}.t", stream.directory / "mirror"
    with pair_of(stream) as pair:
        pair.catch_up(1)
        first = newest_cut(pair)
        stream.execute("INSERT INTO t VALUES (2, 1)")
        pair.catch_up(2)
        second = newest_cut(pair)
        unknown = pair.verify("--since", "999")
        wrong = pair.verify("--since", "yesterday")
        delete_records(stream, "t")
        lost = pair.verify("--since", str(first.number))
        kept = pair.verify("--since", str(second.number))
        pair.damage("t", with_value(1, 2))
        for file in (mirror / stream.database / "t").glob("*.parquet"):
            if not pair.has_file("t", file.name):
                file.unlink()
        gone = pair.verify("--since", str(second.number))
        files = open_files()
        with Pipeline(loaded(pair.connector.config), 60) as pipeline:
            pipeline.low(stream.database, "t")
            assert open_files() > files
        assert open_files() == files
        assert pair.connector.terminate() == 0
        create_again(stream, "t")
        shorter = [
            pair.verify("--patience", "1", *more) for more in ((), ("--since", str(second.number)))
        ]
        stream.config(source__tables=["nowhere.*"])
        nothing = pair.verify()
    no_cut = shown(cut_errors.NO_CUT, path=mirror, wanted="with the number 999")
    assert (unknown.returncode, unknown.stderr) == (3, f"error: {no_cut}\n")
    no_name = shown(verify_errors.NOT_A_CUT, text="yesterday")
    assert (wrong.returncode, wrong.stderr) == (2, f"error: {no_name}\n")
    assert lost.returncode == 1
    assert lost.stdout.startswith(
        f"{table}: not finished: [{verify_errors.RECORDS_LOST}] table {table}: Kafka has deleted "
        f"records since cut {first.number}: partition "
    )
    assert kept.returncode == 0
    facts = {"number": second.number, "path": mirror, "table": table}
    version = second.tables[table].version
    no_version = shown(cut_errors.TABLE_GONE, version=version, **facts)
    assert (gone.returncode, gone.stdout) == (1, f"{table}: not finished: {no_version}\n")
    topic = row_topic(stream.prefix, stream.database, "t")
    for done in shorter:
        begins = f"{table}: not finished: [M218] {topic}, partition "
        assert (done.returncode, done.stdout[: len(begins)]) == (1, begins)
    facts = {"pattern": "nowhere.*", "server": f"source 127.0.0.1:{stream.source.port}"}
    no_table = shown(copy_errors.NO_TABLE, **facts)
    assert (nothing.returncode, nothing.stderr) == (2, f"error: {no_table}\n")


def open_files() -> int:
    """Return how many files and connections this process has."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def create_again(stream: Stream, table: str) -> None:
    """Delete the topic of a table, and create it again without records."""
    topic = row_topic(stream.prefix, stream.database, table)
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    admin.delete_topics([topic])
    wait_until(lambda: topic not in admin.list_topics(), lambda: topic)
    admin.create_topics([NewTopic(topic, 3, 1)])
    admin.close()


def delete_records(stream: Stream, table: str) -> None:
    """Delete what Kafka has of a table."""
    topic = row_topic(stream.prefix, stream.database, table)
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    (made,) = admin.describe_topics([topic])
    numbers = range(len(made["partitions"]))
    # -1 is the end.
    admin.delete_records({TopicPartition(topic, number): -1 for number in numbers})
    admin.close()
