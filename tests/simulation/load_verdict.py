"""What a mirror has of tables whose first rows the Spark job reads itself, while they change.

Of every transaction that was committed: the id of a load is there before the first change of its
table, a column list before the first row that has it, and no row comes from a SELECT. A load that
begins at any of the progress records then, and whose SELECTs see any later moments, has the rows of
the source as soon as the records of these moments are applied, too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from connector.foundation.contract import HEADER_SCHEMA, OP_READ, OP_TRUNCATE
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.snapshot.table_state import snapshot_topic
from stream_jobs.cuts.state_topics import DeliveredPosition
from tests.simulation.copy_verdict import sequence_of
from tests.simulation.run import NAME, PREFIX
from tests.simulation.story import DATABASE
from tests.simulation.table_history import TableContent

if TYPE_CHECKING:
    from random import Random

    from connector.foundation.kafka_records import Record
    from tests.simulation.broker import Broker, Transaction
    from tests.simulation.log_writer import LogWriter
    from tests.simulation.table_history import TableHistory

_TOPICS = f"{PREFIX}.{DATABASE}."
_NOTHING = TableContent({}, exists=False)


@dataclass
class _Mirror:
    """A table in the mirror."""

    # What the state of its copy says, and in how many groups the id of its load came.
    load: str = ""
    phase: str = ""
    is_followed: bool = False
    known_at: int = 0
    # The number of columns of each of its column lists, by id; the newest last.
    columns: dict[str, int] = field(default_factory=dict)
    # The load that has begun, and the groups that its SELECTs have seen.
    begun: str = ""
    seen: int = 0
    # Text and sequence by id; rows below the floor are gone.
    rows: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    floor: bytes = b""

    @property
    def newest(self) -> int:
        """The number of columns of the newest list."""
        return [*self.columns.values()][-1]

    def truncate(self, sequence: bytes) -> None:
        """Take away all rows before a sequence."""
        self.floor = max(self.floor, sequence)
        self.rows = {row_id: row for row_id, row in self.rows.items() if row[1] >= self.floor}


class LoadVerdict:
    """Loads tables while it applies what was committed, transaction by transaction."""

    def __init__(self, history: TableHistory, writer: LogWriter, random: Random) -> None:
        """Compare with `history`; chance decides when loads begin, and what their SELECTs see."""
        self._history = history
        self._writer = writer
        self._random = random
        self._tables: dict[str, _Mirror] = defaultdict(_Mirror)
        self._groups = 0
        self.loaded = 0  # rows that a load has read
        self.altered = 0  # tables whose columns changed between the id of the load and its columns
        self.waiting = 0  # tables that are not loaded at the end
        self.copied = 0  # rows that came through Kafka, because a load gave way to a copy

    def check(self, broker: Broker, tables: tuple[str, ...]) -> None:
        """Check everything that was committed; `tables` are those that are followed."""
        for number, transaction in enumerate(broker.committed, 1):
            bound = self._take(transaction, tables)
            for table in tables:
                mirror = self._tables[table]
                if number == len(broker.committed) or self._random.random() < 0.3:
                    self._begin(table, mirror, bound)
                if mirror.begun and self._groups >= mirror.seen:
                    self._compare(table, mirror)
        for table in tables:
            mirror, content = self._tables[table], self._content(table)
            assert mirror.phase in ("complete", "failed") or not content.exists, table
            if mirror.begun == mirror.load or not content.exists:
                self._compare(table, mirror)
            else:
                # It was created anew, and no row has shown yet with which columns.
                assert mirror.newest != _columns(content), f"{table} was not loaded"
                self.waiting += 1

    def _content(self, table: str, groups: int | None = None) -> TableContent:
        behind = self._history.behind[self._groups if groups is None else groups]
        return behind.get(table, _NOTHING)

    def _take(self, transaction: Transaction, tables: tuple[str, ...]) -> bytes:
        """Take records; return the sequence that all changes before their end are below."""
        rows = []
        complete: list[str] = []
        progress: Record | None = None
        for (topic, _), record in transaction.records:
            if topic == snapshot_topic(PREFIX):
                complete += self._take_state(record)
            elif topic == schema_topic(PREFIX):
                self._take_columns(record)
            elif topic == progress_topic(PREFIX):
                progress = record
            elif topic.startswith(_TOPICS) and record.value is not None:
                rows.append((sequence_of(record), topic.removeprefix(_TOPICS), record))
        for sequence, table, record in sorted(rows, key=lambda row: row[0]):
            assert table in tables, table
            self._apply(table, sequence, record)
        assert progress is not None
        before, self._groups = self._groups, self._groups_of(progress)
        for table in complete:
            self._check_columns(table, before)
        bound = DeliveredPosition.of(json.loads(progress.value or b"")).bound
        return str(bound.unpack()).encode()

    def _groups_of(self, record: Record) -> int:
        progress = Progress.decode(record.value or b"", "progress")
        return self._writer.groups_before[progress.file, progress.position]

    def _take_state(self, record: Record) -> list[str]:
        """Take the state of a copy; return its table if nothing of a load is missing now."""
        table = (record.key or b"").decode().removeprefix(f"{NAME}/{DATABASE}.")
        state = json.loads(record.value or b"{}")
        load, phase = state.get("load", ""), state.get("phase", "")
        mirror = self._tables[table]
        mirror.is_followed = True
        if load != mirror.load:
            # A copy through Kafka takes its place, or the table is gone.
            assert not load or not mirror.phase, f"{table} has another load"
            mirror.load, mirror.known_at, mirror.begun = load, self._groups, ""
        is_complete = phase == "complete" != mirror.phase and load
        mirror.phase = phase
        return [table] if is_complete else []

    def _check_columns(self, table: str, before: int) -> None:
        """Check the columns of a table whose copy is complete, of a moment after `before`."""
        mirror, contents = self._tables[table], self._history.behind[: self._groups + 1]
        lists = [_columns(behind.get(table, _NOTHING)) for behind in contents]
        assert any(columns in mirror.columns.values() for columns in lists[before:]), table
        # And none that the table will only have.
        assert mirror.newest in lists, table
        self.altered += lists[-1] != lists[mirror.known_at]

    def _take_columns(self, record: Record) -> None:
        name, _, schema_id = (record.key or b"").decode().rpartition("/")
        columns = self._tables[name.removeprefix(f"{DATABASE}.")].columns
        columns.pop(schema_id, None)
        columns[schema_id] = len(json.loads(record.value or b"")["columns"])

    def _apply(self, table: str, sequence: bytes, record: Record) -> None:
        mirror = self._tables[table]
        value: dict[str, Any] = json.loads(record.value or b"")
        assert mirror.is_followed, f"a change of {table} before the state of its copy"
        assert dict(record.headers)[HEADER_SCHEMA].decode() in mirror.columns, table
        if value["op"] == OP_READ:
            assert not mirror.load, f"a row of {table} comes from a SELECT"
            self.copied += 1
        if value["op"] == OP_TRUNCATE:
            mirror.truncate(sequence)
            return
        assert sequence >= mirror.floor, f"a change of {table} after the watermark, and below it"
        before, after = value["before"], value["after"]
        if before is not None:
            mirror.rows.pop(before["id"], None)
        if after is not None:
            mirror.rows[after["id"]] = after["text"], sequence

    def _begin(self, table: str, mirror: _Mirror, bound: bytes) -> None:
        """Load a table behind the records that were taken, if its newest columns are known."""
        content = self._content(table)
        if mirror.begun == mirror.load or not mirror.columns or not content.exists:
            return
        newest = mirror.newest
        if newest != _columns(content):
            return
        # Two SELECTs, each of which sees a moment at which the table has these columns.
        later = range(self._groups, len(self._history.behind))
        moments = list(takewhile(lambda groups: self._has(table, groups, newest), later))
        border = self._random.choice((0, *content.rows))
        seen = [self._random.choice(moments) for _ in range(2)]
        low, high = (self._content(table, moment).rows for moment in seen)
        found = {row_id: text for row_id, text in low.items() if row_id < border}
        found |= {row_id: text for row_id, text in high.items() if row_id >= border}
        mirror.rows = {row_id: (text, bound) for row_id, text in found.items()}
        mirror.floor = bound
        mirror.begun, mirror.seen = mirror.load, max(seen)
        self.loaded += len(found)

    def _has(self, table: str, groups: int, columns: int) -> bool:
        content = self._content(table, groups)
        return content.exists and _columns(content) == columns

    def _compare(self, table: str, mirror: _Mirror) -> None:
        rows = {row_id: text for row_id, (text, _) in mirror.rows.items()}
        assert rows == self._content(table).rows, f"{table} behind group {self._groups}"


def _columns(content: TableContent) -> int:
    return 2 + content.added
