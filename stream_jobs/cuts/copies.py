"""The tables that the connector copies: they do not have all rows of any moment.

Each state of a copy is a record of `<prefix>.snapshot`, in the Kafka transaction of the rows that
it counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.contract import SNAPSHOT_TOPIC_SUFFIX, control_topic
from connector.contract.documents import read_document
from stream_jobs.source.ranges import OffsetRange, read_ranges

if TYPE_CHECKING:
    from connector.contract import SnapshotRecord
    from stream_jobs.source.client import KafkaClient

COPYING: Final = "the connector is copying it"
_REASONS: Final = {
    "waiting": COPYING,
    "copying": COPYING,
    "failed": "its copy has failed",
}


class CopiesTopic:
    """Follows `<prefix>.snapshot`, which Kafka compacts: it is short."""

    def __init__(self, client: KafkaClient, prefix: str) -> None:
        """Read the topic of the pipelines with `prefix`."""
        self._client = client
        self.topic = control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX)
        self._read_to = 0
        # By the key of a copy: its table, and why that does not have all rows.
        self._incomplete: dict[bytes, tuple[str, str]] = {}

    def incomplete(self, end: int) -> dict[str, str]:
        """Return the tables that are not copied up to offset `end`, and why.

        Raises MirrorError if the brokers do not answer.
        """
        if end < self._read_to:
            # The topic was made again.
            self._read_to = 0
            self._incomplete.clear()
        if end > self._read_to:
            first = self._client.first_offsets([(self.topic, 0)])[self.topic, 0]
            wanted = OffsetRange(self.topic, 0, max(first, self._read_to), end)
            for _, columns in read_ranges(self._client, [wanted]):
                for key, value in zip(columns.keys, columns.values, strict=True):
                    self._take(key or b"", value)
            self._read_to = end
        return dict(self._incomplete.values())

    def _take(self, key: bytes, value: bytes | None) -> None:
        self._incomplete.pop(key, None)
        try:
            record: SnapshotRecord = read_document(value or b"{}")
            name, reason = f"{record['database']}.{record['table']}", _REASONS[record["phase"]]
        except (ValueError, KeyError, TypeError):
            return  # it is complete, or of another program
        self._incomplete[key] = name, reason
