"""What consumers see of tables that were copied, compared with what the source had.

Of every transaction that was committed: whoever applies the records in their order has the rows of
the source behind the progress that came with them; all of them where a copy is complete, none that
are outdated or gone elsewhere. So a row of a copy can never come behind a newer change of its key.
And the copies leave the records of the stream as they are, to the byte.

Rows that foreign keys have changed without a trace may be outdated, or there although they are
gone: while the progress says that they are to be copied, and until the copy is complete.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from connector.foundation.contract import (
    HEADER_OP,
    HEADER_SCHEMA,
    HEADER_SEQ,
    OP_DELETE,
    OP_TRUNCATE,
    row_topic,
)
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.snapshot.table_state import snapshot_topic
from tests.simulation.run import NAME, PREFIX
from tests.simulation.story import DATABASE, KEYLESS
from tests.simulation.table_history import TableContent

if TYPE_CHECKING:
    from connector.foundation.kafka_records import Record
    from tests.simulation.broker import Broker, PartitionId, Transaction
    from tests.simulation.log_writer import LogWriter
    from tests.simulation.table_history import Rows, TableHistory

_TOPICS = f"{PREFIX}.{DATABASE}."


@dataclass
class _Folded:
    """What the records of a table lead to."""

    rows: Rows = field(default_factory=dict)
    phase: str = ""
    # Of copies of a part, by request.
    phases: dict[str, str] = field(default_factory=dict)
    # Whether a foreign key has changed rows that are not copied yet.
    cascaded: bool = False
    # Rows of copies since all rows were gone, by id; and copies of a part that began meanwhile.
    copied: Counter[int] = field(default_factory=Counter)
    parts: int = 0


class CopyVerdict:
    """Folds what was committed, transaction by transaction."""

    def __init__(self, history: TableHistory, writers: dict[str, LogWriter]) -> None:
        """Compare with `history`; `writers` are those of the servers, by UUID."""
        self._history = history
        self._writers = writers
        self._tables: dict[str, _Folded] = defaultdict(_Folded)
        self._groups = 0
        self.copied = 0  # rows of copies that were seen
        self.begun = 0  # copies
        self.taken_back = 0  # rows that copies found to be gone

    def check(self, broker: Broker, tables: tuple[str, ...]) -> None:
        """Check everything that was committed; `tables` are those that have to be there then."""
        seen: dict[PartitionId, list[Record]] = defaultdict(list)
        for transaction in broker.committed:
            for partition_id, record in transaction.records:
                seen[partition_id].append(record)
            self._take(transaction)
            self._check_tables()
        for topic, partitions in broker.topics.items():
            for number in range(len(partitions)):
                partition_id = topic, number
                assert broker.visible(partition_id) == seen.get(partition_id, []), (
                    f"{partition_id}: not as committed"
                )
                if topic.startswith(_TOPICS):
                    check_rising(seen.get(partition_id, []))
        assert self._groups == len(self._history.behind) - 1
        for table in tables:
            content = self._history.behind[-1][table]
            folded = self._tables[table]
            assert folded.phase in ("complete", "failed") or not content.exists, table
            assert folded.rows == content.rows, table

    def _take(self, transaction: Transaction) -> None:
        states = [
            record for (topic, _), record in transaction.records if topic == snapshot_topic(PREFIX)
        ]
        for record in states:
            self._count(record)
        # Between partitions sequences tell the order: all rows are gone that come before a `t`.
        rows = [
            (sequence_of(record), topic.removeprefix(_TOPICS), record)
            for (topic, _), record in transaction.records
            if topic.startswith(_TOPICS)
        ]
        for _, table, record in sorted(rows, key=lambda row: row[0]):
            self._fold(table, self._tables[table], record)
        between = [
            json.loads(record.value)["source"]
            for _, _, record in rows
            if record.value is not None and b'"snapshot":"true"' in record.value
        ]
        taken = [
            (table, json.loads(record.value))
            for _, table, record in rows
            if record.value is not None and _is_taken_back(record)
        ]
        for record in states:
            self._take_state(record)
        for (topic, _), record in transaction.records:
            if topic == progress_topic(PREFIX):
                assert record.value is not None
                progress = Progress.decode(record.value, "progress")
                before = self._groups
                self._take_progress(progress)
                writer = self._writers[progress.server_uuid]
                for source in between:
                    _check_time(source, writer)
                for table, value in taken:
                    at = value["source"]["file"], value["source"]["pos"]
                    # After a failover, the position is unknown until the first transaction.
                    groups = writer.groups_before[at] if at[0] else before
                    self._check_taken_back(table, value["before"]["id"], groups)

    def _check_taken_back(self, table: str, row_id: int, groups: int) -> None:
        """Check that the source had no such row behind so many groups."""
        self.taken_back += 1
        content = self._history.behind[groups].get(table, TableContent({}))
        is_there = row_id in content.rows and not self._tables[table].cascaded
        assert not is_there, f"row {row_id} of {table} behind group {groups}"

    def _count(self, record: Record) -> None:
        """Count a copy that begins."""
        table, request, phase = _state(record)
        if phase == "waiting":
            self.begun += 1
            self._tables[table].parts += bool(request)

    def _take_state(self, record: Record) -> None:
        table, request, phase = _state(record)
        if not request:
            self._tables[table].phase = phase
        self._tables[table].phases[request] = phase

    def _take_progress(self, progress: Progress) -> None:
        if progress.file:
            # After a failover, the position is unknown until the first transaction.
            writer = self._writers[progress.server_uuid]
            before = self._groups
            self._groups = writer.groups_before[progress.file, progress.position]
            for changed in self._history.cascaded[before + 1 : self._groups + 1]:
                for table in changed:
                    self._tables[table].cascaded = True
        awaited = {*progress.cascaded_rows.get(DATABASE, {})}
        for table, folded in self._tables.items():
            if table not in awaited and not {"waiting", "copying"} & {*folded.phases.values()}:
                folded.cascaded = False

    def _fold(self, table: str, folded: _Folded, record: Record) -> None:
        if record.value is None:
            return
        value = json.loads(record.value)
        op, rows = value["op"], folded.rows
        if op == "t":
            rows.clear()
            folded.copied.clear()
            return
        before, after = value["before"], value["after"]
        if (op in "ud" and table == KEYLESS) or op == "d":
            rows.pop(before["id"], None)
        if op == "d":
            return
        row_id = after["id"]
        if op == "r":
            self.copied += 1
            folded.copied[row_id] += 1
            again = folded.copied[row_id] - 1
            assert again <= folded.parts, f"row {row_id} of {table} was copied before"
        rows[row_id] = after["text"]

    def _check_tables(self) -> None:
        behind = self._history.behind[self._groups]
        for table, folded in self._tables.items():
            if folded.cascaded:
                continue
            content = behind.get(table, TableContent({}))
            wanted = content.rows
            outdated = {i: text for i, text in folded.rows.items() if wanted.get(i) != text}
            assert not outdated, f"{table} behind group {self._groups}: {outdated}"
            if folded.phase == "complete":
                missing = {i: text for i, text in wanted.items() if i not in folded.rows}
                assert not missing, f"{table} behind group {self._groups}: no {missing}"


def _check_time(source: dict[str, Any], writer: LogWriter) -> None:
    """Check that a record between two transactions has the time of the one before it."""
    at = source["file"], source["pos"]
    groups = writer.groups_before[at] if at[0] else 0
    if groups:
        # Before the first transaction of the stream, it is another time of the source.
        assert source["ts_us"] == writer.committed_us[groups], at


def _state(record: Record) -> tuple[str, str, str]:
    """Return the table, the request of a copy of a part, and the phase."""
    assert record.key is not None
    table, _, request = record.key.decode().removeprefix(f"{NAME}/{DATABASE}.").partition("/")
    return table, request, "" if record.value is None else json.loads(record.value)["phase"]


def sequence_of(record: Record) -> bytes:
    """Return where a record of a row stands in the order of changes."""
    found: bytes = dict(record.headers)[HEADER_SEQ]
    return found


def check_rising(records: list[Record]) -> None:
    """Check that sequences rise; a tombstone has that of its delete."""
    last = b""
    for record in records:
        sequence = sequence_of(record)
        assert sequence > last or (record.value is None and sequence == last), sequence
        last = sequence


def streamed(broker: Broker, *, of: tuple[str, ...]) -> dict[PartitionId, list[Record]]:
    """Return what is visible of the rows of tables `of` that comes from the stream."""
    topics = [row_topic(PREFIX, DATABASE, table) for table in of]
    return {
        (topic, number): [
            _without_schema(record)
            for record in _without_taken_back(broker.visible((topic, number)))
            if record.value is None or b'"snapshot":"false"' in record.value
        ]
        for topic in topics
        if topic in broker.topics
        for number in range(len(broker.topics[topic]))
    }


def _without_taken_back(records: list[Record]) -> list[Record]:
    """Return the records without those that take rows back, and their tombstones."""
    taken = {sequence_of(record) for record in records if _is_taken_back(record)}
    return [record for record in records if sequence_of(record) not in taken]


def _is_taken_back(record: Record) -> bool:
    is_delete = dict(record.headers)[HEADER_OP] == OP_DELETE.encode()
    return is_delete and record.value is not None and b'"snapshot":"true"' in record.value


def _without_schema(record: Record) -> Record:
    """Return the record; one that says that all rows are gone without the newest column list.

    A copy may have written a newer one.
    """
    headers = dict(record.headers)
    if headers.get(HEADER_OP) != OP_TRUNCATE.encode():
        return record
    return record._replace(
        headers=[header for header in record.headers if header[0] != HEADER_SCHEMA]
    )
