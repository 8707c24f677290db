"""Records of the beginnings and ends of source transactions, in `<prefix>.transaction`.

They are Debezium's, with ids that equal the header `cdc.txn` of the rows::

    key    {"id": "3e11fa47-…:23"}
    BEGIN  {"status": "BEGIN", "id": …, "event_count": null, "data_collections": null, "ts_ms": …}
    END    {"status": "END", "id": …, "event_count": 3, "data_collections":
            [{"data_collection": "shop.orders", "event_count": 3}], "ts_ms": …}

The counts are of row records, without tombstones; a transaction without rows has no records here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, final

from connector.contract import TRANSACTION_TOPIC_SUFFIX, control_topic
from connector.records.record import NO_HEADERS, RecordTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_extensions import i64

    from connector.changes.transaction import SourceTransaction

_US_PER_MS: Final = 1000


@final
class TransactionRecords(RecordTarget):
    """Passes records on, and writes the beginnings and ends of their transactions."""

    def __init__(self, prefix: str, target: RecordTarget) -> None:
        """Write to `target`."""
        self._topic = control_topic(prefix, TRANSACTION_TOPIC_SUFFIX)
        self._target = target
        self._open: SourceTransaction | None = None
        # Number of row records, by `database.table`.
        self._counts: dict[str, int] = {}
        self._table = ""

    def enter(self, transaction: SourceTransaction, database: str, table: str) -> None:
        """Note that the next rows belong to this table, and to `transaction`."""
        if transaction is not self._open:
            self._open = transaction
            self._counts = {}
        self._table = f"{database}.{table}"

    def leave(self, transaction: SourceTransaction) -> None:
        """Write the end of `transaction`, if it had rows."""
        if self._open is transaction and self._counts:
            collections: list[dict[str, object]] = [
                {"data_collection": table, "event_count": count}
                for table, count in self._counts.items()
            ]
            self._put(transaction, "END", sum(self._counts.values()), collections)
        self._open = None

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Count a row record and give it to the target; raises the target's errors."""
        opened = self._open
        # Records other than rows have no headers.
        if opened is not None and value is not None and headers != NO_HEADERS:
            # Checked first, because a record that is not taken must not be counted.
            self.require_room(topic, key, value, headers)
            self.require_topic(topic)
            if not self._counts:
                self._put(opened, "BEGIN", None, None)
            self._counts[self._table] = self._counts.get(self._table, 0) + 1
        self._target.take(topic, key, value, headers, timestamp_ms)

    def require_room(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """Raise the target's error for a record that is too large for it."""
        self._target.require_room(topic, key, value, headers)

    def require_topic(self, topic: str) -> None:
        """Raise the target's error for a topic that cannot be created."""
        self._target.require_topic(topic)

    def _put(
        self,
        transaction: SourceTransaction,
        status: str,
        count: int | None,
        collections: list[dict[str, object]] | None,
    ) -> None:
        timestamp_ms = transaction.committed_us // _US_PER_MS
        value: dict[str, object] = {
            "status": status,
            "id": transaction.id,
            "event_count": count,
            "data_collections": collections,
            "ts_ms": timestamp_ms,
        }
        self._target.take(
            self._topic, _json({"id": transaction.id}), _json(value), NO_HEADERS, timestamp_ms
        )


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
