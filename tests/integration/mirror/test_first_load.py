"""Tables whose first rows the job reads from the source, while their rows change."""

from __future__ import annotations

import io
import json
import shutil
import threading
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors.message import Message
from connector.stream.snapshot import copy_errors
from local_stack import MariadbServer, connect
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors, range_task
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.process import Pipeline, SharedOutput, run_pipelines
from stream_jobs.run.status_lines import StatusLines
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.mirror_table import MirrorTable
from tests import forked_command
from tests.foundation.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.harness import wait_until, wait_until_settled
from tests.integration.mirror.conftest import Job, SparkJob
from tests.stream_jobs.iceberg.readers import pyiceberg_rows
from tests.stream_jobs.told import told
from tests.stream_jobs.topics import Kafka
from verification import verify_errors
from verification.mirror_side import MirrorSide

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from local_stack import KafkaBroker
    from stream_jobs.load.range_task import RangeJob, RangeResult
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = [pytest.mark.server, pytest.mark.kafka]

MIRROR = {"source__start": "snapshot", "snapshot__to": "mirror"}
ROWS = 300
COLUMNS = """(
    id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2), at DATETIME(3), seen TIMESTAMP NULL,
    kind ENUM('a','b'), flags SET('x','y'), raw VARBINARY(8), weight FLOAT, doc JSON, big BIGINT
    UNSIGNED, bits BIT(5), old VARCHAR(9) CHARACTER SET latin1
)"""


def values(number: int) -> str:
    return (
        f"({number}, 'n{number}', {number}.25, '2026-01-02 03:04:05.678', '2026-02-03 04:05:06', "
        f"'b', 'x,y', X'00FF', 0.1, '[{number}]', {2**63 + number}, b'101', 'é')"
    )


def fill(stream: Stream, table: str, rows: int = ROWS) -> None:
    stream.execute(f"CREATE TABLE {table} {COLUMNS}")
    numbers = range(1, rows + 1)
    stream.execute(f"INSERT INTO {table} VALUES {', '.join(map(values, numbers))}")


def url(stream: Stream) -> dict[str, Any]:
    source = stream.source
    address = f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"
    return {"url": address, "range_rows": 50, "pace": "full"}


def names(stream: Stream, table: str) -> list[tuple[int, str]]:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, name FROM {table} ORDER BY id")
        return [(row[0], row[1]) for row in cursor.fetchall()]


def mirrored(stream: Stream, job: Job, table: str) -> list[tuple[Any, ...]]:
    return job.rows(table, "id", "name", database=stream.database)


def wait_for_states(connector: ConnectorProcess, tables: int) -> None:
    wait_until(
        lambda: connector.output().count("the Spark job loads the rows") >= tables,
        connector.output,
    )


class Meanwhile:
    """Runs statements on the source before some ranges are read."""

    def __init__(self, job: Job, stream: Stream, statements: dict[int, tuple[str, ...]]) -> None:
        self._load = job.load_range
        self._stream = stream
        self._statements = statements
        self._turn = threading.Lock()
        self.ranges = 0
        job.load_range = self  # type: ignore[method-assign]

    def __call__(self, job: RangeJob) -> RangeResult:
        with self._turn:
            self.ranges += 1
            self._stream.execute(*self._statements.get(self.ranges, ()))
            return self._load(job)


def test_loaded_rows_are_those_that_records_would_have_given(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, job = either_stream, job_of_either
    fill(stream, "loaded")
    stream.execute("CREATE TABLE streamed LIKE loaded")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 2)
        stream.execute("INSERT INTO streamed SELECT * FROM loaded")
        stream.wait_for_changes(ROWS, connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = job.run(first_load=url(stream))
    assert job.exit_code == 0, lines
    assert job.rows("loaded", database=stream.database) == job.rows(
        "streamed", database=stream.database
    )
    assert len(job.rows("loaded", database=stream.database)) == ROWS


def test_changes_before_beside_and_after_the_ranges_give_the_rows_of_the_source(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, job = either_stream, job_of_either
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        stream.execute(
            "UPDATE t SET name = 'before' WHERE id % 7 = 0", "DELETE FROM t WHERE id = 9"
        )
        meanwhile = Meanwhile(
            job,
            stream,
            {
                2: ("DELETE FROM t WHERE id IN (1, 299)", "UPDATE t SET name = 'x' WHERE id < 9"),
                3: (
                    "UPDATE t SET id = 1000 WHERE id = 2",
                    "UPDATE t SET id = 3 + 1000 WHERE id = 3",
                ),
                4: (
                    f"INSERT INTO t VALUES {values(1)}, {values(2000)}",
                    "DELETE FROM t WHERE id = 4",
                ),
                5: ("UPDATE t SET id = 5000 - id WHERE id BETWEEN 100 AND 200",),
            },
        )
        lines = job.run(first_load=url(stream))
        assert job.exit_code == 0, lines
        assert meanwhile.ranges > 5
        wait_until_settled(stream.broker, stream.prefix)
        lines = job.run(first_load=url(stream))
    assert job.exit_code == 0, lines
    assert mirrored(stream, job, "t") == names(stream, "t")


def test_an_empty_table_is_loaded_and_gets_its_first_rows(stream: Stream, own_job: Job) -> None:
    stream.execute(f"CREATE TABLE t {COLUMNS}")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        stream.execute(f"INSERT INTO t VALUES {values(1)}, {values(2)}")
        stream.wait_for_changes(2, connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(first_load=url(stream))
    assert own_job.exit_code == 0, lines
    assert mirrored(stream, own_job, "t") == names(stream, "t")


def test_a_truncate_while_ranges_are_read(either_stream: Stream, job_of_either: Job) -> None:
    stream, job = either_stream, job_of_either
    fill(stream, "emptied")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        meanwhile = Meanwhile(
            job, stream, {3: ("TRUNCATE emptied", f"INSERT INTO emptied VALUES {values(7)}")}
        )
        job.run(first_load=url(stream))
        assert meanwhile.ranges >= 3
        wait_until_settled(stream.broker, stream.prefix)
        lines = job.run(first_load=url(stream))
    assert job.exit_code == 0, lines
    assert mirrored(stream, job, "emptied") == [(7, "n7")]


def test_a_load_goes_on_after_the_ranges_that_were_committed(stream: Stream, own_job: Job) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        load = own_job.load_range
        read: list[int] = []

        def broken(job: RangeJob) -> RangeResult:
            read.append(job.place)
            if len(read) == 3:
                raise KeyError(job.place)
            return load(job)

        own_job.load_range = broken  # type: ignore[method-assign]
        lines = own_job.run(first_load=url(stream) | {"connections": 1})
        assert [line["code"] for line in lines if line["event"] == "load_waits"] == ["M106"]
        storage = storage_of(f"{own_job.folder}/mirror")
        half = MirrorTable.open(storage, f"{stream.database}/t", f"{stream.database}.t", "")
        assert half is not None
        schema = TableSchema(stream.database, "t", "", PackedSequence(0, 0), ())
        with pytest.raises(MirrorError) as caught:
            MirrorSide(half, schema)
        assert caught.value.code is verify_errors.LOADING
        own_job.load_range = load  # type: ignore[method-assign]
        both = {"formats": ["delta", "iceberg"]}
        own_job.run(first_load=url(stream), mirror=both)
    assert mirrored(stream, own_job, "t") == names(stream, "t")
    published = own_job.folder / "mirror" / "_iceberg" / stream.database / "t"
    assert len(pyiceberg_rows(published)) == ROWS


def test_rows_of_one_tenant_are_read_in_several_parts(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, job = either_stream, job_of_either
    rows = ", ".join(f"('acme', {number}, 'n{number}')" for number in range(1, ROWS + 1))
    stream.execute(
        "CREATE TABLE owned (tenant VARCHAR(9), id INT, name VARCHAR(20), "
        "PRIMARY KEY (tenant, id)) CHARACTER SET latin1",
        f"INSERT INTO owned VALUES {rows}",
        "ANALYZE TABLE owned",
    )
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        load = job.load_range
        places: list[int] = []
        bounds: set[int] = set()

        def broken(job: RangeJob) -> RangeResult:
            places.append(job.place)
            bounds.add(len(job.load.parts[job.place].low))
            if len(places) == 3:
                raise KeyError(job.place)
            return load(job)

        job.load_range = broken  # type: ignore[method-assign]
        few = url(stream) | {"connections": 1}
        lines = job.run(first_load=few)
        assert [line["code"] for line in lines if line["event"] == "load_waits"] == ["M106"]
        # It goes on in other parts, by the bounds that the log has.
        lines = job.run(first_load=few)
        job.load_range = load  # type: ignore[method-assign]
    assert job.exit_code == 0, lines
    assert len(set(places)) >= 3
    assert bounds == {0, 2}
    assert mirrored(stream, job, "owned") == names(stream, "owned")


def test_a_copy_through_kafka_replaces_a_load_that_has_not_ended(
    stream: Stream, own_job: Job
) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        stream.execute("DELETE FROM t WHERE id = 9")
        stream.wait_for_changes(1, connector)
        meanwhile = Meanwhile(own_job, stream, {3: ("DROP DATABASE none",)})
        own_job.run(first_load=url(stream) | {"connections": 1})
        assert meanwhile.ranges >= 3
        assert 0 < len(mirrored(stream, own_job, "t")) < ROWS - 1
        done = forked_command.run("snapshot", str(connector.config), f"{stream.database}.t")
        assert done.returncode == 0, done.stderr
        stream.wait_for_changes(ROWS, connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(first_load=url(stream))
    assert own_job.exit_code == 0, lines
    assert mirrored(stream, own_job, "t") == names(stream, "t")


def load_waits(lines: list[dict[str, Any]]) -> list[str]:
    return [line["code"] for line in lines if line["event"] == "load_waits"]


def test_a_table_that_is_altered_is_loaded_again(stream: Stream, own_job: Job) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        altered = ("ALTER TABLE t ADD COLUMN extra INT DEFAULT 5", "UPDATE t SET name = 'x'")
        Meanwhile(own_job, stream, {3: altered})
        lines = own_job.run(first_load=url(stream))
        assert load_waits(lines)[:1] == [load_errors.NO_SUCH_COLUMNS.code]
        stream.wait_for_changes(ROWS, connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(first_load=url(stream))
    assert own_job.exit_code == 0, lines
    expected = [(number, "x", 5) for number in range(1, ROWS + 1)]
    assert own_job.rows("t", "id", "name", "extra", database=stream.database) == expected


def assert_loaded(stream: Stream, job: Job) -> None:
    """Check that the table is loaded with its columns, also while rows change."""
    meanwhile = Meanwhile(job, stream, {2: ("UPDATE t SET name = 'z' WHERE id % 3 = 0",)})
    lines = job.run(first_load=url(stream))
    assert not load_waits(lines)
    assert meanwhile.ranges > 2
    wait_until_settled(stream.broker, stream.prefix)
    lines = job.run(first_load=url(stream))
    assert job.exit_code == 0, lines
    assert mirrored(stream, job, "t") == names(stream, "t")
    assert "extra" not in job.data("t", stream.database).column_names


@pytest.mark.parametrize(
    ("back", "changes"),
    [
        ("DROP COLUMN extra", False),
        ("DROP COLUMN extra", True),
        # Its text does not say the list, and the row that shows it brings no schema record.
        ("DROP COLUMN extra, DROP INDEX i", True),
    ],
)
def test_a_table_that_is_altered_and_altered_back_is_loaded(
    either_stream: Stream, job_of_either: Job, back: str, *, changes: bool
) -> None:
    stream = either_stream
    fill(stream, "t")
    stream.execute("CREATE INDEX i ON t (big)")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        stream.execute("ALTER TABLE t ADD COLUMN extra INT DEFAULT 5", "UPDATE t SET name = 'x'")
        stream.execute(f"ALTER TABLE t {back}", *(["UPDATE t SET name = 'y'"] if changes else ()))
        stream.wait_for_changes(2 * ROWS if changes else ROWS, connector)
        wait_until_settled(stream.broker, stream.prefix)
        assert_loaded(stream, job_of_either)


def test_a_table_that_is_made_again_with_older_columns_is_loaded(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream = either_stream
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        stream.execute("ALTER TABLE t ADD COLUMN extra INT DEFAULT 5", "UPDATE t SET name = 'x'")
        stream.execute("DROP TABLE t")
        stream.wait_for_changes(ROWS + 1, connector)
        assert connector.terminate() == 0
    # The next start finds a table that nobody has copied.
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 2)
        wait_until_settled(stream.broker, stream.prefix)
        assert_loaded(stream, job_of_either)


def test_a_load_begins_again_when_mariadb_has_another_identity(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(MariadbServer(tmp_path / "mariadb"))
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stack.callback(end_topics, stream.broker, stream.prefix)
        kafka = stack.enter_context(closing(Kafka(stream.broker.bootstrap, stream.prefix)))
        job = Job(kafka, tmp_path)
        fill(stream, "t")
        with stream.connector(**MIRROR) as connector:
            wait_for_states(connector, 1)
            wait_until_settled(stream.broker, stream.prefix)
            load, read = job.load_range, list[int]()

            def broken(job: RangeJob) -> RangeResult:
                read.append(job.place)
                if len(read) == 3:
                    raise KeyError(job.place)
                return load(job)

            job.load_range = broken  # type: ignore[method-assign]
            job.run(first_load=url(stream) | {"connections": 1})
            job.load_range = load  # type: ignore[method-assign]
            stream.execute("SET GLOBAL server_id = 77")
            lines = job.run(first_load=url(stream) | {"connections": 1})
            assert load_waits(lines) == [load_errors.OTHER_SERVER.code]
            assert 0 < len(mirrored(stream, job, "t")) < ROWS
        with stream.connector(**MIRROR) as connector:
            stream.execute("UPDATE t SET name = 'x' WHERE id < 9")
            stream.wait_for_changes(8, connector)
            wait_until_settled(stream.broker, stream.prefix)
            lines = job.run(first_load=url(stream))
        assert job.exit_code == 0, lines
        assert not load_waits(lines)
        assert mirrored(stream, job, "t") == names(stream, "t")


def test_without_a_source_nothing_is_applied(stream: Stream, own_job: Job) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        stream.execute("UPDATE t SET name = 'x'")
        stream.wait_for_changes(ROWS, connector)
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run()
        assert not (own_job.folder / "mirror" / stream.database).exists()
        cut = CutStore(storage_of(f"{own_job.folder}/mirror"), "").latest()
        assert cut is not None
        reason = Message(load_errors.NO_SOURCE, {"table": f"{stream.database}.t"}).text
        assert cut.left_out == {f"{stream.database}.t": reason}
        lines = own_job.run(first_load=url(stream))
    assert own_job.exit_code == 0, lines
    assert mirrored(stream, own_job, "t") == names(stream, "t")
    cut = CutStore(storage_of(f"{own_job.folder}/mirror"), "").latest()
    assert cut is not None
    assert list(cut.tables) == [f"{stream.database}.t"]


def test_wide_rows_after_small_ones_are_read_piece_by_piece(
    either_stream: Stream, job_of_either: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, job = either_stream, job_of_either
    bytes_max, piece, wide = 1024 * 1024, 256 * 1024, 20_000
    monkeypatch.setattr(range_task, "_CHUNK_BYTES", piece)
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, doc LONGBLOB)")
    numbers = ", ".join(f"({number}, REPEAT('x', {number % 7}))" for number in range(ROWS))
    stream.execute(
        f"INSERT INTO t VALUES {numbers}",
        f"INSERT INTO t SELECT id + {ROWS}, REPEAT('y', {wide} + id) FROM t",
    )
    rows: list[int] = []
    load = job.load_range

    def counted(job: RangeJob) -> RangeResult:
        result = load(job)
        rows.append(result.rows)
        return result

    job.load_range = counted  # type: ignore[method-assign]
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        lines = job.run(
            first_load=url(stream) | {"range_rows": 100_000},
            kafka={"max_bytes_per_task": bytes_max},
        )
    assert job.exit_code == 0, lines
    assert not load_waits(lines)
    docs = job.rows("t", "id", "doc", database=stream.database)
    loaded = [(number, doc[:1], len(doc)) for number, doc in docs]
    assert loaded == [(n, b"x"[: n % 7], n % 7) for n in range(ROWS)] + [
        (n, b"y", wide + n - ROWS) for n in range(ROWS, 2 * ROWS)
    ]
    # The small rows come first; then each range ends with the piece that fills it.
    assert max(rows[1:]) * wide <= bytes_max + 2 * piece


def test_another_mode_than_current_cannot_be_loaded(stream: Stream, own_job: Job) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        tables = [{"match": ["*.*"], "mode": "history"}]
        lines = own_job.run(first_load=url(stream), tables=tables)
    assert load_waits(lines) == [load_errors.OTHER_MODE.code]


def test_a_mirror_of_another_copy_stays(stream: Stream, own_job: Job) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run(first_load=url(stream))
    before = mirrored(stream, own_job, "t")
    assert len(before) == ROWS
    with stream.connector(**MIRROR, name="another") as connector:
        wait_for_states(connector, 2)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(first_load=url(stream))
    assert load_waits(lines) == [load_errors.MIRROR_THERE.code]
    assert mirrored(stream, own_job, "t") == before


def test_a_mirror_that_is_made_again_is_loaded_again(stream: Stream, own_job: Job) -> None:
    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run(first_load=url(stream))
        stream.execute("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, name)")
        stream.execute("UPDATE t SET price = 0 WHERE id = 1")
        wait_until(lambda: '"message": "copied"' in connector.output(), connector.output)
        shutil.rmtree(own_job.path("t", stream.database))
        lines = own_job.run(first_load=url(stream))
    assert own_job.exit_code == 0, lines
    assert mirrored(stream, own_job, "t") == names(stream, "t")


def test_check_says_what_other_consumers_get(stream: Stream) -> None:
    done = forked_command.run("check", str(stream.config(**MIRROR)))
    assert text_of(copy_errors.NOT_IN_TOPICS) in done.stdout


@pytest.mark.spark
def test_two_pipelines_in_one_process_load_at_once_beside_their_streams(
    stream: Stream, spark: SparkSession, tmp_path: Path
) -> None:
    fill(stream, "t")
    (tmp_path / "two").mkdir()
    streams = {
        "one": stream,
        "two": replace(stream, directory=tmp_path / "two", prefix=f"{stream.prefix}_two"),
    }
    with ExitStack() as stack:
        connectors = [
            stack.enter_context(own.connector(**MIRROR, source__server_id=server_id))
            for server_id, own in enumerate(streams.values(), 6100)
        ]
        for connector in connectors:
            wait_for_states(connector, 1)
        stream.execute("CREATE TABLE other (id INT PRIMARY KEY)", "INSERT INTO other VALUES (1)")
        stream.execute("DELETE FROM t WHERE id % 2 = 0")
        jobs, out = {}, io.StringIO()
        outputs, pipelines = SharedOutput(out), []
        for (name, own), connector in zip(streams.items(), connectors, strict=True):
            own.wait_for_changes(1 + ROWS // 2, connector)
            wait_until_settled(own.broker, own.prefix)
            kafka = stack.enter_context(closing(Kafka(own.broker.bootstrap, own.prefix)))
            jobs[name] = job = SparkJob(spark, kafka, tmp_path / name)
            settings = job.settings(first_load=url(own)).model_copy(update={"name": name})
            pipelines.append(
                Pipeline(settings, StatusLines(outputs.of(""), name), JobMetrics(name))
            )
        assert run_pipelines(spark, pipelines) == 0, out.getvalue()
    loaded = {"event": "loaded", "table": f"{stream.database}.t", "rows": ROWS // 2}
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    for name, job in jobs.items():
        said = [told(json.dumps(line)) for line in lines if line["labels.pipeline"] == name]
        assert loaded in said
        assert mirrored(stream, job, "t") == names(stream, "t")
        assert job.rows("other", database=stream.database) == [(1,)]
