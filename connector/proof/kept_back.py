"""Looks up in the quarantine whether a missing record is kept back there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.proof.digits import EVENT_DIGITS, row_of
from connector.quarantine.core.record import GONE, ROWS
from connector.quarantine.topic_reader import read_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.contract import QuarantineRecord
    from connector.envelope.topics import Topics
    from connector.settings.sections import Settings


class KeptBack:
    """The records of the quarantine; sequences are asked for in their order."""

    def __init__(self, settings: Settings, topics: Topics, *, exists: bool) -> None:
        """Read the topic when something is missing; `exists` says whether there is one.

        `topics` are those of the tables.
        """
        self._topics = topics
        self._records = self._read(settings) if exists else iter(())
        self._next: QuarantineRecord | None = None
        self._event = b""
        # The records of `_event`.
        self._kept: list[QuarantineRecord] = []

    def has(self, sequence: bytes, topic: str) -> bool:
        """Return whether the change with `sequence` of the table of `topic` is kept back.

        Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
        """
        event = sequence[:EVENT_DIGITS]
        if event != self._event:
            self._event = event
            self._kept = self._of_event(event)
        row = row_of(sequence)
        return any(
            self._topics.of(record["database"], record["table"]) == topic
            and (record["kind"] == GONE or _has_row(record, row))
            for record in self._kept
        )

    def _of_event(self, event: bytes) -> list[QuarantineRecord]:
        found: list[QuarantineRecord] = []
        while True:
            record = self._next or next(self._records, None)
            self._next = record
            if record is None or (of := record["seq"].encode()[:EVENT_DIGITS]) > event:
                return found
            self._next = None
            if of == event:
                found.append(record)

    @staticmethod
    def _read(settings: Settings) -> Iterator[QuarantineRecord]:
        for _, record, _ in read_all(settings.kafka, settings.name):
            yield record


def _has_row(record: QuarantineRecord, row: int) -> bool:
    rest = record["rest"]
    return record["kind"] == ROWS and (
        (rest is not None and row >= rest) or any(kept["row"] == row for kept in record["rows"])
    )
