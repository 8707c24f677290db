"""The proof that a version of another program's table has the rows of the source at one moment.

No topic tells what the target has of the source. But a version never changes, so its checksums are
known, and the moment is looked for:

1. A consistent snapshot of the source is taken after the version was chosen, and its checksums are
   computed.
2. The log of the source says what each transaction has changed. From the snapshot backwards, these
   changes are taken back, one transaction after the other.
3. The first moment whose checksums are those of the version is the one through which both are
   equal. A target that lags has an earlier one.

A version that has rows of different age, or half a transaction, has no such moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from connector.stream.snapshot.jobs import PlanJob
from connector.stream.snapshot.table_plan import plan
from connector.stream.snapshot.watermark import DeliveredPosition, LogPosition
from connector.stream.source.information_schema import read_definition
from connector.stream.source.select_session import SelectSession
from stream_jobs.errors import MirrorError
from verification import verify_errors
from verification.certificate import certificate_errors, range_sums
from verification.certificate.logged_sums import EqualMoment, LoggedSums
from verification.digests import Digest, digest_pairs
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.row_states import Value
from verification.foreign.source_rows import SourceRows
from verification.foreign.target import VersionedTarget
from verification.foreign.target_rows import TargetRows
from verification.key_ranges import KeyNumber, KeyRanges
from verification.keyless_check import take_snapshot
from verification.row_text import RowText, columns_without_text
from verification.source_table import RowKey

_SNAPSHOTS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class ProvenVersion:
    """A version of the target, and the moment at which the source had its rows."""

    moment: EqualMoment
    key: KeyNumber | None
    ranges: KeyRanges
    sums: range_sums.Sums
    source_sql: str
    table_sql: str


class ForeignProof:
    """Reads both sides of one table."""

    def __init__(
        self,
        source: SourceRows,
        target: VersionedTarget,
        mapping: ColumnMapping,
        show: Callable[[int, int], None],
    ) -> None:
        """Read the version at which `target` is; `show` gets rows that were read, and of how many.

        Raises MirrorError for a table that cannot be certified.
        """
        self._source = source
        self._target = target
        self._mapping = mapping
        self._show = show
        self._done = 0
        self._text = _exact_text(source, mapping)
        self._key = source.key_number
        self._key_name = None if self._key is None else mapping.key[0]

    def run(self, since_us: int) -> ProvenVersion | None:
        """Return the proof; None if no moment since `since_us` has the rows of the version.

        Raises MirrorError if it cannot be had now, and the errors of reading.
        """
        source = self._source
        rows = TargetRows(self._target, self._mapping)
        ranges = KeyRanges.whole()
        if self._key is not None:
            count = self._target.rows
            ranges = ranges.divided(rows.key_numbers(), count, range_sums.ROWS_OF_A_RANGE)
        statements = range_sums.SourceSql(source.selected.quoted_name, self._key, self._text)
        log = LoggedSums(source, self._mapping, self._text, since_us)
        with source.server.open_session() as session:
            end = self._end_of_snapshot(session, log, ranges)
            theirs = self._source_sums(session, statements, ranges)
        own = self._target_sums(rows, ranges)
        if own is None:
            return None
        more = {
            place: [int(theirs.rows[place] - own.rows[place]), *_more(theirs, own, place)]
            for place in range(len(ranges))
        }
        moment = log.equal_moment(more, end)
        if moment is None:
            return None
        named = None if self._key is None else (self._mapping.key[0], self._key)
        return ProvenVersion(
            moment,
            self._key,
            ranges,
            own,
            statements.whole(ranges),
            range_sums.duckdb_sql(self._text, named, ranges, ""),
        )

    def _end_of_snapshot(
        self, session: SelectSession, log: LoggedSums, ranges: KeyRanges
    ) -> LogPosition:
        """Take a snapshot, some times if nobody knows what it has of the table's changes.

        Return where the log ends for it.
        """
        rows_of = partial(self._rows_of, session)
        for _ in range(_SNAPSHOTS_MAX):
            log.read(ranges, take_snapshot(session, DeliveredPosition(None, None)))
            end = log.end_of_snapshot(rows_of)
            if end is not None:
                return end
        facts = {"table": self._source.schema.name, "count": _SNAPSHOTS_MAX}
        raise MirrorError(certificate_errors.BUSY, **facts)

    def _rows_of(
        self, session: SelectSession, keys: Mapping[Digest, RowKey]
    ) -> dict[Digest, Value]:
        """Return the rows that a session sees of some keys; None for each key without one."""
        mapping = self._mapping
        found: dict[Digest, Value] = dict.fromkeys(keys)
        for rows in self._source.rows_in(session, list(keys.values())):
            data = mapping.of_source(rows)
            found |= zip(digest_pairs(mapping.keys(data)), mapping.values(data), strict=True)
        return found

    def _source_sums(
        self, session: SelectSession, statements: range_sums.SourceSql, ranges: KeyRanges
    ) -> range_sums.Sums:
        source, sums = self._source, range_sums.Sums(len(ranges))
        kind = (source.selected.quoted_name, "sums")
        for places, sql in statements.parts(ranges):
            # The session of the snapshot is busy: another one asks what the source says.
            with source.pace.read(source.session, source.patience.closing, kind) as turn:
                rows, name = session.query(sql), source.schema.name
                turn.rows = count = range_sums.take_rows(sums, places, rows, name)
            self._count(count)
        return sums

    def _target_sums(self, rows: TargetRows, ranges: KeyRanges) -> range_sums.Sums | None:
        """Return the checksums of the version; None if a value is none of the source's type."""
        sums = range_sums.Sums(len(ranges))
        for some in rows.batches():
            if some.unfit.any():
                return None
            places = range_sums.places_of(some.data, self._key_name, ranges)
            sums.add(places, self._text.of_rows(some.data))
            self._count(some.data.num_rows)
        return None if rows.unfit_key_rows else sums

    def _count(self, rows: int) -> None:
        """Show that so many more rows were read, of one side."""
        self._done += rows
        self._show(self._done, 2 * self._target.rows)


def _more(theirs: range_sums.Sums, own: range_sums.Sums, place: int) -> list[int]:
    """Return how much greater the sums of a range are at the source."""
    pairs = zip(theirs.totals(place), own.totals(place), strict=True)
    return [int(first) - int(second) for first, second in pairs]


def _exact_text(source: SourceRows, mapping: ColumnMapping) -> RowText:
    """Return the text of the rows. Raises MirrorError if the sides have none in common."""
    schema, session = source.schema, source.session
    one_range = source.pace.settings.model_copy(update={"connections": 1})
    planned = plan(session, PlanJob(0, schema.database, schema.table), one_range)
    is_told = session.identity.flavour == "mariadb" or session.identity.gtid
    if not planned.transactional or not is_told:
        raise MirrorError(verify_errors.NO_MOMENT, table=schema.name)
    pairs = mapping.pairs.values()
    rounded = [pair.name for pair in pairs if pair.digits is not None or pair.tolerance is not None]
    if rounded:
        raise MirrorError(certificate_errors.ROUNDED, table=schema.name, columns=rounded)
    rows = read_definition(session, schema.database, schema.table).columns
    stored = source.no_rows.schema
    inexact = [
        f"{pair.name} ({pair.form.name})"
        for pair in pairs
        if pair.form.kind != stored.field(pair.name).type
    ]
    text = RowText.of(session, schema, mapping.columns, rows)
    if text is None or inexact:
        columns = columns_without_text(schema, mapping.columns, rows)
        facts = {"table": schema.name, "columns": [*columns, *inexact]}
        raise MirrorError(certificate_errors.FOREIGN_COLUMNS, **facts)
    return text
