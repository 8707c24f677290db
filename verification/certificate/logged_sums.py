"""What the log of the source says of a table's checksums: how each transaction has changed them.

From the checksums of a snapshot, those of each earlier moment follow: what a transaction has added
is taken away, and what it has taken away is added.

MySQL names the transactions that a snapshot has for sure. Behind them in the log are others, of
which it may have some. It has each as a whole or not at all. So if its rows are those that the log
gives after one of these transactions, the snapshot is of this moment. If they are those after
several of them, the table was the same at all these moments.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from connector.binlog.event import EventBody
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import file_number
from connector.binlog.statement import Statement, StatementKind
from connector.binlog.transactions.transaction import Transaction, changed_rows_in, transactions_of
from connector.replication.log_search import add_gtid
from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.errors import MirrorError
from verification.certificate import range_sums
from verification.digests import Digest, keys_by_digest
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.log_states import ROLLBACKS, change_of, is_named, note_of, with_times
from verification.foreign.logged_rows import LoggedImages, LoggedRows, Take
from verification.foreign.row_states import Change, Value
from verification.foreign.shared_log import log_since, opened_log, require_row_log
from verification.foreign.source_rows import SourceRows
from verification.key_ranges import KeyRanges
from verification.keyless_check import SnapshotPosition
from verification.row_text import RowText
from verification.source_table import RowKey

_US: Final = 1_000_000
# Of which a snapshot is asked for its rows.
_KEYS_MAX: Final = 10_000

# Of a range: rows, and the two sums.
RangeDifference = list[int]


@dataclass(slots=True)
class OpenChanges:
    """What transactions have changed in one table that were being committed at its snapshot."""

    mapping: ColumnMapping
    # By the place of each transaction, in the order of the log: rows of keys, before and after it.
    steps: dict[str, dict[Digest, tuple[Value, Value]]] = field(default_factory=dict)
    _keys: dict[Digest, RowKey] = field(default_factory=dict)

    def take(self, images: LoggedImages, rows: LoggedRows) -> None:
        """Add the images of transactions that have a step."""
        are_open = np.array([change.place in self.steps for change in images.changes], np.bool_)
        if not are_open.any():
            return
        mapping = self.mapping
        digests = mapping.keys(images.data)
        named = keys_by_digest(images.data, mapping.key, digests, np.flatnonzero(are_open))
        self._keys |= zip(*named, strict=True)
        rows.add_all(images, self._add)

    def keys_of(self, places: Sequence[str]) -> dict[Digest, RowKey]:
        """Return the keys of rows that some transactions have changed."""
        return {key: self._keys[key] for place in places for key in self.steps[place]}

    def count_in(self, places: Sequence[str], seen: Mapping[Digest, Value]) -> int | None:
        """Return how many of some transactions a snapshot has, whose rows of their keys are `seen`.

        None if it has them in another order than the log.
        """
        state: dict[Digest, Value] = {}
        for place in places:
            for key, (before, _) in self.steps[place].items():
                state.setdefault(key, before)
        found = 0 if state == seen else None
        for number, place in enumerate(places, 1):
            state |= {key: after for key, (_, after) in self.steps[place].items()}
            if state == seen:
                found = number
        return found

    def _add(self, key: Digest, before: Value, after: Value, change: Change) -> None:
        step = self.steps.get(change.place)
        if step is not None:
            first, _ = step.get(key, (before, after))
            step[key] = first, after


class Beginning(NamedTuple):
    """Where a transaction begins."""

    place: LogPosition
    text: str  # FILE:POSITION
    gtid: Gtid | MariadbGtid | None


@dataclass(slots=True)
class TableTransaction:
    """A transaction that has changed the table."""

    beginning: Beginning
    change: Change
    # What it has added to the checksums of ranges, by the places of these.
    sums: dict[int, RangeDifference] = field(default_factory=dict)
    rows: int = 0
    # Whether the rows that it has changed are not known.
    is_opaque: bool = False


class EqualMoment(NamedTuple):
    """A moment at which the source had certain checksums."""

    gtid_set: str | None
    position: str  # FILE:POSITION
    committed_at: str | None  # of the last change of the table before it; None: not in this log
    changes: int  # rows that were taken back to get there


class LoggedSums:
    """Reads the log of one server for one table, from a moment on."""

    def __init__(
        self,
        source: SourceRows,
        mapping: ColumnMapping,
        text: RowText,
        since_us: int,
    ) -> None:
        """Begin at `since_us`, microseconds since 1970. Raises the errors of a server."""
        require_row_log(source.session)
        self._source = source
        self._names = source.schema.database, source.schema.table
        self._rows = LoggedRows(source.selected.schema, mapping)
        self._text = text
        self._key = mapping.key[0] if source.key_number is not None else None
        start, _ = log_since(source.server, since_us / _US)
        self._gtids_before = start.gtid_set
        self._position = f"{start.file}:{start.position}"
        self._every: list[Beginning] = []
        self._own: list[TableTransaction] = []
        self._by_name: dict[str, TableTransaction] = {}
        # Those of which nobody knows whether the first snapshot has them, and all later ones.
        self._open = OpenChanges(mapping)
        self._moment = SnapshotPosition(None, LogPosition(0, 0))

    def read(self, ranges: KeyRanges, moment: SnapshotPosition) -> None:
        """Read on up to the end of the log; `ranges` are always the same.

        Keep what a snapshot of this `moment` perhaps has, and what comes later. Raises the errors
        of a server, EventError, and MirrorError if the columns were changed.
        """
        times: dict[tuple[str, int], int] = {}
        self._moment = moment

        def take(images: LoggedImages) -> None:
            self._take(images, ranges)

        with opened_log(self._source.server, self._position) as log:
            # The end of the log was seen before.
            end_us = self._source.server_time_us()
            for transaction in transactions_of(with_times(log.events(), times)):
                committed = times.pop((transaction.file, transaction.position), 0)
                change = change_of(transaction, committed, end_us)
                self._read(transaction, change, take)
        self._rows.finish(take)
        self._position = f"{log.name}:{log.position}"

    def end_of_snapshot(
        self, rows_of: Callable[[Mapping[Digest, RowKey]], Mapping[Digest, Value]]
    ) -> LogPosition | None:
        """Return where the log ends for the snapshot of the last `read`; None if nobody knows.

        `rows_of` returns the rows that the snapshot has of some keys, None for each other key.
        """
        end = self._moment.position
        before = [own for own in self._own if own.beginning.place < end]
        known = [self._has(own) for own in before]
        if None not in known:
            return end
        perhaps = before[known.index(None) :]
        places = [own.change.place for own in perhaps]
        keys = self._open.keys_of(places)
        if len(keys) > _KEYS_MAX or any(own.is_opaque for own in perhaps):
            return None
        count = self._open.count_in(places, rows_of(keys))
        if count is None:
            return None
        return end if count == len(perhaps) else perhaps[count].beginning.place

    def equal_moment(
        self, more: dict[int, RangeDifference], end: LogPosition
    ) -> EqualMoment | None:
        """Return the last moment at which a snapshot had no `more` than the other side has.

        `more` has what the snapshot, for which the log ends at `end`, has more, by the places of
        ranges. None if the log has no such moment.
        """
        left = {place: list(numbers) for place, numbers in more.items() if any(numbers)}
        own = [each for each in self._own if each.beginning.place < end]
        changes = 0
        while left and own:
            last = own.pop()
            if last.is_opaque:
                return None
            for place, numbers in last.sums.items():
                before = left.get(place, [0] * len(numbers))
                left[place] = [n - added for n, added in zip(before, numbers, strict=True)]
                if not any(left[place]):
                    del left[place]
            end, changes = last.beginning.place, changes + last.rows
        if left:
            return None
        place = bisect_left(self._every, end, key=lambda each: each.place)
        return EqualMoment(
            self._gtids(self._every[:place]),
            self._every[place].text if place < len(self._every) else self._position,
            own[-1].change.time if own else None,
            changes,
        )

    def _gtids(self, transactions: list[Beginning]) -> str | None:
        known = self._gtids_before
        if known is None:
            return None
        gtids: GtidSet | MariadbGtidSet = known.copy()
        for each in transactions:
            if each.gtid is not None:
                add_gtid(gtids, each.gtid)
        return str(gtids)

    def _read(self, transaction: Transaction, change: Change, take: Take) -> None:
        place = LogPosition(file_number(transaction.file), transaction.position)
        position = f"{transaction.file}:{transaction.position}"
        beginning = Beginning(place, position, transaction.gtid)
        self._every.append(beginning)
        own = TableTransaction(beginning, change)
        while (event := transaction.next_event()) is not None:
            rows = changed_rows_in(event)
            if rows is None:
                if self._is_opaque(event.body, own):
                    own.is_opaque = True
                    self._add(own)
            elif (rows.table_map.schema, rows.table_map.table) == self._names:
                self._add(own)
                self._rows.read(event, rows, change, take)

    def _add(self, own: TableTransaction) -> None:
        if own.change.place not in self._by_name:
            self._by_name[own.change.place] = own
            self._own.append(own)
            if self._open.steps or not self._has(own):
                self._open.steps[own.change.place] = {}

    def _has(self, own: TableTransaction) -> bool | None:
        return self._moment.has_transaction(own.beginning.place, own.beginning.gtid)

    def _is_opaque(self, body: EventBody, own: TableTransaction) -> bool:
        """Return whether an event of a transaction hides what this has changed in the table.

        Rows of an XA transaction are in the log before anybody sees them, and rows before a
        rollback, if they are in the log, are no longer there. Raises MirrorError for a statement
        after which the table has other columns.
        """
        if not isinstance(body, QueryEvent):
            return isinstance(body, MariadbGtidEvent) and body.prepared_xa
        ignores_case = self._source.server.ignores_case
        note = note_of(body, ignores_case=ignores_case)
        if note is None or not isinstance(note, Statement):
            return note is not None
        if note.kind in ROLLBACKS:
            return own.change.place in self._by_name
        if not is_named(self._names, note, ignores_case=ignores_case):
            return False
        if note.kind is StatementKind.TRUNCATE:
            return True
        facts = {"table": ".".join(self._names), "statement": note.kind.value}
        raise MirrorError(foreign_errors.TABLE_CHANGED, **facts) from self._rows.failure

    def _take(self, images: LoggedImages, ranges: KeyRanges) -> None:
        """Add images to what their transactions have changed."""
        self._open.take(images, self._rows)
        hashes = range_sums.hashes(self._text.of_rows(images.data)).tolist()
        places = range_sums.places_of(images.data, self._key, ranges).tolist()
        for number, place in enumerate(places):
            is_after = images.are_after[number]
            own = self._by_name[images.changes[number].place]
            own.is_opaque |= bool(images.partial[number])
            own.rows += is_after or images.operations[number] == "delete"
            sums = own.sums.setdefault(place, [0, 0, 0])
            for part, value in enumerate((1, *hashes[number])):
                sums[part] += value if is_after else -value
