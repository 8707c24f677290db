"""The last lines of the log are the events of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog

from connector.cli.configuration import configure_logging
from connector.foundation.errors import SourceUnavailable, fields
from connector.foundation.settings.sections import LogSettings
from connector.stream.run import run_errors
from connector.stream.status.status_log import RecentEvents

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _default_log() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_each_line_is_kept_with_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    events = RecentEvents()
    configure_logging(LogSettings(format="json"), events)
    log = structlog.get_logger()
    log.info("starting", name="shop")
    log.info("DDL", table="shop.t", gtid=None)
    log.debug("a detail")
    error = SourceUnavailable(run_errors.QUIET, address="db1:3306", seconds=4.0)
    log.warning("interrupted", **fields(error))
    newest, ddl, starting = events.newest_first()
    assert (newest.level, newest.what, newest.code) == (
        "warning", "interrupted", run_errors.QUIET.code,
    )  # fmt: skip
    assert newest.details == {"error": error.text}
    assert (ddl.what, ddl.details) == ("DDL", {"table": "shop.t"})
    assert starting.code is None
    assert capsys.readouterr().err.count("\n") == 3


def test_what_the_log_does_not_write_is_kept_too(capsys: pytest.CaptureFixture[str]) -> None:
    events = RecentEvents()
    configure_logging(LogSettings(level="error"), events)
    structlog.get_logger().info("streaming")
    structlog.get_logger().error("failed")
    assert [event.what for event in events.newest_first()] == ["failed", "streaming"]
    written = capsys.readouterr().err
    assert "failed" in written
    assert "streaming" not in written


def test_repeats_are_one_event_and_periodic_lines_are_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = RecentEvents()
    configure_logging(LogSettings(), events)
    log = structlog.get_logger()
    for seconds in range(5):
        log.warning("interrupted", code="S713", retry_in_seconds=seconds)
        log.info("summary", records=1)
        log.info("copying", table="shop.t")
    log.warning("interrupted", code="S706")
    other, repeated = events.newest_first()
    assert (other.code, other.times, other.last_at) == ("S706", 1, None)
    assert (repeated.code, repeated.times) == ("S713", 5)
    assert repeated.details == {"retry_in_seconds": "4"}
    assert repeated.last_at is not None
    assert repeated.at <= repeated.last_at
    assert capsys.readouterr().err.count("interrupted") == 6


def test_the_last_hundred_are_kept() -> None:
    events = RecentEvents()
    for number in range(150):
        events.keep(None, "info", {"event": f"event {number}", "level": "info"})
    kept = events.newest_first()
    assert (len(kept), kept[0].what, kept[-1].what) == (100, "event 149", "event 50")
