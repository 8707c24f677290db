"""A table without a key: each row must be in the mirror as often as at the source.

Equal rows cannot be told apart, so rows are counted, at one moment:

1. A consistent snapshot of the source is taken. What it has is waited for, in the topic and in the
   mirror.
2. The rows of the mirror are counted, and those in the snapshot, by one SELECT: without a key,
   no other SELECT could continue where one stops.
3. The topic's records say what the mirror has and the snapshot has not. This is taken back.

Then both sides have the same counts, however often rows change meanwhile. If it is not known
whether the snapshot has some changes of the table, it is taken again. If that does not help, the
rows of these changes stay open, and all others are proven.

Nothing is locked: the log's own names of transactions say what the snapshot has. *MariaDB* says at
which position of the log a snapshot was taken. *MySQL* does not. There the snapshot has all
transactions of gtid_executed as it was before, because a GTID joins this set when its transaction
is visible. And it has no transaction that begins at or after the end of the log as it was
afterwards. The snapshot may have the transactions between the two, or not.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final, NamedTuple, Self

import numpy as np
import pyarrow as pa

from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid
from connector.foundation.contract import OP_CREATE, OP_DELETE, OP_UPDATE, Sequence
from connector.foundation.errors import DecodeError, SourceRefused
from connector.stream.snapshot import copy_errors, watermark
from connector.stream.snapshot.keyset import select_rows
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.errors import MirrorError
from verification import verify_errors
from verification.digests import Digest, RowCounter, SideCounts, digest_pairs, row_digests
from verification.mirror_side import MirrorSide
from verification.pipeline import DeliveredState, Pipeline
from verification.repair import ALL_ROWS, copy_again
from verification.report import Difference, TableResult
from verification.source_table import SourceTable
from verification.table_check import Limits
from verification.table_topic import TopicRecord

# Which operations have rows in an image, and how many more of them the source then has.
_IMAGES = {"before": ((OP_DELETE, OP_UPDATE), -1), "after": ((OP_CREATE, OP_UPDATE), 1)}


@dataclass
class ConcurrentChanges:
    """The changes that a snapshot does not have, or perhaps not."""

    low: DeliveredState
    # Whether they say all: a copy or a truncate does not name the rows that are gone.
    is_complete: bool = True
    # Of these changes, the rows, and how many more of each.
    changes: list[tuple[Keys, int]] = field(default_factory=list)
    # Of the changes that the snapshot perhaps has, in order.
    perhaps: dict[Digest, list[int]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        pipeline: Pipeline,
        source: SourceTable,
        mirror: MirrorSide,
        low: DeliveredState,
        moment: "SnapshotPosition",
    ) -> "ConcurrentChanges":
        """Read what the mirror has and the snapshot of this moment has not.

        `low` is what was delivered before the snapshot was taken. Raises as `Pipeline.records`.
        """
        own = cls(low)
        names = source.schema.database, source.schema.table
        for records in pipeline.records(*names, low.ends, mirror.offsets):
            known = [moment.has(record) for record in records]
            epochs = {Sequence.parse(record.sequence).epoch for record in records}
            ops = np.array([record.op for record in records])
            # In another epoch, positions are those of another log.
            are_changes = np.isin(ops, (OP_CREATE, OP_UPDATE, OP_DELETE)).all()
            own.is_complete &= bool(are_changes) and epochs == {low.epoch}
            if not own.is_complete:
                break
            are_open = np.array([is_later is not True for is_later in known])
            are_unknown = np.array([is_later is None for is_later in known])
            values = [record.value for record in records]
            for image, (its_ops, sign) in _IMAGES.items():
                rows = row_digests(source.typed(values, image), mirror.columns)
                has_image = np.isin(ops, its_ops)
                own.changes.append((rows.take(are_open & has_image), sign))
                for digest in digest_pairs(rows.take(are_unknown & has_image)):
                    own.perhaps.setdefault(digest, []).append(sign)
        return own

    def take_back(self, tally: RowCounter) -> None:
        """Let the mirror have only what the snapshot has for sure."""
        for rows, sign in self.changes:
            tally.add(rows, mirror=-sign)

    def is_open(self, digest: Digest, counts: SideCounts) -> bool:
        """Return whether the changes that the snapshot perhaps has explain these counts."""
        more = counts.source - counts.mirror
        steps = self.perhaps.get(digest, [])
        return bool(steps) and -steps.count(-1) <= more <= steps.count(1)

    def rows(
        self, pipeline: Pipeline, source: SourceTable, mirror: MirrorSide
    ) -> Iterator[pa.Table]:
        """Yield the rows of all changes: some are now on neither side."""
        names = source.schema.database, source.schema.table
        for records in pipeline.records(*names, self.low.ends, mirror.offsets):
            for image in _IMAGES:
                yield source.typed([record.value for record in records], image)


# Rows are encoded in pieces of this size, between which the source may be spared.
_PIECE_BYTES: Final = 256 * 1024
# While the source is spared, it waits with the rows.
_WRITE_SECONDS: Final = 7 * 24 * 3600


class SnapshotPosition(NamedTuple):
    """What a snapshot has."""

    gtid_set: GtidSet | None  # all of these; None: everything that begins before the position
    position: watermark.LogPosition  # nothing that begins here or later

    def has(self, record: TopicRecord) -> bool | None:
        """Return whether it has the change of a record; None if nobody knows."""
        sequence = Sequence.parse(record.sequence)
        if watermark.LogPosition(sequence.file, sequence.position) >= self.position:
            return False
        if self.gtid_set is None:
            return True
        try:
            is_old = GtidSet.parse(record.transaction) <= self.gtid_set
        except DecodeError:
            # A transaction without a GTID: the server is about to get them, or to lose them.
            return None
        return True if is_old else None

    def has_transaction(
        self, place: watermark.LogPosition, gtid: Gtid | MariadbGtid | None
    ) -> bool | None:
        """Return whether it has a transaction that begins at `place`; None if nobody knows."""
        if place >= self.position:
            return False
        if self.gtid_set is None:
            return True
        return True if isinstance(gtid, Gtid) and gtid in self.gtid_set else None


def take_snapshot(
    session: SelectSession, delivered: watermark.DeliveredPosition
) -> SnapshotPosition:
    """Let a session have a snapshot, instead of an earlier one, that has what was `delivered`."""
    session.query(f"SET SESSION net_write_timeout = {_WRITE_SECONDS}")
    if session.identity.flavour == "mariadb":
        least = delivered.position or watermark.log_end(session)
        return SnapshotPosition(None, watermark.open_snapshot(session, least, Event()))
    session.query("ROLLBACK")
    if delivered.gtid_set is not None:
        watermark.wait_until_visible(session, delivered.gtid_set)
    (row,) = session.query("SELECT @@GLOBAL.gtid_executed AS found")
    executed = GtidSet.parse((row["found"] or "").replace("\n", ""))
    session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    return SnapshotPosition(executed, watermark.log_end(session))


class SourceSnapshot:
    """A session with a snapshot of one table; a context manager closes it."""

    def __init__(self, pipeline: Pipeline, source: SourceTable) -> None:
        """Connect.

        Raises MirrorError if the server cannot tell what a snapshot has, and as
        `Pipeline.open_session`.
        """
        identity = pipeline.session.identity
        if not source.has_snapshots or not (identity.flavour == "mariadb" or identity.gtid):
            raise MirrorError(verify_errors.NO_MOMENT, table=source.schema.name)
        self._source = source
        self._pace = pipeline.pace
        # The session of the snapshot is busy while rows come.
        self._asking = pipeline.session
        self._opened = ExitStack()
        self._session = self._opened.enter_context(pipeline.open_session())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def take(self, delivered: watermark.DeliveredPosition) -> SnapshotPosition:
        """Take a snapshot, instead of an earlier one, that has what was `delivered`."""
        return take_snapshot(self._session, delivered)

    def query(self, sql: str) -> list[dict[str, str | None]]:
        """Run a statement that sees the snapshot; raises the errors of the session."""
        return self._session.query(sql)

    def rows(self) -> Iterator[pa.Table]:
        """Yield all rows.

        Unless all are taken, the session cannot be used again. Raises SourceRefused if the table
        changes, MirrorError for a row that a mirror cannot hold, and the errors of the session.
        """
        source, table = self._source, self._source.selected
        pieces = self._session.read_chunks(select_rows(table, (), ""), table.writer(), _PIECE_BYTES)
        is_last = False
        while not is_last:
            # The session of the snapshot is busy: another one asks what the source says.
            with self._pace.read(self._asking, Event(), source.schema.name) as turn:
                chunk, is_last = next(pieces)
                turn.rows = chunk.count
            if chunk.refused:
                raise chunk.refused[0].error
            if chunk.count:
                yield source.typed(chunk.values(), "after")
        schema = source.schema
        if SelectedTable.describe(self._asking, schema.database, schema.table) != table:
            raise SourceRefused(copy_errors.OTHER_TABLE_NOW)


_SNAPSHOTS_MAX: Final = 10


@dataclass
class _CheckResult:
    """What one comparison found."""

    differences: dict[Digest, Difference] = field(default_factory=dict)
    unsettled: int = 0
    has_more: bool = False


class KeylessTableCheck:
    """Compares one table without a key."""

    def __init__(
        self,
        pipeline: Pipeline,
        source: SourceTable,
        mirror: MirrorSide,
        limits: Limits,
        result: TableResult,
        show: Callable[[int, int], None],
    ) -> None:
        """Fill `result`; `show` gets the rows that were read, and about how many there are."""
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        self._limits = limits
        self._result = result
        self._show = show
        self._done = 0
        self._live = mirror.snapshot.live_rows

    def run(self) -> None:
        """Compare. Raises MirrorError if it cannot be done, and the errors of reading."""
        result, limits = self._result, self._limits
        if limits.sample is not None:
            raise MirrorError(verify_errors.NO_RANGES, table=result.name)
        result.missing_columns = self._mirror.missing_columns
        check = self._compared()
        if check.differences and limits.repairs:
            settings, patience = self._pipeline.settings, limits.patience_seconds
            copy_again(settings, result.name, ALL_ROWS, patience)
            before = check.differences
            check = self._compared()
            if not check.unsettled:
                result.repaired = [
                    difference
                    for digest, difference in before.items()
                    if digest not in check.differences
                ]

    def _compared(self) -> _CheckResult:
        """Compare; a snapshot that is lost with its session takes along what it has shown."""
        return self._pipeline.patience.again(self._compare)

    def _compare(self) -> _CheckResult:
        """Compare all rows, and put what is found into the result."""
        result, mirror = self._result, self._mirror
        result.rows = result.mirror_rows = 0
        with SourceSnapshot(self._pipeline, self._source) as snapshot:
            meanwhile = self._taken(snapshot)
            check = _CheckResult(unsettled=1)
            if meanwhile.is_complete:
                check = self._found(snapshot, meanwhile)
        result.differences = list(check.differences.values())
        result.unsettled = check.unsettled
        result.has_more = check.has_more
        result.version = mirror.snapshot.version
        result.transaction = mirror.last_transaction
        return check

    def _taken(self, snapshot: SourceSnapshot) -> ConcurrentChanges:
        """Take a snapshot, some times if nobody knows what it has of the table's changes."""
        meanwhile = self._since(snapshot)
        for _ in range(_SNAPSHOTS_MAX - 1):
            if meanwhile.is_complete and not meanwhile.perhaps:
                break
            self._show(self._done, self._live)
            meanwhile = self._since(snapshot)
        return meanwhile

    def _since(self, snapshot: SourceSnapshot) -> ConcurrentChanges:
        """Take a snapshot; return what the mirror has and the snapshot has not."""
        pipeline, source, mirror = self._pipeline, self._source, self._mirror
        names = source.schema.database, source.schema.table
        low = pipeline.low(*names)
        moment = snapshot.take(low.delivered)
        ends = pipeline.wait_until_delivered(pipeline.reached(), *names)
        mirror.wait_until_applied(
            ends,
            lambda offsets: any(pipeline.records(*names, offsets, ends)),
            self._limits.patience_seconds,
        )
        return ConcurrentChanges.read(pipeline, source, mirror, low, moment)

    def _found(self, snapshot: SourceSnapshot, meanwhile: ConcurrentChanges) -> _CheckResult:
        result, mirror = self._result, self._mirror
        check = _CheckResult()
        unequal: dict[Digest, SideCounts] = {}
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            tally = RowCounter(Path(folder), self._live + self._source.estimated_rows)
            for data in mirror.batches(mirror.snapshot):
                tally.add(row_digests(data, mirror.columns), mirror=1)
                result.mirror_rows += data.num_rows
                self._count(data.num_rows)
            for data in snapshot.rows():
                tally.add(row_digests(data, mirror.columns), source=1)
                result.rows += data.num_rows
                self._count(data.num_rows)
            meanwhile.take_back(tally)
            different = 0
            for digest, counts in tally.unequal():
                if meanwhile.is_open(digest, counts):
                    continue
                different += digest in meanwhile.perhaps
                if len(unequal) == self._limits.differences_max:
                    check.has_more = True
                    break
                unequal[digest] = counts
        check.unsettled = len(meanwhile.perhaps) - different
        check.differences = self._named(unequal, snapshot, meanwhile)
        return check

    def _named(
        self,
        unequal: Mapping[Digest, SideCounts],
        snapshot: SourceSnapshot,
        meanwhile: ConcurrentChanges,
    ) -> dict[Digest, Difference]:
        """Find the values of rows, wherever they are."""
        pipeline, source, mirror = self._pipeline, self._source, self._mirror
        differences: dict[Digest, Difference] = {}
        for data in chain(
            mirror.batches(mirror.snapshot),
            snapshot.rows(),
            meanwhile.rows(pipeline, source, mirror),
        ):
            if len(differences) == len(unequal):
                break
            for place, digest in enumerate(digest_pairs(row_digests(data, mirror.columns))):
                counts = unequal.get(digest)
                if counts is not None and digest not in differences:
                    row = {name: data[name][place].as_py() for name in mirror.columns}
                    if counts.source > counts.mirror:
                        differences[digest] = Difference("missing", {}, row, None, counts=counts)
                    else:
                        differences[digest] = Difference("surplus", {}, None, row, counts=counts)
        return differences

    def _count(self, rows: int) -> None:
        """Show that so many more rows were read, of one side."""
        self._done += rows
        self._show(self._done, self._live + max(self._live, self._source.estimated_rows))
