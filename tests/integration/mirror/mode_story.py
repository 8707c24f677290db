"""A random life of a table, published with repetitions, and the changes that a model follows."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from tests.stream_jobs.mode_models import Change, Row
from tests.stream_jobs.topics import PARTITIONS, SOURCE_TS_MS

if TYPE_CHECKING:
    import random

    from connector.foundation.contract import Sequence
    from tests.stream_jobs.topics import JsonRow, Kafka, SourceTable

# Records of each partition that may be sent again.
_REPEATED_MAX = 6


class Repeater:
    """Keeps the last records of each partition, to send them again."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._send = kafka.send
        self._sent: dict[int, deque[tuple[Any, ...]]] = {}
        kafka.send = self._record  # type: ignore[method-assign] # it calls the real one

    def _record(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: dict[str, str],
        partition: int | None = None,
    ) -> None:
        if partition is None:
            partition = crc32(key or b"") % PARTITIONS
        own = self._sent.setdefault(partition, deque(maxlen=_REPEATED_MAX))
        own.append((topic, key, value, headers, partition))
        self._send(topic, key, value, headers, partition)

    def repeat(self, dice: random.Random) -> None:
        """Send the last records of a partition again, in their order."""
        own = self._sent.get(dice.randrange(PARTITIONS), ())
        for record in list(own)[-dice.randint(1, _REPEATED_MAX) :]:
            self._send(*record)


class Story:
    """The changes of a table with the columns `names`; the first one is the key, if it has one."""

    def __init__(self, table: SourceTable, dice: random.Random, keys: int) -> None:
        self.table = table
        self.changes: list[Change] = []
        self._rows: list[Row] = []
        self._dice = dice
        self._keys = keys
        self._has_key = bool(table.key_names)
        self._repeater = Repeater(table.kafka)

    def go_on(self, steps: int) -> None:
        """Publish some statements as one transaction of Kafka."""
        with self.table.kafka.transaction():
            for _ in range(steps):
                self._step()

    def _step(self) -> None:
        dice = self._dice
        kind = dice.choices(
            ("insert", "update", "delete", "truncate", "copy", "copy again", "repeat", "gone"),
            (40, 30, 20, 2, 2, 2, 4, 6),
        )[0]
        if kind == "repeat":
            self._repeater.repeat(dice)
        elif kind == "truncate":
            self._publish("t")
            self._rows = []
        elif kind == "copy" or (kind == "copy again" and self._has_key):
            # A copy of a table without a key always begins with a `t` record.
            if kind == "copy":
                self._publish("t")
            for row in self._rows:
                self._publish("r", None, row)
        elif kind == "gone" and self._has_key:
            self._take_back()
        elif kind == "insert" or not self._rows:
            row = self._new_row()
            if not self._has_key or all(row[0] != each[0] for each in self._rows):
                self._rows.append(row)
                self._publish("c", None, row)
        elif kind == "update":
            self._update(self._rows.pop(dice.randrange(len(self._rows))))
        else:
            row = self._rows.pop(dice.randrange(len(self._rows)))
            self._publish("d", row, None)

    def _take_back(self) -> None:
        """Publish that there is no row with a key, as a copy does: without the other values.

        Perhaps consumers have such a row, because a delete was lost.
        """
        key = self._dice.randrange(self._keys)
        self._rows = [row for row in self._rows if row[0] != key]
        self._publish("d", (key,), None)

    def _update(self, before: Row) -> None:
        after = self._new_row()
        if self._has_key and any(after[0] == each[0] for each in self._rows):
            after = (before[0], after[1])
        self._rows.append(after)
        if self._has_key and before[0] != after[0]:
            seq = self.table.kafka.next_sequence()
            self._publish("d", before, None, seq)
            self._publish("c", None, after, replace(seq, row=1))
        else:
            self._publish("u", before, after)

    def _new_row(self) -> Row:
        dice = self._dice
        return dice.randrange(self._keys), dice.choice((None, "", "a", "b"))

    def _publish(
        self,
        op: str,
        before: Row | None = None,
        after: Row | None = None,
        seq: Sequence | None = None,
    ) -> None:
        seq = seq or self.table.kafka.next_sequence()
        change = Change(seq, SOURCE_TS_MS + seq.position, op, before, after)
        self.changes.append(change)
        if op == "t":
            self.table.send("t", None, None, seq, partition=0, ts_ms=change.ts_ms)
            return
        self.table.send(op, self._json(before), self._json(after), seq, ts_ms=change.ts_ms)

    def _json(self, row: Row | None) -> JsonRow | None:
        if row is None:
            return None
        names = [column["name"] for column in self.table.columns]
        # The row of a copy that is gone has the key alone.
        return dict(zip(names, row, strict=False))
