"""What the status says of the mirrors: by the figures that the two other processes really serve."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import stream_jobs.run.metrics
import stream_jobs.run.metrics_server
import verification.metrics
from connector.foundation import http_server
from connector.foundation.errors.message import Message
from connector.foundation.http_server import Endpoints
from connector.foundation.settings.sections import MetricsSettings
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.status.conditions import conditions
from connector.stream.status.mirror_status import MirrorWatch, fetch_mirror_status
from connector.stream.status.model import (
    Condition,
    JobFailure,
    Level,
    MirrorStatus,
    State,
    from_json,
    to_json,
)
from connector.stream.status.page import html
from connector.stream.status.terminal import render_status
from stream_jobs.errors import job_errors
from stream_jobs.run import metrics_server
from stream_jobs.run.job_state import RunFailure
from stream_jobs.tables.quarantine_files import QuarantinedTable
from tests.integration.harness import wait_until
from tests.integration.operation.test_metrics import free_port
from tests.stream.status.examples import facts_with
from verification.source_moment import SourceMoment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.registry import Collector

TOPIC = "shop.shop.t"
NAME = "shop.<b>or\u202eders"
ASIDE = QuarantinedTable(TOPIC, NAME, "1", "2026-11-24T18:14:48+00:00", "M225", "why", 0, 7, {})


@contextmanager
def serving(figures: Collector) -> Iterator[str]:
    """Serve figures as each process does; yield the address."""
    address = f"127.0.0.1:{free_port()}"
    with http_server.serving(Endpoints(figures, lambda: (True, ""), lambda: (True, "")), address):
        yield address


@contextmanager
def serving_job(figures: stream_jobs.run.metrics.JobMetrics, address: str) -> Iterator[None]:
    """Serve what the job does."""
    with metrics_server.metrics_server(figures, address):
        yield


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """Answer everything in one way; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def job() -> stream_jobs.run.metrics.JobMetrics:
    """Return the figures of a job that is two minutes late with a table."""
    figures = stream_jobs.run.metrics.JobMetrics("mirror", started_at=time.time() - 120)
    figures.opened()
    figures.applied_at = time.monotonic() - 3
    figures.tables[TOPIC] = stream_jobs.run.metrics.TableMetrics(
        "shop", NAME.partition(".")[2], committed_ms=1_790_000_000_000, version=42, rows=1000,
        dead_rows=0, files=3, bytes=1,
    )  # fmt: skip
    figures.note_ends({TOPIC: {"0": 10}}, time.time())
    return figures


def comparison(differences: int) -> verification.metrics.VerificationMetrics:
    """Return the figures of a comparison that has finished with a table."""
    figures = verification.metrics.VerificationMetrics("shop")
    figures.is_connected = True
    figures.keep([("shop", NAME.partition(".")[2])])
    (table,) = figures.tables.values()
    table.differences, table.is_finished, table.tried_at = differences, True, time.monotonic()
    return figures


def asked(mirror: str | None, verify: str | None) -> MirrorStatus:
    facts = fetch_mirror_status(MetricsSettings(mirror=mirror, verify=verify))
    assert facts is not None
    return facts


def states_of(facts: MirrorStatus) -> list[State]:
    return [one.state for one in conditions_of(facts)]


def conditions_of(facts: MirrorStatus) -> list[Condition]:
    figures = PipelineMetrics("shop", turn_seconds_max=60.0)
    figures.begin_run()
    figures.kafka.answer()
    return conditions(figures, 0.02, facts)


def test_tables_of_the_job_and_the_comparison_are_shown_together() -> None:
    with (
        serving(stream_jobs.run.metrics_server.MetricsCollector(job())) as mirror,
        serving(verification.metrics.MetricsCollector(comparison(2))) as verify,
    ):
        facts = asked(mirror, verify)
    assert (facts.job_note, facts.verify_note, facts.set_aside) == ("", "", 0)
    assert facts.last_batch_seconds is not None
    assert 3 <= facts.last_batch_seconds < 60
    (table,) = facts.tables
    assert (table.name, table.rows, table.files, table.version) == (NAME, 1000, 3, 42)
    assert (table.last_commit, table.differences) == (1_790_000_000, 2)
    assert table.lag_seconds is not None
    assert 100 < table.lag_seconds < 300
    assert states_of(facts) == [State.MIRROR_DIFFERS, State.MIRROR_LAGGING, State.STREAMING]
    differing = facts_with(Condition(State.MIRROR_DIFFERS, Level.CRITICAL, "why"), mirror=facts)
    page = html(differing)
    assert "2 rows</strong> differed" in page
    assert "<b>" not in page
    assert "\u202e" not in page
    assert from_json(to_json(differing)) == differing
    out = StringIO()
    Console(file=out, width=160).print(render_status(differing))
    assert "2 rows differed" in out.getvalue()
    assert "\u202e" not in out.getvalue()


def test_a_mirror_that_keeps_up_is_not_a_condition() -> None:
    figures = job()
    figures.note_offsets({TOPIC: {"0": 10}})
    with (
        serving(stream_jobs.run.metrics_server.MetricsCollector(figures)) as mirror,
        serving(verification.metrics.MetricsCollector(comparison(0))) as verify,
    ):
        facts = asked(mirror, verify)
    assert states_of(facts) == [State.STREAMING]
    assert "equal, " in html(facts_with(mirror=facts))


def test_a_mirror_is_equal_through_a_moment_of_the_source() -> None:
    figures = comparison(0)
    (table,) = figures.tables.values()
    table.equal_through = SourceMoment(1_772_366_399_123_000, f"{'a' * 80}:1-42")
    address = f"127.0.0.1:{free_port()}"
    with verification.metrics.metrics_server(figures, address, 60.0):
        facts = asked(None, address)
    (mirror,) = facts.tables
    assert mirror.equal_through == 1_772_366_399.123
    assert mirror.equal_through_transactions == f"…{'a' * 55}:1-42"
    shown = facts_with(mirror=facts)
    assert 'equal through <time datetime="2026-03-01T11:59:59' in html(shown)
    assert ":1-42</span>" in html(shown)
    out = StringIO()
    Console(file=out, width=200).print(render_status(shown))
    assert "equal through 2026-03-01 11:59:59" in out.getvalue()
    assert from_json(to_json(shown)) == shown


def test_tables_that_are_set_aside_need_somebody() -> None:
    figures = job()
    figures.set_aside = lambda: {TOPIC: ASIDE}
    with serving(stream_jobs.run.metrics_server.MetricsCollector(figures)) as mirror:
        facts = asked(mirror, None)
    assert facts.set_aside == 1
    (said,) = [one for one in conditions_of(facts) if one.state is State.MIRROR_SET_ASIDE]
    assert said.reason == (
        f"the Spark job cannot go on with {NAME} [M225]; `binlog-connector-mirror status` says why"
    )
    page = html(facts_with(said, mirror=facts))
    assert "1 table set aside" in page
    assert '<tr role="row" class="critical">' in page
    assert "; <code>binlog-connector-mirror status</code> says why" in page
    assert "<b>" not in page


def test_a_job_that_failed_is_remembered_with_its_reason() -> None:
    figures = job()
    figures.streaming = False
    failure = RunFailure("2026-11-24T18:14:48+00:00", "M502", "/data: No space left on device")
    address = f"127.0.0.1:{free_port()}"
    settings = MetricsSettings(mirror=address)
    with serving_job(figures, address):
        before = fetch_mirror_status(settings)
        figures.failure = failure
        failed = fetch_mirror_status(settings, before)
    gone = fetch_mirror_status(settings, failed)
    for facts in (failed, gone):
        assert facts is not None
        assert facts.job_failure == JobFailure(1_795_544_088.0, "M502", failure.error)
        (said,) = [one for one in conditions_of(facts) if one.state is State.MIRROR_FAILED]
        assert said == Condition(
            State.MIRROR_FAILED,
            Level.CRITICAL,
            f"the Spark job at {address} failed at 2026-11-24 18:14:48 UTC: {failure.error}",
            "M502",
        )
    figures.streaming = True
    with serving_job(figures, address):
        again = fetch_mirror_status(settings, gone)
    assert again is not None
    assert State.MIRROR_FAILED not in states_of(again)
    out = StringIO()
    Console(file=out, width=160).print(render_status(facts_with(mirror=again)))
    assert f"the run before failed at 2026-11-24 18:14:48 UTC: {failure.error}" in out.getvalue()
    # It ran, and is gone without a word: what the run before it failed with is not why.
    killed = fetch_mirror_status(settings, again)
    assert killed is not None
    assert states_of(killed) == [State.MIRROR_AWAY, State.STREAMING]


def test_what_a_job_waits_for_is_said_in_place_of_an_older_failure() -> None:
    figures = job()
    figures.streaming = False
    figures.failure = RunFailure(
        "2026-11-24T18:14:48+00:00", "M502", "/data: No space left on device"
    )
    away = Message(job_errors.KAFKA_FAILED, {"servers": ["kafka:9092"], "said": "no answer"})
    figures.interrupted(away)
    address = f"127.0.0.1:{free_port()}"
    with serving_job(figures, address):
        facts = asked(address, None)
    assert facts.job_note == f"its stream is not open: {away}"
    said = f"the Spark job at {address}: its stream is not open: {away}"
    assert Condition(State.MIRROR_AWAY, Level.WARNING, said) in conditions_of(facts)
    assert State.MIRROR_FAILED not in states_of(facts)


def test_processes_that_are_not_well_are_named() -> None:
    closed = f"127.0.0.1:{free_port()}"
    late = job()
    late.streaming = False
    apart = comparison(0)
    apart.is_connected = False
    with (
        serving(stream_jobs.run.metrics_server.MetricsCollector(late)) as mirror,
        serving(verification.metrics.MetricsCollector(apart)) as verify,
    ):
        facts = asked(mirror, verify)
    assert facts.job_note == "its stream is not open"
    assert facts.verify_note == "source or Kafka does not answer it"
    facts = asked(closed, closed)
    assert facts.job_note.startswith("it does not answer: ")
    assert facts.verify_note == facts.job_note
    assert facts.tables == []
    assert states_of(facts) == [State.MIRROR_AWAY, State.MIRROR_AWAY, State.STREAMING]
    assert f"the Spark job at {closed}: it does not answer" in html(facts_with(mirror=facts))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>"),
        (200, b"\xff\xfe"),
        (200, b'binlog_connector_mirror_up{pipeline="x'),
        (200, b"binlog_connector_mirror_up one"),
        (200, b"up 1\n"),
        (404, b"binlog_connector_mirror_up 1\n"),
    ],
)
def test_another_program_is_not_believed(status: int, body: bytes) -> None:
    with answering(status, body) as address:
        assert asked(address, None).job_note == "another program answers"


def test_only_what_is_configured_is_asked() -> None:
    assert fetch_mirror_status(MetricsSettings()) is None
    with serving(verification.metrics.MetricsCollector(comparison(0))) as verify:
        watch = MirrorWatch(MetricsSettings(verify=verify))
        try:
            wait_until(lambda: watch.facts is not None, lambda: "nobody has asked")
        finally:
            watch.close()
    assert watch.facts is not None
    assert watch.facts.job_address is None
