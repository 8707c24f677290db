"""All parts of a demo: started in order, watched, and stopped in reverse order.

The binlog of the source is a set of GTIDs: the start, and what must arrive in the mirrors. A stack
that goes on running has a command for each part, with which the user can look at it.
"""

import secrets
import shlex
import sys
import time
from collections import deque
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Self

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from connector.lake.demo import demo_errors, shop
from connector.lake.demo.configuration import PIPELINE, TOPIC_PREFIX, DemoDirectory, DemoOptions
from connector.lake.demo.display import StatusBoard, TableLine
from connector.lake.demo.processes import Connector, StreamJob, VerifyCommand
from connector.lake.demo.topics import TopicReader
from connector.lake.demo.workload import Workload
from connector.stream.progress.progress_record import has_transactions
from local_stack import stack_errors
from local_stack.java import java_runtime
from local_stack.kafka import KafkaBroker
from local_stack.process import log_tail
from local_stack.server import Endpoint, ManagedServer, connect
from local_stack.source import Product, SourceChoice, source_server
from local_stack.spark import spark_jars, spark_java_options
from local_stack.stack_errors import LocalStackError

EXECUTED = {
    "mysql": "SELECT @@version, @@global.gtid_executed",
    "mariadb": "SELECT @@version, @@global.gtid_binlog_pos",
}


class SourceLog:
    """What a source has written to its binlog."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Use the server of `endpoint`; raises LocalStackError for a MySQL without GTIDs."""
        self._endpoint = endpoint
        version, _ = self._ask("SELECT @@version, ''")
        self.product: Product = "mariadb" if "MariaDB" in version else "mysql"
        self.version = version.partition("-")[0]
        if self.product == "mysql" and self._ask("SELECT @@gtid_mode, ''")[0] != "ON":
            raise LocalStackError(demo_errors.GTID_MODE, address=endpoint.bootstrap)

    @property
    def name(self) -> str:
        """Product and version."""
        return f"{'MariaDB' if self.product == 'mariadb' else 'MySQL'} {self.version}"

    def executed(self) -> str:
        """Return the GTIDs of all transactions in the binlog, as the server prints them."""
        _, gtids = self._ask(EXECUTED[self.product])
        return gtids.replace("\n", "")

    def _ask(self, question: str) -> tuple[str, str]:
        with closing(connect(self._endpoint)) as connection, connection.cursor() as cursor:
            cursor.execute(question)
            first, second = cursor.fetchone() or ("", "")
            return str(first), str(second)


# Changes per second are counted over so many looks.
RATE_LOOKS = 4
MS = 1000


class DemoStack:
    """Servers, processes and workload of one demo; a context manager stops them all."""

    def __init__(self, options: DemoOptions, directory: DemoDirectory) -> None:
        """Prepare the parts that `options` request; nothing runs yet."""
        self.directory = directory
        self._options = options
        self._stack = ExitStack()
        self._looks: deque[tuple[float, dict[str, int]]] = deque(maxlen=RATE_LOOKS)
        self._mirror_rows = MirrorRows(directory)
        self._verified = 0
        self._broker: KafkaBroker | None = None
        self.bootstrap = ""  # of the broker, or the URL of a folder
        self.connector_state = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start_source(self) -> None:
        """Start the source, or check the server of the user."""
        options = self._options
        choice = SourceChoice(options.source, options.mysqld, options.address, options.container)
        self._source = source_server(choice, self.directory.source)
        thrown_away = self.source_is_private and options.directory is None
        # A clean stop of MySQL waits ten seconds for the thread that served the connector; it is
        # needed to remove a container.
        may_be_killed = thrown_away and not options.container
        self._stack.callback(self._source.kill if may_be_killed else self._source.stop)
        self._source.start()
        self.log = SourceLog(self.source)

    def start_kafka(self) -> None:
        """Start the broker, unless a folder has the log; Java and other parts are downloaded."""
        self.java = java_runtime()
        self.jars = spark_jars()
        if not self._options.kafka:
            self.bootstrap = self.directory.log.as_uri()
            return
        self._broker = KafkaBroker(self.directory.kafka, java=self.java)
        self._stack.callback(self._broker.stop)
        self.bootstrap = self._broker.start().bootstrap

    def start_stream_job(self) -> None:
        """Start the Spark job; it takes some seconds."""
        self.directory.write_stream_job_config(
            self.bootstrap,
            # The demo ends with all its processes.
            spark_java_options(self.java, writes_classes=False),
            self._options.formats,
        )
        self.stream_job = StreamJob(self.directory, self.java)
        self._stack.callback(self.stream_job.stop)
        self.stream_job.start()

    def start_connector(self) -> None:
        """Create the shop, and start the connector on it."""
        # A server may demand letters of both cases, a digit and a special character.
        password = f"aA1-{secrets.token_urlsafe(16)}"
        shop.require_no_shop(self.source)
        if self._options.address is not None:
            # The user's own server is left as it was, also if the rest fails.
            self._stack.callback(shop.drop_shop, self.source)
        shop.create_shop(self.source, password)
        shop.insert_regular_customers(self.source)
        self.directory.write_connector_config(self.source, password, self.bootstrap)
        self.connector = Connector(self.directory)
        self._stack.callback(self.connector.stop)
        self.connector.start()
        self.connector_state = "starting"
        self.topics = self._stack.enter_context(TopicReader(self.bootstrap, TOPIC_PREFIX))

    def verify(self, *arguments: str) -> VerifyCommand:
        """Start `verify` with these arguments."""
        self._verified += 1
        command = VerifyCommand(self.directory, self._verified)
        self._stack.callback(command.stop)
        command.start(*arguments)
        return command

    def start_workload(self) -> None:
        """Start the customers."""
        # MariaDB logs whole seconds.
        unit_ms = MS if self.log.product == "mariadb" else 1
        self.workload = Workload(self.source, self._options.rate, unit_ms=unit_ms)
        self._stack.callback(self.workload.stop)
        self.workload.start()

    @property
    def is_iceberg(self) -> bool:
        """Whether the mirror's tables are Iceberg tables, too."""
        return "iceberg" in self._options.formats

    @property
    def records_in(self) -> str:
        """What has the records of the changes."""
        return "the log" if self.is_without_broker else "Kafka"

    @property
    def is_without_broker(self) -> bool:
        """Whether a folder has the log."""
        return not self._options.kafka

    @property
    def source_is_private(self) -> bool:
        """Whether the source is a private server, whose password is not secret."""
        return self._options.address is None

    @property
    def source(self) -> Endpoint:
        """The source's endpoint."""
        return self._source.endpoint

    def check(self) -> None:
        """Raise LocalStackError if a process ended, or the source refused the workload."""
        for server in (self._broker, self._source):
            if isinstance(server, ManagedServer):
                _check_server(server)
        self.workload.check()
        # The job's own report says more than the fact that it ended.
        self.stream_job.status()
        self.stream_job.check()
        self.connector.check()

    def committed_gtids(self) -> str:
        """Return the GTIDs of the connector's committed progress, "" before the first."""
        progress = self.topics.progress(PIPELINE)
        return "" if progress is None else progress["gtid_set"] or ""

    def has_committed(self, gtids: str) -> bool:
        """Return whether the connector's committed progress has every transaction of a set."""
        progress = self.topics.progress(PIPELINE)
        return progress is not None and has_transactions(progress, gtids)

    def look(self, phase: str, share: float | None = None) -> StatusBoard:
        """Return the current numbers; `share` of the phase is done."""
        status, records = self.stream_job.status(), self.workload.records
        self._looks.append((time.monotonic(), records))
        (earlier, before), (now, _) = self._looks[0], self._looks[-1]
        source_rows = shop.count_rows(self.source)
        tables = []
        for table in shop.TABLES:
            mirrored = table in shop.MIRRORED_TABLES
            applied_ms = status.applied_ms.get(f"{shop.DATABASE}.{table}", 0)
            # How long the oldest change waits that is not in the mirror.
            lag_ms = self.workload.lag_ms(table, applied_ms)
            lag = lag_ms / MS if mirrored and lag_ms is not None else None
            changes = records.get(table, 0)
            tables.append(
                TableLine(
                    table,
                    source_rows[table],
                    self._mirror_rows.count(table) if mirrored else None,
                    changes,
                    (changes - before.get(table, 0)) / max(now - earlier, 1.0),
                    lag,
                )
            )
        workload, job = self.workload, self.stream_job
        last = f"{status.last_batch_changes:,} changes in {status.last_batch_seconds:.1f} s"
        batches = f"{status.batches:,} applied, the last one {last}"
        if not status.batches:
            batches = "none applied yet, the first takes longest"
        log = "a log in a folder" if self._broker is None else self._broker.name
        return StatusBoard(
            f"{self.log.name} to {log} to Delta{' and Iceberg' * self.is_iceberg}",
            phase,
            share,
            tables,
            (
                (
                    "workload",
                    f"{workload.transactions:,} transactions, {workload.rollbacks:,} rolled back",
                ),
                ("connector", self.connector_state),
                ("Spark job", f"pid {job.pid}, batches: {batches}"),
            ),
        )


def _check_server(server: ManagedServer) -> None:
    try:
        _ = server.pid
    except LocalStackError:
        raise LocalStackError(
            stack_errors.ENDED, process=server.name, log=server.log, tail=log_tail(server.log)
        ) from None


PYSPARK = """\
#!/bin/sh
# Opens a pyspark shell in which the mirrors can be read.
export JAVA_HOME={java_home} PYSPARK_PYTHON={python}
exec {pyspark} --jars {jars} \\
  --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \\
  --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog \\
  --conf spark.databricks.delta.snapshotPartitions=2 --conf spark.sql.shuffle.partitions=2 \\
  --conf spark.sql.session.timeZone=UTC --conf spark.ui.enabled=false "$@"
"""


def write_pyspark(stage: DemoStack) -> Path:
    """Write a script that opens a pyspark shell with the right runtime and jars."""
    script = stage.directory.path / "pyspark"
    text = PYSPARK.format(
        java_home=shlex.quote(str(stage.java.parent.parent)),
        python=shlex.quote(sys.executable),
        pyspark=shlex.quote(str(Path(sys.executable).with_name("pyspark"))),
        jars=shlex.quote(",".join(map(str, stage.jars))),
    )
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return script


def console_consumer(bootstrap: str, topic: str) -> list[str]:
    """Return a command that prints the records of a topic, from its beginning."""
    # The default format fails at the first record without a value.
    command = [sys.executable, "-m", "kafka.consumer", "--format", "full"]
    command += ["-b", bootstrap, "-t", topic]
    return [*command, "-C", "isolation_level=read_committed", "-C", "auto_offset_reset=earliest"]


def access_commands(stage: DemoStack) -> list[tuple[str, str]]:
    """Return the parts of the stack, each with its command."""
    source = stage.source
    mysql = ["mysql", "--host", source.host, "--port", str(source.port), "--user", source.user]
    if stage.source_is_private:
        mysql.append(f"--password={source.password}")
    consumer = console_consumer(stage.bootstrap, f"{TOPIC_PREFIX}.{shop.DATABASE}.orders")
    by_consumer = [("a topic, by a console consumer", shlex.join(consumer))]
    mirror = stage.directory.mirror_of("orders")
    verify = [sys.executable, "-m", "connector", "verify", str(stage.directory.connector_config)]
    verify += ["--mirror", str(stage.directory.stream_job_config)]
    iceberg = stage.directory.iceberg_of("orders")
    by_iceberg = [("and as an Iceberg table, in DuckDB", f"FROM iceberg_scan('{iceberg}');")]
    return [
        ("the source, and to change it", shlex.join([*mysql, shop.DATABASE])),
        # No program of others reads a log in a folder.
        *([] if stage.is_without_broker else by_consumer),
        ("the mirror, by a pyspark shell", shlex.quote(str(write_pyspark(stage)))),
        ("and in that shell", f'spark.read.format("delta").load("{mirror}").show()'),
        *(by_iceberg if stage.is_iceberg else []),
        ("source and mirror, compared again", shlex.join(verify)),
        ("configurations and logs", f"ls {shlex.quote(str(stage.directory.path))}"),
    ]


def read_mirror(path: Path | str, where: str = "true") -> pa.Table:
    """Return the rows of the table at `path` for which the SQL condition `where` holds.

    Raises TableNotFoundError without a table.
    """
    return query_mirror(DeltaTable(path), f"SELECT * FROM mirror WHERE {where}")  # noqa: S608 # the caller's


def query_mirror(table: DeltaTable, sql: str) -> pa.Table:
    """Return the result of a statement about the table `mirror`."""
    return pa.table(QueryBuilder().register("mirror", table).execute(sql))


class MirrorRows:
    """Counts the rows of growing mirrors."""

    def __init__(self, directory: DemoDirectory) -> None:
        """Count the mirrors of `directory`."""
        self._directory = directory
        self._tables: dict[str, DeltaTable] = {}

    def count(self, table: str) -> int:
        """Return the number of rows of a table's mirror, 0 if it does not exist yet."""
        known = self._tables.get(table)
        if known is None:
            path = str(self._directory.mirror_of(table))
            if not DeltaTable.is_deltatable(path):
                return 0
            known = self._tables[table] = DeltaTable(path)
        else:
            known.update_incremental()
        count: int = query_mirror(known, "SELECT count(*) FROM mirror")[0][0].as_py()
        return count
