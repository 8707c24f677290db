"""Times in data come from the source's log: each clock in the code has a reason to be there.

A history once had wrong borders, because the record before a copy had the time of the connector.
Whoever reads a clock adds it here, and says why it is no time of the source.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = ("connector", "stream_jobs", "verification")

# What people see of a process, and what is measured: not in records, nor in tables.
SHOWN: Final = "figures, pages and logs"
# Of envelopes and control records, which say when they were written, as Debezium's `ts_ms` does.
WRITTEN: Final = "when a record was written, beside the source's time"
# Of Kafka's records between two transactions: Kafka keeps a record for some time from then on.
KEPT: Final = "Kafka's own time of a record, from which its retention counts"
# Of a log without brokers: how long a transaction or an idle producer may last.
LASTING: Final = "time limits, as Kafka has them"
# Of Delta: when a version was committed, and what is older than the retention.
VERSIONS: Final = "Delta's own times of versions and files"
# Of Iceberg: when a snapshot was published, by which old ones expire.
PUBLISHED: Final = "Iceberg's own times of snapshots"

REASONS: Final = {
    "connector/cli/snapshot.py _speed": SHOWN,
    "connector/kafka/folder/cleaning.py Cleaner.clean": KEPT,
    "connector/kafka/folder/core.py LogCore.make_room": LASTING,
    "connector/kafka/folder/folder_log.py FolderLog.__init__": LASTING,
    "connector/kafka/folder/folder_log.py FolderLog._fence": KEPT,
    "connector/kafka/folder/folder_log.py FolderLog.add_to_transaction": LASTING,
    "connector/kafka/folder/folder_log.py FolderLog.end_transaction": KEPT,
    "connector/kafka/folder/folder_log.py FolderLog.init_producer": LASTING,
    "connector/kafka/folder/folder_log.py FolderLog.end_late_transactions": LASTING,
    "connector/kafka/folder/group_offsets.py GroupOffsets._of": LASTING,
    "connector/kafka/folder/group_offsets.py GroupOffsets.commit": LASTING,
    "connector/logs/dump/dump.py _now_us": WRITTEN,
    "connector/logs/dump/envelope_format.py _Changes.ddl": WRITTEN,
    "connector/logs/dump/envelope_format.py _Changes.rows": WRITTEN,
    "connector/logs/dump/envelope_format.py _Changes.statement": WRITTEN,
    "connector/stream/metrics/prometheus.py MetricsCollector._position": SHOWN,
    "connector/stream/metrics/source_watch.py read_source_log": SHOWN,
    "connector/stream/metrics/otlp.py _trace_batch": SHOWN,
    "connector/stream/metrics/otlp.py _MetricExport._export": SHOWN,
    "connector/stream/quarantine/attendant.py QuarantineAttendant.request": WRITTEN,
    "connector/stream/quarantine/attendant.py QuarantineAttendant.step": WRITTEN,
    "connector/stream/run/commits.py PendingCommit.count": SHOWN,
    "connector/stream/run/heartbeat.py Heartbeat.step": WRITTEN,
    "connector/stream/run/pipeline.py Pipeline._commit": WRITTEN,
    "connector/stream/run/pipeline.py Pipeline._take_turns": WRITTEN,
    "connector/stream/run/supervisor.py _run_context": SHOWN,
    # When a copy began and ended, in its state.
    "connector/stream/snapshot/copies.py Copies._complete": WRITTEN,
    "connector/stream/snapshot/copies.py Copies._end_failed": WRITTEN,
    "connector/stream/snapshot/copies.py Copies._keep_new": WRITTEN,
    "connector/stream/snapshot/copy_scheduler.py CopyScheduler._take_plan": WRITTEN,
    "connector/stream/snapshot/notifications.py NotificationWriter.write": WRITTEN,
    # In the profile `debezium`, it is the source's time of a copied row, too, as with Debezium.
    "connector/stream/snapshot/pass_reader.py read_pass": KEPT,
    "connector/stream/snapshot/table_group.py _read_part": KEPT,
    "connector/stream/snapshot/table_reader.py TableReader._read_chunk": KEPT,
    "connector/stream/snapshot/table_reader.py TableReader._read_keys": KEPT,
    "connector/stream/snapshot/copy_output.py CopyOutput.now_ms": WRITTEN,
    "connector/stream/snapshot/copy_output.py CopyOutput._put_state": WRITTEN,
    "connector/stream/snapshot/copy_output.py CopyOutput.announce": WRITTEN,
    "connector/stream/snapshot/copy_output.py CopyOutput.put_chunk": WRITTEN,
    "connector/stream/snapshot/copy_output.py CopyOutput.put_rows_gone": KEPT,
    "connector/stream/snapshot/copy_output.py CopyOutput.delete_rows": WRITTEN,
    "connector/stream/snapshot/copy_output.py CopyOutput.replace_rows": WRITTEN,
    # The server's own clock, where its log ends.
    "connector/replication/start_setting.py _latest": "the source's time before its log",
    "connector/replication/log_search.py find_time": "compared with the log, by the source",
    "connector/stream/status/status_collector.py StatusCollector._tables": SHOWN,
    "connector/stream/status/status_collector.py StatusCollector.facts": SHOWN,
    "connector/stream/status/status_collector.py _table": SHOWN,
    "connector/stream/status/status_log.py _process_event": SHOWN,
    "connector/stream/status/status_collector.py Samples.throughput": SHOWN,
    "connector/stream/status/pipeline_list.py list_pipelines": SHOWN,
    "connector/stream/status/status_client.py status_from_records": SHOWN,
    "connector/stream/status/status_log.py Summaries._run": SHOWN,
    "connector/foundation/operating_system.py": "the clock itself",
    "connector/foundation/operating_system.py Clock.now_ms": "the clock itself",
    "connector/foundation/operating_system.py Clock.now_us": "the clock itself",
    "stream_jobs/run/status.py _exit_code": SHOWN,
    "stream_jobs/run/status.py by_urgency": SHOWN,
    "stream_jobs/run/status.py _table": SHOWN,
    "stream_jobs/cuts/reader.py _is_there": VERSIONS,
    "stream_jobs/delta/housekeeping.py clean_log": VERSIONS,
    "stream_jobs/delta/housekeeping.py vacuum": VERSIONS,
    "stream_jobs/delta/housekeeping.py write_checkpoint": VERSIONS,
    "stream_jobs/delta/log.py now": VERSIONS,
    "stream_jobs/delta/actions.py Metadata": VERSIONS,
    "stream_jobs/delta/parquet_file.py write_file": VERSIONS,
    "stream_jobs/delta/table.py DeltaTable._actions": VERSIONS,
    "stream_jobs/delta/table.py DeltaTable._count": SHOWN,
    "stream_jobs/replica/loop.py lag_of": SHOWN,
    "stream_jobs/replica/loop.py ReplicaLines.write": SHOWN,
    "stream_jobs/replica/state_tables.py StateTables.mark_cut": "when the replica applied a cut",
    "stream_jobs/log_lines.py EcsLine.text": SHOWN,
    "stream_jobs/run/metrics_server.py MetricsCollector.collect": SHOWN,
    "stream_jobs/run/metrics.py JobMetrics": SHOWN,
    "stream_jobs/log_lines.py line_time": SHOWN,
    "stream_jobs/run/job_state.py _now": SHOWN,
    "stream_jobs/run/console_lines.py TerminalLines.__init__": SHOWN,
    "stream_jobs/run/metrics.py TopicMonitor.look": SHOWN,
    "stream_jobs/run/batch.py BatchApplier._maintain": VERSIONS,
    "stream_jobs/tables/maintenance.py TableMaintenance.after": VERSIONS,
    "stream_jobs/run/publication_queue.py PublicationQueue._add": SHOWN,
    "stream_jobs/run/iceberg_publication.py IcebergPublication._kept_cuts": "the age of cuts",
    "stream_jobs/run/iceberg_publication.py IcebergPublication._occasion": PUBLISHED,
    "stream_jobs/run/catalog_queue.py CatalogQueue.add": SHOWN,
    "stream_jobs/run/iceberg_publication.py IcebergPublication._publish_mirror": SHOWN,
    "stream_jobs/run/iceberg_publication.py IcebergPublication._tag": SHOWN,
    "stream_jobs/run/iceberg_publication.py IcebergPublication._write_record": SHOWN,
    "stream_jobs/run/metrics_server.py MetricsCollector._iceberg": SHOWN,
    "stream_jobs/run/metrics_server.py status_page": SHOWN,
    "stream_jobs/run/record_retention.py _now_ms": KEPT,
    "stream_jobs/run/cut_coordinator.py CutCoordinator._is_old": "how old a cut is",
    "stream_jobs/run/cut_coordinator.py CutCoordinator.finish": "how old a cut is",
    "stream_jobs/run/cut_history.py CutHistory.add": "when a cut was written",
    "stream_jobs/run/cut_history.py CutHistory.forget": "when a cut was written again",
    "stream_jobs/run/cut_history.py CutHistory.recent": "the age of a cut",
    "stream_jobs/run/quarantine.py Quarantine.set_aside": "since when a table is set aside",
    "stream_jobs/pipeline_folder.py Owner.here": "since when a job has its mirror",
    "connector/foundation/class_archive.py _finish": "the age of a file of Java's classes",
    "connector/lake/demo/workload.py Workload.lag_ms": "the demo's own: how late the mirror is",
    "connector/lake/demo/workload.py Workload._commit": "the same: when a change was committed",
    "verification/certificate/foreign_run.py ForeignCertification.certificate": SHOWN,
    "verification/certificate/run.py _Run.certificate": SHOWN,
    # The source's clock, at which its log of the last `--lag` seconds begins.
    "verification/foreign/shared_log.py log_since": SHOWN,
    "verification/foreign/source_server.py SourceServer.time_us": SHOWN,
    "verification/source_moment.py read_moment": "the clock of the source, as it answers",
    "verification/iceberg_check.py _waited_seconds": "how long a version was not published",
    "verification/metrics.py VerificationMetrics.__init__": SHOWN,
    "verification/run.py _finished": SHOWN,
}

_SQL = re.compile(r"\b(UNIX_TIMESTAMP|NOW|SYSDATE|CURRENT_TIMESTAMP|UTC_TIMESTAMP)\s*\(")
# Attributes that are the time, of whatever object, and those of modules and classes.
_ALWAYS = {"time_ns", "utcnow", "now_us", "now_ms"}
_OF = {
    "time": {"time", "localtime", "gmtime", "ctime", "asctime"},
    "datetime": {"now", "today"},
    "date": {"today"},
}
# Modules without any of this need not be parsed.
_MAY_READ = re.compile(
    r"time_ns|utcnow|now_us|now_ms|\btime\.\w+time|\btime\.time|import time\b|\bnow\(|"
    r"(datetime|date)\.(now|today)|" + _SQL.pattern
)


def clocks_in(source: str) -> set[str]:
    """The classes and functions of a module that read a clock with a date; "" is the module."""
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in {("stream_jobs.delta.log", "now"), ("time", "time")}
    }
    # Texts that are statements: docstrings.
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}

    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            of = node.value.id if isinstance(node.value, ast.Name) else ""
            return node.attr in _ALWAYS or node.attr in _OF.get(of, set())
        if isinstance(node, ast.Name):
            return node.id in imported
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return id(node) not in texts and _SQL.search(node.value) is not None
        return False

    def walk(node: ast.AST, where: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            inner = where
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = (*where, child.name)
            if reads(child):
                yield ".".join(inner)
            yield from walk(child, inner)

    return set(walk(tree, ()))


def test_each_clock_has_a_reason_why_it_is_no_time_of_the_source() -> None:
    found = {
        f"{path.relative_to(ROOT)} {where}".rstrip()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if _MAY_READ.search(text := path.read_text(encoding="utf-8"))
        for where in clocks_in(text)
    }
    assert found - REASONS.keys() == set(), "give them the source's time, or a reason"
    assert REASONS.keys() - found == set(), "these read no clock any more"


def test_every_way_to_read_a_clock_is_found() -> None:
    assert clocks_in(
        '''
"""NOW() in a text about the module."""
import time
from datetime import datetime
from stream_jobs.delta.log import now
class A:
    at = field(default_factory=time.time)
    def b(self): return self._clock.time_ns()
def c(): return datetime.now(UTC)
def d(): return now()
def e(): return server.query("SELECT UNIX_TIMESTAMP()")
def f(): return output.now_us
def g(): return time.monotonic() + now_us
'''
    ) == {"A", "A.b", "c", "d", "e", "f"}
