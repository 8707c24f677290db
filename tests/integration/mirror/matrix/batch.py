"""Applies all that the topics of a run hold, in one batch of all tables, and publishes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.run.assembly import batch_applier
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.offset_stream import RangeStreamReader
from stream_jobs.source.topics import OffsetRange
from tests.integration.mirror.conftest import make_settings, run_in_process

if TYPE_CHECKING:
    from pathlib import Path

_RECORDS = 10_000_000


def apply_all(bootstrap: str, prefix: str, folder: Path) -> dict[str, str]:
    """Apply what the topics hold; return the code of each topic whose table cannot go on."""
    settings = make_settings(bootstrap, prefix, folder, mirror={"formats": ["delta", "iceberg"]})
    kafka = settings.kafka
    client = KafkaClient(kafka.facts())
    try:
        applier = batch_applier(settings, client, run_in_process, lambda: 2)
        reader = RangeStreamReader(kafka.facts(), prefix, _RECORDS, "no secret")
        reader.prepareForTriggerAvailableNow()
        end = reader.latestOffset({}, reader.getDefaultReadLimit())
        rows = [row for part in reader.partitions({}, end) for row in part.ranges]
        report = applier.apply([OffsetRange(*row) for row in rows])
        publication = applier.iceberg
        assert publication is not None
        # The newest cut, and then what has come after it.
        for _ in range(2):
            publication.publish()
        return {each.topic: each.code for each in report.quarantined}
    finally:
        client.close()
