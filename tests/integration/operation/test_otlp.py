"""A pipeline tells a collector of OpenTelemetry what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stream.metrics.collector import attributes, collecting

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def test_the_batches_of_a_stream_are_spans_and_its_figures_metrics(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    with collecting() as collected:
        with stream.connector(metrics__otlp=f"{collected.address}/") as connector:
            stream.wait_for_changes(2, connector)
            stream.execute("INSERT INTO t VALUES (3)")
            stream.wait_for_changes(3, connector)
            assert connector.terminate() == 0
        spans, metrics = collected.spans(), collected.metrics()
    (records,) = metrics["binlog_connector_records"].sum.data_points
    (commits,) = metrics["binlog_connector_commits"].sum.data_points
    found = [attributes(span) for span in spans]
    assert sum(each["messaging.batch.message_count"] for each in found) == records.as_int
    assert len(found) == commits.as_int
    assert {each["cdc.pipeline"] for each in found} == {stream.prefix}
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    assert found[-1]["cdc.source"] == f"{stream.source.host}:{stream.source.port}"
