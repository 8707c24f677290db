"""Headers of records, as Kafka's client gives them."""

from __future__ import annotations

from typing import Any

from connector.contract import HEADER_PIPELINE, HEADER_SEQ, SEQ_DIGITS


def header_of(record: Any, name: str) -> bytes | None:
    """Return a header of a record; None without one."""
    for header, value in record.headers:
        if header == name:
            found: bytes | None = value
            return found
    return None


def sequence_of(record: Any) -> bytes | None:
    """Return the digits of cdc.seq; None if the record has no such header."""
    value = header_of(record, HEADER_SEQ)
    return value if value is not None and len(value) == SEQ_DIGITS and value.isdigit() else None


class Writers:
    """Tells the records of a pipeline from those that others write to the same topics."""

    def __init__(self, pipeline: str, shared: frozenset[str]) -> None:
        """Take the name of the pipeline, and the topics to which others may write."""
        self._pipeline = pipeline.encode()
        self._shared = shared

    def is_other(self, record: Any) -> bool:
        """Return whether another pipeline or another program has written a record."""
        if record.topic not in self._shared:
            return False
        pipeline = header_of(record, HEADER_PIPELINE)
        return pipeline != self._pipeline and (pipeline is not None or sequence_of(record) is None)

    def own_sequence(self, record: Any) -> bytes | None:
        """Return what `sequence_of` does; None for a record of somebody else."""
        return None if self.is_other(record) else sequence_of(record)
