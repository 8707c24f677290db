"""What speaks for a reset of the source's logs under an open stream."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import SourceSettings
from connector.replication import dump_errors
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.metrics.source_watch import SourceWatch
from connector.stream.progress import progress_errors
from connector.stream.sink import kafka_errors
from local_stack.server import free_port
from tests.foundation.errors.texts import text_of
from tests.integration.harness import wait_until
from tests.replication.server.impostor import impostor
from tests.stream.metrics.test_lag import NOW, UUID, log, standing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def settings() -> SourceSettings:
    """A server that nobody is: what it says is told here."""
    return SourceSettings(host="127.0.0.1", port=free_port(), server_id=7)


@pytest.fixture
def figures() -> PipelineMetrics:
    return PipelineMetrics("p")


@pytest.fixture
def watch(settings: SourceSettings, figures: PipelineMetrics) -> Iterator[SourceWatch]:
    watch = SourceWatch(settings, figures)
    yield watch
    watch.close()


def doubt_of(figures: PipelineMetrics) -> str:
    doubt = figures.control.doubt
    return "" if doubt is None else doubt.text


def test_a_log_that_ends_before_its_end(
    watch: SourceWatch, figures: PipelineMetrics, settings: SourceSettings
) -> None:
    figures.position = standing("binlog.000001", 100)
    watch.look(log(files={"binlog.000001": 900, "binlog.000002": 500}))
    assert doubt_of(figures) == ""
    watch.look(log(files={"binlog.000001": 900}))
    assert doubt_of(figures) == text_of(
        progress_errors.LOG_WENT_BACK,
        server=f"source 127.0.0.1:{settings.port}",
        end="binlog.000001:900",
        before="binlog.000002:500",
    )


def test_a_file_that_ends_before_the_position_that_was_read(
    watch: SourceWatch, figures: PipelineMetrics, settings: SourceSettings
) -> None:
    figures.position = standing("binlog.000001", 700)
    watch.look(log(files={"binlog.000001": 700}))
    assert doubt_of(figures) == ""
    watch.look(log(files={"binlog.000001": 300, "binlog.000002": 500}))
    assert doubt_of(figures) == text_of(
        progress_errors.FILE_SHRANK,
        server=f"source 127.0.0.1:{settings.port}",
        file="binlog.000001",
        size=300,
        position=700,
    )


def test_a_stream_that_stands_still_is_told_of_once_a_minute(
    watch: SourceWatch, figures: PipelineMetrics
) -> None:
    figures.position = standing("binlog.000009", 200)
    with capture_logs() as entries:
        for seconds in range(0, 180, 5):
            watch.look(log(now=NOW + seconds))
        # A commit, and a stream that has everything, begin anew.
        figures.position = standing("binlog.000009", 250)
        for seconds in range(180, 240, 5):
            watch.look(log(now=NOW + seconds))
        figures.position = standing("binlog.000009", 300, gtid_set=f"{UUID}:1-90")
        for seconds in range(240, 480, 5):
            watch.look(log(now=NOW + seconds))
    # Threads of watches say that they reach nobody.
    told = [entry for entry in entries if "lag_seconds" in entry]
    assert {entry["log_level"] for entry in told} == {"warning"}
    assert [entry["lag_seconds"] for entry in told] == [120, 180]
    assert told[0]["event"] == text_of(kafka_errors.STANDSTILL)
    assert told[0]["code"] == "K325"
    assert (told[0]["lag_bytes"], told[0]["lag_transactions"]) == (100, 10)


def test_a_new_watch_knows_when_the_stream_last_had_everything(
    watch: SourceWatch, figures: PipelineMetrics, settings: SourceSettings
) -> None:
    hours_ago = 9 * 3600.0
    everything = standing("binlog.000009", 300, hours_ago, gtid_set=f"{UUID}:1-90")
    figures.position = everything
    watch.look(log())
    watch.close()
    # The run that follows begins where this one ended, when the source has more.
    figures.position = standing("binlog.000009", 200, hours_ago)
    with closing(SourceWatch(settings, figures)) as following:
        following.look(log(now=NOW + 7))
        assert figures.lag is not None
        assert figures.lag.seconds == 7.0


def test_a_server_that_refuses_the_login_answers(figures: PipelineMetrics) -> None:
    figures.source.lose(SourceUnavailable(dump_errors.CLOSED, server="source db1:3306"))
    denied = b"\xff\x15\x04#28000Access denied"
    with impostor("mysql_native_password", denied) as found:
        settings = SourceSettings(port=found.port, server_id=7, password=SecretStr("p"))
        with closing(SourceWatch(settings, figures)):
            wait_until(lambda: figures.source.up, figures.source.words)
