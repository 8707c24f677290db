"""One Kafka record, ready to be sent."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """Bytes for a topic; the sink chooses the partition by the key."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    timestamp_ms: int  # when the source committed

    @property
    def size(self) -> int:
        """Bytes of key, value and headers, as a measure of what is in flight."""
        headers = sum(len(name) + len(value) for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers
