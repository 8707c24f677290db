"""Computes a certificate again from one side alone: `verify --check`.

Nothing of a certificate is run as SQL: the statements are made again from the tables, and must be
those of the certificate.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

import pyarrow as pa

from connector.binlog.gtid import AnyGtidSet, contains_all, has_reached, parse_gtid_set
from connector.foundation import errors
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.stream.snapshot.jobs import PlanJob
from connector.stream.snapshot.table_plan import plan
from connector.stream.source.information_schema import TableMissing
from connector.stream.source.select_session import SelectSession
from stream_jobs.apply.modes.mode import LastChanges
from stream_jobs.delta.log import Log
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from stream_jobs.tables.mirror_table import MirrorTable
from verification import verify_errors
from verification.certificate import certificate_errors, document, range_sums
from verification.certificate.table_proof import where_clause
from verification.changed_keys import VERSION_GONE
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.deletion_marks import MARKS
from verification.foreign.forms import forms_of
from verification.foreign.source_server import SourceServer
from verification.foreign.table_choice import VERSIONED
from verification.foreign.target_rows import TargetRows
from verification.key_ranges import KeyNumber, KeyRanges
from verification.mirror_side import MirrorSide
from verification.report import Verdict
from verification.row_text import MirrorText, RowText
from verification.run_progress import RunProgress

Show = Callable[[int, int], None]
# Of either form.
Own = document.CertifiedTable | document.CertifiedForeignTable


class DifferentRange(NamedTuple):
    """A range whose checksums are not those of the certificate."""

    certified: document.RangeSums
    rows: int
    sums: list[str]


@dataclass(slots=True)
class CheckedTable:
    """What became of one table."""

    name: str
    side: str  # "source" or "table"
    target: str | None = None  # of a table that another program has made
    gtid_set: str | None = None  # at which the source had these rows
    rows: int = 0
    ranges: int = 0
    different: list[DifferentRange] = field(default_factory=list)
    # The source has changed since, so ranges may differ for that alone.
    is_later: bool = False
    error: errors.ConnectorError | None = None

    @property
    def title(self) -> str:
        """The table, and the target that a certificate may name besides others."""
        return self.name if self.target is None else f"{self.name} = {self.target}"

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        if self.different and not self.is_later:
            return "different"
        return "not finished" if self.different or self.error is not None else "equal"

    def to_json(self) -> dict[str, Any]:
        """Return the member of the report."""
        return {
            "table": self.name,
            "side": self.side,
            "target": self.target,
            "gtid_set": self.gtid_set,
            "verdict": self.verdict,
            "rows": self.rows,
            "ranges": self.ranges,
            "changed_since": self.is_later,
            "different_ranges": [
                {
                    "low": certified.low,
                    "high": certified.high,
                    "rows": rows,
                    "sums": sums,
                    "certified_rows": certified.rows,
                    "certified_sums": certified.sums,
                }
                for certified, rows, sums in self.different
            ],
            "error": None if self.error is None else str(self.error),
        }


def check_tables(
    certificate: document.AnyCertificate, progress: RunProgress
) -> Iterator[CheckedTable]:
    """Compute the certificate again from the versions of tables; yield each result."""
    progress.begin(len(certificate.tables))
    for own in certificate.tables:
        result = _begun(certificate, own, "table")
        show = partial(progress.read, result.title)
        try:
            sums = range_sums.Sums(len(own.ranges))
            if isinstance(own, document.CertifiedForeignTable):
                _sum_foreign(own, sums, show)
            else:
                assert isinstance(certificate, document.Certificate)
                _sum_table(_mirror_of(certificate, own), own, sums, show)
            _compare(own, sums, result)
        except errors.ConnectorError as error:
            result.error = error
        progress.end(result.title, result.rows)
        yield result


def _begun(certificate: document.AnyCertificate, own: Own, side: str) -> CheckedTable:
    target = None
    if isinstance(own, document.CertifiedForeignTable):
        target = f"{own.target.kind}:{own.target.place}"
    gtid_set = moment_of(certificate, own).gtid_set
    return CheckedTable(own.table, side, target, gtid_set, ranges=len(own.ranges))


def moment_of(
    certificate: document.AnyCertificate, own: Own
) -> document.SourceState | document.Moment:
    """Return the moment of a table."""
    if isinstance(own, document.CertifiedForeignTable):
        return own.moment
    assert isinstance(certificate, document.Certificate)
    return certificate.source


def _mirror_of(certificate: document.Certificate, own: document.CertifiedTable) -> MirrorSide:
    """Return the mirror of a table as it was; raises MirrorError if it is not there any more."""
    root, delta = certificate.mirror.path, own.delta
    storage = storage_of(root)
    path = delta.path.removeprefix(root).lstrip("/")
    log = Log(storage, path)
    newest = log.load()
    if newest is None or newest.metadata.table_id != delta.table_id:
        raise MirrorError(certificate_errors.NO_TABLE, table=own.table, place=delta.path)
    database, _, table = own.table.partition(".")
    columns = tuple(cast("SchemaColumn", column) for column in own.columns)
    schema = TableSchema(database, table, "", PackedSequence(0, 0), columns)
    with _telling(own, delta.version, delta.path):
        snapshot = log.load_version(delta.version)
    if DOMAIN not in snapshot.domains:
        facts = {"table": own.table, "version": delta.version, "place": delta.path}
        raise MirrorError(certificate_errors.NOT_ONE_TABLE, **facts)
    progress = Progress.read(snapshot.domains[DOMAIN])
    mirror = MirrorSide(MirrorTable(DeltaTable(log, snapshot), progress), schema)
    if isinstance(mirror.current, LastChanges):
        raise MirrorError(verify_errors.MODE, table=own.table, mode=mirror.mode)
    return mirror


@contextmanager
def _telling(own: Own, version: object, place: str) -> Iterator[None]:
    """Tell of a version that is gone."""
    try:
        yield
    except MirrorError as error:
        if error.code not in (*VERSION_GONE, foreign_errors.SNAPSHOT_GONE):
            raise
        facts = {"table": own.table, "version": version, "place": place}
        raise MirrorError(certificate_errors.VERSION_GONE, **facts, why=error) from error


def _key_of(own: Own) -> tuple[str, KeyNumber] | None:
    """Return the column whose values make ranges, and its numbers; None without one."""
    for column in own.columns:
        if column["key"] == 1 and column["type"] in INTEGER_TYPES:
            is_unsigned = column["type"] == "bigint" and bool(column["unsigned"])
            return column["name"], KeyNumber("", is_unsigned)
    return None


def _sum_table(
    mirror: MirrorSide, own: document.CertifiedTable, sums: range_sums.Sums, show: Show
) -> None:
    columns = [cast("SchemaColumn", column) for column in own.columns]
    text, key = MirrorText.of_mirror(columns), _key_of(own)
    number = None if key is None else key[1]
    ranges = range_sums.ranges_of(_bounds(own.ranges), number)
    where = where_clause(mirror.current)
    if text is None or range_sums.duckdb_sql(text, key, ranges, where) != own.table_sql:
        facts = {"table": own.table, "place": own.delta.path}
        raise MirrorError(certificate_errors.OTHER_COLUMNS, **facts)
    with _telling(own, own.delta.version, own.delta.path):
        _add_rows(own, mirror.batches(mirror.snapshot), text, ranges, sums, show)


def _sum_foreign(own: document.CertifiedForeignTable, sums: range_sums.Sums, show: Show) -> None:
    target = own.target
    facts = {"table": own.table, "place": target.place}
    columns = [cast("SchemaColumn", column) for column in own.columns]
    text, key = MirrorText.of_mirror(columns), _key_of(own)
    ranges = range_sums.ranges_of(_bounds(own.ranges), None if key is None else key[1])
    with _telling(own, target.version, target.place):
        try:
            version = ForeignVersion(own)
        except MirrorError as error:
            if error.code is not foreign_errors.NO_TARGET:
                raise
            raise MirrorError(certificate_errors.NO_TABLE, **facts) from error
        if version.table_id != target.table_id:
            raise MirrorError(certificate_errors.NO_TABLE, **facts)
        if text is None or own.table_sql not in (
            None,
            range_sums.duckdb_sql(text, key, ranges, ""),
        ):
            raise MirrorError(certificate_errors.OTHER_COLUMNS, **facts)
        _add_rows(own, version.rows(), text, ranges, sums, show)


def _add_rows(
    own: Own,
    batches: Iterable[pa.Table],
    text: MirrorText,
    ranges: KeyRanges,
    sums: range_sums.Sums,
    show: Show,
) -> None:
    key = _key_of(own)
    done = 0
    for rows in batches:
        places = range_sums.places_of(rows, None if key is None else key[0], ranges)
        sums.add(places, text.of_rows(rows))
        done += rows.num_rows
        show(done, own.rows)


def check_source(
    certificate: document.AnyCertificate, server: SourceServer, progress: RunProgress
) -> Iterator[CheckedTable]:
    """Compute the certificate again from the tables of a server; yield each result.

    Raises SourceUnavailable if the server lacks transactions of the certificate, or stays away.
    """
    begun = [(own, _begun(certificate, own, "source")) for own in certificate.tables]
    progress.begin(len(begun))
    flavour = certificate.source.flavour
    sets = {result.gtid_set for _, result in begun}
    # A replica that catches up would have the transactions only after its rows were read.
    later = {gtid_set for gtid_set in sets if is_later(gtid_set, flavour, server.session)}
    for own, result in begun:
        _check_source(server, own, result, partial(progress.read, result.title))
        progress.end(result.title, result.rows)
    later |= {gtid_set for gtid_set in sets if is_later(gtid_set, flavour, server.session)}
    for _, result in begun:
        result.is_later = result.gtid_set in later
        yield result


def _check_source(server: SourceServer, own: Own, result: CheckedTable, show: Show) -> None:
    try:
        sums = range_sums.Sums(len(own.ranges))
        _sum_source(server, own, sums, show)
        _compare(own, sums, result)
    except errors.SourceUnavailable:
        raise
    except errors.ConnectorError as error:
        result.error = error


def _sum_source(server: SourceServer, own: Own, sums: range_sums.Sums, show: Show) -> None:
    session, limits = server.session, server.pace.settings
    database, _, table = own.table.partition(".")
    facts: dict[str, Any] = {"table": own.table, "place": session.name}
    try:
        selected = plan(session, PlanJob(0, database, table), limits).table
    except TableMissing as error:
        raise errors.SourceRefused(certificate_errors.NO_TABLE, **facts) from error
    except errors.UnsupportedChange as error:
        raise errors.SourceRefused(certificate_errors.OTHER_COLUMNS, **facts) from error
    columns = selected.schema.columns
    schema = TableSchema(database, table, "", PackedSequence(0, 0), columns)
    names = [column["name"] for column in own.columns]
    key = next(
        (KeyNumber.of(column, schema.by_name[column.name]) for column in selected.key_columns[:1]),
        None,
    )
    text = RowText.of(session, schema, names) if set(names) <= schema.by_name.keys() else None
    ranges = range_sums.ranges_of(_bounds(own.ranges), key)
    if text is None or len(ranges) != len(own.ranges):
        raise errors.SourceRefused(certificate_errors.OTHER_COLUMNS, **facts)
    statements = range_sums.SourceSql(selected.quoted_name, key, text)
    if statements.whole(ranges) != own.source_sql:
        raise errors.SourceRefused(certificate_errors.OTHER_COLUMNS, **facts)
    done, kind = 0, (selected.quoted_name, "sums")
    for places, sql in statements.parts(ranges):
        done += range_sums.take_rows(sums, places, server.sums(sql, kind), own.table)
        show(done, own.rows)


def is_later(text: str | None, flavour: str, session: SelectSession) -> bool:
    """Return whether the server has transactions that a GTID set has not.

    Raises SourceUnavailable if it lacks some.
    """
    if text is None:
        return True
    wanted = parse_gtid_set(text, flavour)
    # A replica of MariaDB has in its own log what it wrote itself.
    names = ("gtid_executed",) if flavour == "mysql" else ("gtid_binlog_pos", "gtid_current_pos")
    known = [_gtid_set(session, name, flavour) for name in names]
    # After a failover of MariaDB, numbers of two servers are all there is. If they are wrong, rows
    # differ, and the last line says that the server may be later.
    having = [own for own in known if contains_all(own, wanted)]
    if not having:
        raise errors.SourceUnavailable(
            certificate_errors.OTHER_SOURCE, server=session.name, gtids=text
        )
    return not any(has_reached(wanted, own) for own in having)


def _gtid_set(session: SelectSession, name: str, flavour: str) -> AnyGtidSet:
    (row,) = session.query(f"SELECT @@GLOBAL.{name} AS found")
    return parse_gtid_set((row["found"] or "").replace("\n", ""), flavour)


def _bounds(ranges: Sequence[document.RangeSums]) -> Iterable[tuple[str | None, str | None]]:
    return ((own.low, own.high) for own in ranges)


def _compare(own: Own, sums: range_sums.Sums, result: CheckedTable) -> None:
    result.rows = int(sums.rows.sum())
    for place, certified in enumerate(own.ranges):
        found = int(sums.rows[place]), sums.totals(place)
        if found != (certified.rows, certified.sums):
            result.different.append(DifferentRange(certified, *found))


class ForeignVersion:
    """A version of another program's table: its rows in the types of the source, read again."""

    def __init__(self, own: document.CertifiedForeignTable) -> None:
        """Look at the version.

        Raises MirrorError if it is not there, or has other columns, and ConfigError for a place
        that cannot be one.
        """
        target = own.target
        self._target = VERSIONED[target.kind](f"{target.kind}:{target.place}", target.place)
        self._target.read_version(target.version)
        self.table_id = self._target.table_id
        self._mapping = self._mapping_of(own)

    def rows(self) -> Iterator[pa.Table]:
        """Yield the rows that fit the types of the source, some at a time; raises MirrorError.

        A certified version had no others, so a row that is left out is one that differs.
        """
        for rows in TargetRows(self._target, self._mapping).batches():
            yield rows.data.filter(pa.array(~rows.unfit))

    def _mapping_of(self, own: document.CertifiedForeignTable) -> ColumnMapping:
        columns = tuple(cast("SchemaColumn", column) for column in own.columns)
        names = ColumnNames(mark=own.deletion_mark)
        schema, pairs = self._target.schema, []
        known = set(schema.names)
        for column, read in zip(columns, own.forms, strict=False):
            forms = forms_of(column, schema.field(read.name).type) if read.name in known else []
            fitting = [form for form in forms if form.name == read.form]
            pairs += [ColumnPair(column, read.name, form) for form in fitting[:1]]
        mark = own.deletion_mark
        has_mark = mark is None or (mark in known and mark.lower() in MARKS)
        if not has_mark or not len(pairs) == len(columns) == len(own.forms):
            facts = {"table": own.table, "place": own.target.place}
            raise MirrorError(certificate_errors.OTHER_COLUMNS, **facts)
        database, _, table = own.table.partition(".")
        own_schema = TableSchema(database, table, "", PackedSequence(0, 0), columns)
        return ColumnMapping(own_schema, pairs, names)
