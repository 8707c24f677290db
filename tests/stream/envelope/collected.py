"""Keeps the records that an encoder writes."""

from __future__ import annotations

from connector.foundation.kafka_records import Record, RecordTarget, decode_headers


class Collected(RecordTarget):
    """A target that tests look into."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: int
    ) -> None:
        self.records.append(Record(topic, key, value, decode_headers(headers), timestamp_ms))

    def release(self) -> list[Record]:
        """Return what has come since the last time."""
        records, self.records = self.records, []
        return records
