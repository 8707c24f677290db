"""The proof that one table is equal on both sides at a cut of the mirror.

The source cannot be read as it was at the cut, so it is read as it is, and what happened since is
taken back:

1. A consistent snapshot of the source is taken after the cut. What it can have seen is waited for
   in the topic. The mirror need not have it.
2. The records after the cut's offsets that the snapshot has are the changes since the cut. Their
   new rows are taken away from the checksums of the snapshot, and their old rows are added.
3. These are the checksums of the source at the cut. The mirror's version of the cut must have them.

If it is not known whether the snapshot has some of the records, it is taken again, before any row
is read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Final, NamedTuple

from connector.binlog.sql_text import quoted_identifier
from connector.foundation.contract import OP_CREATE, OP_DELETE, OP_UPDATE, SchemaColumn, Sequence
from connector.stream.source.information_schema import read_definition
from connector.stream.source.select_session import SelectSession
from stream_jobs.apply.modes.mode import CurrentRows, LastChanges
from stream_jobs.cuts import Cut
from stream_jobs.cuts.cut import CutTable
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from verification.certificate import certificate_errors, range_sums
from verification.key_ranges import KeyNumber, KeyRanges, numbers_of
from verification.keyless_check import SnapshotPosition, SourceSnapshot
from verification.mirror_side import MirrorSide
from verification.pipeline import DeliveredState, Pipeline
from verification.row_text import RowText, columns_without_text, duckdb_name, hides_values
from verification.source_table import SourceTable
from verification.table_topic import LostRecordsError, TopicRecord, require_records

_SNAPSHOTS_MAX: Final = 10
# Which operations have rows in an image, and whether these rows are taken away.
_IMAGES: Final = {"before": ((OP_DELETE, OP_UPDATE), 1), "after": ((OP_CREATE, OP_UPDATE), -1)}


def where_clause(current: CurrentRows | LastChanges) -> str:
    """Return the clause that chooses these rows, in the SQL of DuckDB; "" if all rows are.

    It cannot choose the last changes of keys.
    """
    assert isinstance(current, CurrentRows), "no certificate has the last changes of keys"
    if current.column is None:
        return ""
    return f" WHERE {'' if current.value else 'NOT '}{duckdb_name(current.column)}"


class CutVersion(NamedTuple):
    """A table at the cut."""

    cut: Cut
    own: CutTable
    snapshot: Snapshot
    offsets: Mapping[int, int]  # what it has of the topic, by partition


@dataclass(frozen=True, slots=True)
class ProvenTable:
    """What was found of one table."""

    key: KeyNumber | None
    ranges: KeyRanges
    mirror: range_sums.Sums
    source: range_sums.Sums
    source_sql: str
    table_sql: str
    changes: int  # records that were taken back

    @property
    def different(self) -> list[int]:
        """The places of the ranges that differ."""
        return [
            place
            for place in range(len(self.ranges))
            if self.mirror.rows[place] != self.source.rows[place]
            or self.mirror.totals(place) != self.source.totals(place)
        ]


class TableProof:
    """Reads both sides of one table."""

    def __init__(
        self,
        pipeline: Pipeline,
        source: SourceTable,
        mirror: MirrorSide,
        version: CutVersion,
        show: Callable[[int, int], None],
    ) -> None:
        """Compare at `version`; `show` gets the rows that were read, and about how many there are.

        Raises MirrorError for a table that cannot be certified, and the errors of the session.
        """
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        self._version = version
        self._show = show
        self._done = 0
        self._text = self._exact_text()
        # A table without a key has no number, either.
        self._key = source.key_number if mirror.key else None
        self._key_name = mirror.key[0] if self._key is not None else None

    def run(self) -> ProvenTable:
        """Return the checksums of both sides; raises MirrorError if they cannot be had now."""
        mirror, version = self._mirror, self._version
        with SourceSnapshot(self._pipeline, self._source) as snapshot:
            records = self._taken(snapshot)
            ranges = KeyRanges.whole()
            if self._key is not None:
                keys = map(numbers_of, mirror.keys(version.snapshot))
                live = version.snapshot.live_rows
                ranges = ranges.divided(keys, live, range_sums.ROWS_OF_A_RANGE)
            statements = range_sums.SourceSql(self._source.quoted_name, self._key, self._text)
            sums = self._source_sums(snapshot, statements, ranges)
        changes = self._take_back(records, sums, ranges)
        named = None if self._key is None else (mirror.key[0], self._key)
        return ProvenTable(
            self._key,
            ranges,
            self._mirror_sums(ranges),
            sums,
            statements.whole(ranges),
            range_sums.duckdb_sql(self._text, named, ranges, where_clause(mirror.current)),
            changes,
        )

    def _exact_text(self) -> RowText:
        source, schema = self._source, self._source.schema
        names = self._mirror.columns
        session = self._pipeline.session
        rows = read_definition(session, schema.database, schema.table).columns
        text = RowText.of(session, schema, names, rows)
        if text is not None:
            return text
        if hides_values(session, source.schema):
            raise MirrorError(certificate_errors.MASKED, table=schema.name)
        columns = columns_without_text(schema, names, rows)
        raise MirrorError(certificate_errors.COLUMNS, table=schema.name, columns=columns)

    def _taken(self, snapshot: SourceSnapshot) -> "_Since":
        """Take a snapshot, some times if nobody knows what it has of the table's changes."""
        for _ in range(_SNAPSHOTS_MAX):
            since = self._since(snapshot)
            if since is not None:
                return since
            self._count(0)
        facts = {"table": self._source.schema.name, "count": _SNAPSHOTS_MAX}
        raise MirrorError(certificate_errors.BUSY, **facts)

    def _since(self, snapshot: SourceSnapshot) -> "_Since | None":
        """Take a snapshot; return None if nobody knows what it has."""
        pipeline = self._pipeline
        names = self._source.schema.database, self._source.schema.table
        low = pipeline.low(*names)
        moment = snapshot.take(low.delivered)
        since = _Since(low, moment, pipeline.wait_until_delivered(pipeline.reached(), *names))
        self._require_records(since)
        for records in pipeline.records(*names, self._version.offsets, since.ends):
            known = [moment.has(record) for record in records]
            if None in known:
                return None
            self._refuse_moving([r for r, has in zip(records, known, strict=True) if has], low)
        return since

    def _require_records(self, since: "_Since") -> None:
        """Raise MirrorError if Kafka lacks records after the cut: their changes would stay."""
        pipeline, schema = self._pipeline, self._source.schema
        names = schema.database, schema.table
        firsts = pipeline.beginnings(*names)
        try:
            require_records(pipeline.topic(*names), self._version.offsets, firsts, since.ends)
        except LostRecordsError as lost:
            raise lost.since(self._version.cut.number, schema.name) from lost

    def _refuse_moving(self, records: list[TopicRecord], low: DeliveredState) -> None:
        """Raise MirrorError if records do not name the rows that they change."""
        ops = {record.op for record in records}
        epochs = {Sequence.parse(record.sequence).epoch for record in records}
        # In another epoch, positions are those of another log.
        if not ops <= {OP_CREATE, OP_UPDATE, OP_DELETE} or not epochs <= {low.epoch}:
            facts = {"table": self._source.schema.name, "cut": self._version.cut.number}
            raise MirrorError(certificate_errors.MOVING, **facts)

    def _source_sums(
        self, snapshot: SourceSnapshot, statements: range_sums.SourceSql, ranges: KeyRanges
    ) -> range_sums.Sums:
        pipeline, sums = self._pipeline, range_sums.Sums(len(ranges))
        kind = (self._source.quoted_name, "sums")
        for places, sql in statements.parts(ranges):
            # The session of the snapshot is busy: another one asks what the source says.
            with pipeline.pace.read(pipeline.session, Event(), kind) as turn:
                found, name = snapshot.query(sql), self._source.schema.name
                turn.rows = rows = range_sums.take_rows(sums, places, found, name)
            self._count(rows)
        return sums

    def _take_back(self, since: "_Since", sums: range_sums.Sums, ranges: KeyRanges) -> int:
        """Take back what the snapshot has and the cut has not; return how many records."""
        source = self._source
        names = source.schema.database, source.schema.table
        changes = 0
        for every in self._pipeline.records(*names, self._version.offsets, since.ends):
            records = [record for record in every if since.moment.has(record)]
            changes += len(records)
            for image, (ops, sign) in _IMAGES.items():
                values = [record.value for record in records if record.op in ops]
                if values:
                    rows = source.typed(values, image)
                    places = range_sums.places_of(rows, self._key_name, ranges)
                    sums.add(places, self._text.of_rows(rows), sign=sign)
        # To sum a large table takes long, and old records are deleted meanwhile.
        self._require_records(since)
        return changes

    def _mirror_sums(self, ranges: KeyRanges) -> range_sums.Sums:
        sums = range_sums.Sums(len(ranges))
        for rows in self._mirror.batches(self._version.snapshot):
            sums.add(range_sums.places_of(rows, self._key_name, ranges), self._text.of_rows(rows))
            self._count(rows.num_rows)
        return sums

    def _count(self, rows: int) -> None:
        """Show that so many more rows were read, of one side."""
        self._done += rows
        self._show(self._done, 2 * self._version.snapshot.live_rows)


class _Since(NamedTuple):
    """A snapshot of the source, and where the records end that it can have seen."""

    low: DeliveredState
    moment: SnapshotPosition
    ends: Mapping[int, int]


def version_at(mirror: MirrorSide, table: str, cut: Cut) -> CutVersion:
    """Return a table at a cut. Raises MirrorError if it is not in the cut, or has changed since."""
    own = cut.tables.get(mirror.name_in_cuts)
    if own is None:
        why = cut.left_out.get(table, "it got its first row later")
        raise MirrorError(certificate_errors.LEFT_OUT, table=table, cut=cut.number, why=why)
    snapshot = mirror.log.load_version(own.version)
    has = {column.name for column in snapshot.columns}
    same = own.generation == snapshot.metadata.table_id and has >= set(mirror.columns)
    if not same or mirror.missing_columns:
        raise MirrorError(certificate_errors.MOVING, table=table, cut=cut.number)
    return CutVersion(cut, own, snapshot, Progress.read(snapshot.domains[DOMAIN]).offsets)


def columns_with_zero_dates(
    session: SelectSession, table: str, columns: Iterable[SchemaColumn]
) -> list[str]:
    """Return which columns of a quoted `table` have dates that a mirror cannot hold.

    The parts of a date may be zero, and with ALLOW_INVALID_DATES a month may have 31 days. Raises
    the errors of the session.
    """
    names = [column["name"] for column in columns if column["type"] in _DATES]
    if not names:
        return []
    fields = ", ".join(
        f"MAX({_is_no_date(quoted_identifier(name))}) AS found_{place}"
        for place, name in enumerate(names)
    )
    (row,) = session.query(f"SELECT {fields} FROM {table}")  # noqa: S608 - quoted names
    return [name for place, name in enumerate(names) if row[f"found_{place}"] == "1"]


_DATES: Final = ("date", "datetime", "timestamp")


def _is_no_date(column: str) -> str:
    last = f"DAYOFMONTH(LAST_DAY(DATE_FORMAT({column}, '%Y-%m-01')))"
    parts = " OR ".join(f"{part}({column}) = 0" for part in ("YEAR", "MONTH", "DAYOFMONTH"))
    return f"{parts} OR DAYOFMONTH({column}) > {last}"
