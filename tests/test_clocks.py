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
# Of Delta: when a version was committed, and what is older than the retention.
VERSIONS: Final = "Delta's own times of versions and files"

REASONS: Final = {
    "connector/cli/snapshot.py _speed": SHOWN,
    "connector/dump/dump.py _now_us": WRITTEN,
    "connector/dump/envelope/format.py _Changes.ddl": WRITTEN,
    "connector/dump/envelope/format.py _Changes.rows": WRITTEN,
    "connector/dump/envelope/format.py _Changes.statement": WRITTEN,
    "connector/metrics/exposition.py FiguresCollector._standing": SHOWN,
    "connector/metrics/lag.py read_source_log": SHOWN,
    "connector/metrics/otlp.py Spans.delivered": SHOWN,
    "connector/metrics/otlp.py _MetricExport._export": SHOWN,
    "connector/quarantine/keeper.py QuarantineKeeper.lift": WRITTEN,
    "connector/quarantine/keeper.py QuarantineKeeper.request": WRITTEN,
    "connector/quarantine/keeper.py QuarantineKeeper.step": WRITTEN,
    "connector/run/committed_batch.py CommittedBatch.count": SHOWN,
    "connector/run/heartbeat.py Heartbeat.step": WRITTEN,
    "connector/run/pipeline.py Pipeline._commit": WRITTEN,
    "connector/run/pipeline.py Pipeline._take_turns": WRITTEN,
    "connector/run/supervisor.py supervise": SHOWN,
    # When a copy began and ended, in its state.
    "connector/snapshot/copies.py Copies._complete": WRITTEN,
    "connector/snapshot/copies.py Copies._end_failed": WRITTEN,
    "connector/snapshot/copies.py Copies._keep_new": WRITTEN,
    "connector/snapshot/copy_scheduler.py CopyScheduler._take_plan": WRITTEN,
    "connector/snapshot/notifications.py Notifications.write": WRITTEN,
    # In the profile `debezium`, it is the source's time of a copied row, too, as with Debezium.
    "connector/snapshot/one_pass.py read_at_once": KEPT,
    "connector/snapshot/table_reader.py TableReader._read_chunk": KEPT,
    "connector/snapshot/table_reader.py TableReader._read_keys": KEPT,
    "connector/snapshot/output.py CopyOutput.now_ms": WRITTEN,
    "connector/snapshot/output.py CopyOutput.now_us": WRITTEN,
    "connector/snapshot/output.py CopyOutput._put_state": WRITTEN,
    "connector/snapshot/output.py CopyOutput.put_chunk": WRITTEN,
    "connector/snapshot/output.py CopyOutput.put_rows_gone": KEPT,
    "connector/snapshot/output.py CopyOutput.put_taken_back": WRITTEN,
    # The server's own clock, where its log ends.
    "connector/source/start/configured_start.py _latest": "the source's time before its log",
    "connector/source/stream/log_search.py find_time": "compared with the log, by the source",
    "connector/status/live.py LiveFacts._tables": SHOWN,
    "connector/status/live.py LiveFacts.facts": SHOWN,
    "connector/status/live.py _table": SHOWN,
    "connector/status/recent_events.py _happened": SHOWN,
    "connector/status/samples.py Samples.throughput": SHOWN,
    "connector/status/stopped.py facts_of_records": SHOWN,
    "connector/status/summary.py Summaries._run": SHOWN,
    "connector/system/clock.py": "the clock itself",
    "stream_jobs/cli/status_command.py _exit_code": SHOWN,
    "stream_jobs/cli/status_command.py _table": SHOWN,
    "stream_jobs/delta/housekeeping.py clean_log": VERSIONS,
    "stream_jobs/delta/housekeeping.py vacuum": VERSIONS,
    "stream_jobs/delta/housekeeping.py write_checkpoint": VERSIONS,
    "stream_jobs/delta/log.py now": VERSIONS,
    "stream_jobs/delta/metadata.py Metadata": VERSIONS,
    "stream_jobs/delta/parquet_file.py write_file": VERSIONS,
    "stream_jobs/delta/table.py DeltaTable._actions": VERSIONS,
    "stream_jobs/delta/table.py DeltaTable._count": SHOWN,
    "stream_jobs/replica/figures.py lag_of": SHOWN,
    "stream_jobs/replica/lines.py Lines.write": SHOWN,
    "stream_jobs/replica/marker.py Marker.mark_cut": "when the replica applied a cut",
    "stream_jobs/report/ecs_line.py EcsLine.text": SHOWN,
    "stream_jobs/report/exposition.py FiguresCollector._lags": SHOWN,
    "stream_jobs/report/figures.py Figures": SHOWN,
    "stream_jobs/report/moment.py moment": SHOWN,
    "stream_jobs/report/run_record.py _now": SHOWN,
    "stream_jobs/report/terminal.py TerminalLines.__init__": SHOWN,
    "stream_jobs/report/topic_watch.py TopicWatch.look": SHOWN,
    "stream_jobs/run/batch.py BatchApplier._apply": VERSIONS,
    "stream_jobs/run/cut_record.py CutRecord.add": "when a cut was written: how long it is listed",
    "stream_jobs/run/cut_record.py CutRecord.forget": "when a cut was written again",
    "stream_jobs/run/isolation.py Isolation.set_aside": "since when a table is set aside",
    "stream_jobs/run/owner.py Owner.here": "since when a job has its mirror",
    "stream_jobs/spark/class_archive.py _finish": "the age of a file of Java's classes",
    "verification/figures.py Figures.__init__": SHOWN,
    "verification/run.py Run.table": SHOWN,
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
