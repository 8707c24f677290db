"""The record that closes each Kafka transaction: how far the stream has been delivered.

*Resumption.* The record is committed together with its rows, so a restart reads exactly the state
that consumers see: no change is written to Kafka twice, and none is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from connector.contract import PROGRESS_TOPIC_SUFFIX
from connector.errors import DecodeError, kafka_records
from connector.records.record import Record

if TYPE_CHECKING:
    from connector.contract import PreparedXaRecord


@dataclass(slots=True)
class Progress:
    """The fields of `contract.ProgressRecord`."""

    flavour: str
    gtid_set: str | None
    file: str
    position: int
    epoch: int
    seq: str
    server_uuid: str
    instance: str
    host: str
    pid: int
    committed_at_ms: int
    added_columns: dict[str, list[list[str]]] = field(default_factory=dict)
    online_changes: dict[str, dict[str, list[list[str]]]] = field(default_factory=dict)
    changed_tables: list[str] = field(default_factory=list)
    current_schemas: dict[str, str] = field(default_factory=dict)
    stated_schemas: dict[str, str] = field(default_factory=dict)
    cascaded_rows: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    between: int = 0
    commands_offset: int = 0
    signals_offset: int | None = None
    signals_file: str = ""
    prepared: list[PreparedXaRecord] = field(default_factory=list)
    file_created: int = 0
    source: str = ""
    begun_events: int = 0
    begun_rows: int = 0
    source_time_us: int = 0

    def encode(self, prefix: str, name: str) -> Record:
        """Return the record of pipeline `name` in `<prefix>.progress`."""
        # `asdict` would copy every value, and the values are what JSON knows.
        value = {name: getattr(self, name) for name in _NAMES}
        return Record(
            topic=progress_topic(prefix),
            key=name.encode(),
            value=_JSON.encode(value).encode(),
            headers=[],
            timestamp_ms=self.committed_at_ms,
        )

    @classmethod
    def decode(cls, value: bytes, record_name: str) -> Progress:
        """Read the value of a progress record; `record_name` names it in errors.

        Raises DecodeError if this version did not write it.
        """
        try:
            return cls(**json.loads(value))
        except (ValueError, TypeError) as error:
            raise DecodeError(kafka_records.PROGRESS, record=record_name, why=str(error)) from error


_NAMES = tuple(one.name for one in fields(Progress))
_JSON = json.JSONEncoder(separators=(",", ":"))


def progress_topic(prefix: str) -> str:
    """Return the topic of progress records."""
    return f"{prefix}.{PROGRESS_TOPIC_SUFFIX}"
