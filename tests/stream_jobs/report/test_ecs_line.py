"""Lines of the job have the names of the connector's log."""

from __future__ import annotations

import io
import json
import re
import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pytest

from connector.foundation.ecs import facts_of
from connector.foundation.errors.message import Message
from connector.foundation.line_bounds import LINE_BYTES
from stream_jobs.errors import MirrorError, job_errors, shard_errors
from stream_jobs.iceberg import catalog_errors, iceberg_errors
from stream_jobs.load import load_errors
from stream_jobs.replica.loop import ReplicaLines
from stream_jobs.run.console_lines import open_lines
from stream_jobs.run.status_lines import Notices, StatusLines
from stream_jobs.tables.batch_report import BatchReport, TableReport


def written(event: str, **facts: Any) -> dict[str, Any]:
    out = io.StringIO()
    open_lines(out, "json", "shop").write(event, **facts)
    line: dict[str, Any] = json.loads(out.getvalue())
    return line


def test_facts_have_the_names_of_ecs_and_ours_a_prefix() -> None:
    tables = {"shop.größe": {"changes": 3, "version": None}}
    line = written("batch_applied", batch_id=7, records=3, tables=tables, cut=None)
    assert list(line)[:3] == ["@timestamp", "log.level", "message"]
    moment = line["@timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", moment)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()) < 60
    assert (line["log.level"], line["message"]) == ("info", "batch_applied")
    # What is not known is not there, but in the facts of a table it is null.
    assert "cdc.cut" not in line
    assert (line["cdc.batch_id"], line["cdc.tables"]) == (7, tables)
    assert (line["labels.pipeline"], line["event.dataset"]) == ("shop", "binlog-connector.mirror")
    assert line["service.version"] == version("binlog-connector")
    assert facts_of(line)["event"] == "batch_applied"
    assert facts_of(line)["batch_id"] == 7


def test_the_level_tells_warnings_and_errors() -> None:
    warning = written("no_mirror", topic="p.shop.t", error="it has no key", code="M105")
    assert (warning["log.level"], warning["error.code"]) == ("warning", "M105")
    assert (warning["error.message"], warning["cdc.topic"]) == ("it has no key", "p.shop.t")
    for event in ("table_quarantined", "failed"):
        assert written(event, error="it is odd", code="M225")["log.level"] == "error"


def test_an_idle_job_says_so_once_a_minute() -> None:
    out = io.StringIO()
    now = 0.0
    lines = StatusLines(out, monotonic=lambda: now)
    said = []
    for second in range(130):
        now = float(second)
        if second == 100:
            lines.write("batch_applied", batch_id=1, records=1, tables={})
        written = out.tell()
        lines.write("idle", end_offsets={}, set_aside=0)
        if out.tell() > written:
            said.append(second)
    # At once, after a minute, and at once after a batch.
    assert said == [0, 60, 100]


def test_the_replica_has_the_same_names() -> None:
    out = io.StringIO()
    lines = ReplicaLines(out, "json", "shop")
    lines.write("idle", cut=3)
    lines.wait(Message(job_errors.NO_MIRROR, {}), 0.5)
    idle, waiting = map(json.loads, out.getvalue().splitlines())
    assert (idle["message"], idle["cdc.cut"], idle["labels.pipeline"]) == ("idle", 3, "shop")
    assert (idle["log.level"], idle["event.dataset"]) == ("info", "binlog-connector.replica")
    assert (waiting["log.level"], waiting["error.code"]) == ("warning", job_errors.NO_MIRROR.code)
    assert waiting["cdc.seconds"] == 0.5


def test_a_name_that_is_no_text_is_not_in_the_lines() -> None:
    out = io.StringIO()
    open_lines(out, "json", 7).write("stopped", end_offsets={})
    assert "labels.pipeline" not in json.loads(out.getvalue())


def test_batches_without_a_record_are_told_seldom() -> None:
    out = io.StringIO()
    now = 0.0
    lines = StatusLines(out, monotonic=lambda: now)
    said = []
    for second in range(200):
        now = float(second)
        before = out.getvalue().count("\n")
        # Offsets go on until second 50: of a table that is set aside.
        offsets = {"p.shop.t": {"0": second}} if second <= 50 else {}
        records = 1 if second == 12 else 0
        tables: dict[str, object] = {"shop.t": {}} if records else {}
        lines.write(
            "batch_applied", batch_id=second, records=records, tables=tables, end_offsets=offsets
        )
        if out.getvalue().count("\n") > before:
            said.append(second)
    assert said == [0, 5, 10, 12, 13, 18, 23, 28, 33, 38, 43, 48, 53, 113, 173]
    told = [json.loads(line)["cdc.end_offsets"] for line in out.getvalue().splitlines()]
    reached = [0, 5, 10, 12, 13, 18, 23, 28, 33, 38, 43, 48, 50]
    assert told == [{"p.shop.t": {"0": at}} for at in reached] + [{}, {}]


def test_a_job_says_at_once_that_it_is_idle_also_after_a_batch_of_offsets_alone() -> None:
    out = io.StringIO()
    lines = StatusLines(out, monotonic=lambda: 7.0)
    for event, records in (
        ("batch_applied", 3), ("batch_applied", 0), ("idle", 0), ("idle", 0), ("batch_applied", 0),
        ("batch_applied", 1), ("idle", 0),
    ):  # fmt: skip
        lines.write(event, records=records, tables={}, end_offsets={"p.shop.t": {"0": 9}})
    said = [json.loads(line)["message"] for line in out.getvalue().splitlines()]
    assert said == ["batch_applied", "batch_applied", "idle", "batch_applied", "idle"]


def test_a_line_names_what_moved_since_the_line_before_it() -> None:
    out = io.StringIO()
    lines = StatusLines(out, monotonic=lambda: 7.0)
    for event, records, topic in (
        ("batch_applied", 1, "a"), ("idle", 0, None), ("idle", 0, "b"), ("stopped", 0, None),
        ("idle", 0, None),
    ):  # fmt: skip
        moved = {} if topic is None else {topic: {"0": 9}}
        lines.write(event, records=records, tables={}, end_offsets=moved)
    said = [json.loads(line)["cdc.end_offsets"] for line in out.getvalue().splitlines()]
    # The second line `idle` was left out: the next line has what it had to say.
    assert said == [{"a": {"0": 9}}, {}, {"b": {"0": 9}}, {}]


def report_of(count: int) -> BatchReport:
    tables = {
        f"shop.t{n:05}": TableReport(n, n, 0, 0, None, 8 * n, lag_seconds=n / 8)
        for n in range(count)
    }
    return BatchReport(3.5, 7, tables, {}, [], {"plan": 0.5})


def test_a_line_of_ten_thousand_tables_has_four_kilobytes_and_counts_the_rest() -> None:
    moved = {f"p.shop.größe_{n:05}": {"0": n} for n in range(10_000)}
    out = io.StringIO()
    lines = open_lines(out, "json", "shop")
    aside = [f"shop.t{n:05}" for n in range(9_000)]
    lines.write("started", name="shop", topics="x", set_aside=aside)
    facts = report_of(10_000).table_facts()
    lines.write("batch_applied", records=7, end_offsets=moved, **facts)
    started, applied = out.getvalue().splitlines()
    assert 3000 < len(started.encode()) <= LINE_BYTES
    assert 3000 < len(applied.encode()) <= LINE_BYTES
    begun, line = facts_of(json.loads(started)), facts_of(json.loads(applied))
    assert begun["set_aside"] == aside[: len(begun["set_aside"])]
    assert begun["left_out"] == {"set_aside": 9_000 - len(begun["set_aside"])}
    # The busiest first.
    assert list(line["tables"])[:2] == ["shop.t09999", "shop.t09998"]
    assert line["tables"]["shop.t09999"]["changes"] == 9_999
    assert line["left_out"] == {
        "tables": 10_000 - len(line["tables"]),
        "end_offsets": 10_000 - len(line["end_offsets"]),
    }
    totals = line["totals"]
    assert (totals["tables"], totals["changes"]) == (9_999, 49_995_000)
    assert totals["lag_seconds"] == 9_999 / 8


def test_a_line_of_few_tables_names_all_of_them() -> None:
    line = written("batch_applied", records=7, **report_of(3).table_facts())
    assert list(line["cdc.tables"]) == ["shop.t00002", "shop.t00001", "shop.t00000"]
    assert "cdc.left_out" not in line


def test_tables_that_nobody_loads_are_told_once_and_together() -> None:
    out = io.StringIO()
    told = Notices(StatusLines(out))
    names = [f"shop.t{n:05}" for n in range(3000)]
    problems = {name: Message(load_errors.NO_SOURCE, {"table": name}) for name in names}
    narrow = {"table": "shop.a", "path": "/m/shop/a", "columns": ["n"]}
    shard = {"shop.a": Message(shard_errors.SHARD_LOAD, narrow)}
    for _ in range(2):
        told.note_loads(problems | shard)
    told.note_loads(problems)
    told.note_loads(problems | shard)
    lines = out.getvalue().splitlines()
    assert all(len(line.encode()) <= LINE_BYTES for line in lines)
    first, second, third = [facts_of(json.loads(line)) for line in lines]
    assert (first["tables"], first["code"]) == (["shop.a"], "M743")
    assert second["code"] == "M321"
    assert second["error"] == problems[names[0]].text
    assert second["tables"] == names[: 3000 - second["left_out"]["tables"]]
    assert third["tables"] == ["shop.a"]


def test_what_a_catalog_refuses_without_need_is_told_once() -> None:
    out = io.StringIO()
    told = Notices(StatusLines(out))
    facts = {"catalog": "http://c", "doing": "POST /namespaces/shop/tables", "why": "no right"}
    why = Message(catalog_errors.RIGHTS, facts)
    restriction = Message(catalog_errors.NO_NEW_TABLES, {"refusal": "M817", "why": why})
    # Each query of a job tries the catalog.
    for own in (restriction, restriction, None, restriction):
        told.note_restriction(own)
    lines = [facts_of(json.loads(line)) for line in out.getvalue().splitlines()]
    assert [(line["event"], line["code"]) for line in lines] == [("no_new_tables", "M832")] * 2
    assert "[M817] the Iceberg catalog http://c does not permit POST" in lines[0]["error"]


def _turn_without_threads() -> None:
    message = "can't start new thread"
    raise RuntimeError(message)


def test_what_ends_a_turn_of_publishing_is_told_with_its_place_and_its_trace() -> None:
    out = io.StringIO()
    with pytest.raises(RuntimeError) as caught:
        _turn_without_threads()
    Notices(StatusLines(out)).note_failed_turn(caught.value)
    trace, told = (facts_of(json.loads(line)) for line in out.getvalue().splitlines())
    assert trace["stack_trace"].endswith("RuntimeError: can't start new thread\n")
    assert (told["event"], told["code"]) == ("none_published", iceberg_errors.TURN_FAILED.code)
    number = _turn_without_threads.__code__.co_firstlineno + 2
    assert told["error"].startswith(
        "Iceberg tables are not published: RuntimeError: can't start new thread, at "
    )
    assert f"tests/stream_jobs/report/test_ecs_line.py:{number};" in told["error"]


def test_an_error_with_a_code_needs_no_trace() -> None:
    out = io.StringIO()
    error = MirrorError(iceberg_errors.CONFLICT, path="shop/orders", number=42)
    Notices(StatusLines(out)).note_failed_turn(error)
    (told,) = (facts_of(json.loads(line)) for line in out.getvalue().splitlines())
    assert (told["event"], told["error"]) == ("none_published", error.text)


def test_what_takes_long_is_told_after_ten_seconds_and_then_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    told = Notices(StatusLines(out))
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for second in range(0, 160, 5):
        now = float(second)
        told.note_work("a batch is being applied", 3.0 if second < 120 else 118.0)
    lines = [facts_of(json.loads(line)) for line in out.getvalue().splitlines()]
    assert [(line["event"], line["seconds"]) for line in lines] == [
        ("working", 12),
        ("working", 72),
        ("working", 12),
    ]
