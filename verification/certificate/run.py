"""Makes a certificate of all tables that are equal at one cut: `verify --mirror --certificate`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from connector.foundation import VERSION as PROGRAM
from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import Settings
from stream_jobs.cuts import Cut, cut_errors
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.cut_tags import ALONE
from stream_jobs.iceberg.metadata import tags
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.tables.table_options import TableOptionsResolver
from verification import verify_errors
from verification.certificate import certificate_errors, document, range_sums, table_proof
from verification.mirror_side import MirrorSide
from verification.pipeline import Pipeline
from verification.report import Verdict
from verification.run import job_settings, table_names
from verification.run_progress import RunProgress
from verification.side_factory import SideFactory
from verification.source_table import SourceTable, table_plan

# What keeps a table from being certified for good.
_LEFT_OUT: Final = (
    certificate_errors.COLUMNS,
    certificate_errors.MASKED,
    certificate_errors.NO_ROWS,
    certificate_errors.SHARD,
    certificate_errors.ZERO_DATES,
    certificate_errors.LEFT_OUT,
    verify_errors.SKIPPED,
    verify_errors.MODE,
    verify_errors.NO_KEY,
    verify_errors.NO_MOMENT,
)


@dataclass(slots=True)
class CertifiedResult:
    """What became of one table."""

    name: str
    rows: int = 0
    ranges: int = 0
    # The ranges of keys that differ: the least and the greatest key of each.
    different: list[tuple[str | None, str | None]] = field(default_factory=list)
    error: ConnectorError | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        if self.different:
            return "different"
        if self.error is not None:
            return "not compared" if self.error.code in _LEFT_OUT else "not finished"
        return "equal"

    @property
    def reason(self) -> str:
        """Why the table is not certified."""
        return str(self.error) if self.error is not None else "its rows differ"


@dataclass(frozen=True, slots=True)
class Certification:
    """A certificate, and what became of each table."""

    certificate: document.Certificate | None  # None: of no table
    results: list[CertifiedResult]


def certify(
    settings: Settings,
    job: Path,
    patterns: Sequence[str],
    patience_seconds: float,
    rows_per_second: int,
    progress: RunProgress,
) -> Certification:
    """Certify the tables that match, all followed ones without a pattern, at the newest cut.

    `settings` are the connector's, and `job` is the configuration of the Spark job. Raises
    MirrorError if the mirror has no cut, ConfigError for a pattern that matches nothing, without a
    table, and for wrong settings, and the errors of connecting.
    """
    mirror = job_settings(settings, job)
    with Pipeline(settings, patience_seconds, rows_per_second) as pipeline:
        names = table_names(pipeline, patterns)
        storage = storage_of(mirror.mirror.path)
        cut = CutStore(*folder_of(mirror)).latest()
        if cut is None:
            raise MirrorError(cut_errors.NO_CUT, path=mirror.mirror.path, wanted="yet")
        progress.begin(len(names))
        run = _Run(pipeline, mirror, storage, cut, progress.read)
        for name in names:
            run.add(name)
            progress.end(".".join(name), 2 * run.results[-1].rows)
        return Certification(run.certificate(), run.results)


class _Run:
    """Certifies one table after the other."""

    def __init__(
        self,
        pipeline: Pipeline,
        job: JobSettings,
        storage: Storage,
        cut: Cut,
        show: Callable[[str, int, int], None],
    ) -> None:
        self._pipeline = pipeline
        self._job = job
        root = job.mirror.path.rstrip("/")
        # Who checks the certificate may stand in another folder.
        self._root = root if "://" in root else str(Path(root).absolute())
        self._storage = storage
        self._cut = cut
        self._show = show
        self._choices = TableOptionsResolver.of_settings(job)
        self._sides = SideFactory(pipeline, job, None, storage, self._choices)
        self._tables: list[document.CertifiedTable] = []
        self.results: list[CertifiedResult] = []

    def add(self, name: tuple[str, str]) -> None:
        """Certify one table; an error is a part of its result."""
        result = CertifiedResult(".".join(name))
        self.results.append(result)
        try:
            self._certify(name, result)
        except ConfigError:
            raise
        except ConnectorError as error:
            result.error = error

    def _certify(self, name: tuple[str, str], result: CertifiedResult) -> None:
        pipeline = self._pipeline
        source = SourceTable(
            pipeline.lent_session,
            table_plan(pipeline.session, name, pipeline.pace.settings),
            pipeline.pace,
            self._choices,
            self._job.mirror.zero_dates,
            pipeline.patience,
        )
        try:
            if source.schema.chosen.shard is not None:
                raise MirrorError(certificate_errors.SHARD, table=result.name)
            mirror = self._sides.of(source, may_fold=False)
            if not isinstance(mirror, MirrorSide):
                raise MirrorError(certificate_errors.NO_ROWS, table=result.name)
            version = table_proof.version_at(mirror, result.name, self._cut)
            proof = table_proof.TableProof(
                pipeline, source, mirror, version, lambda *rows: self._show(result.name, *rows)
            )
            # What a lost session has shown of a snapshot goes with it.
            proven = pipeline.patience.again(proof.run)
        finally:
            source.close()
        if proven.different and self._job.mirror.zero_dates == "null":
            self._refuse_zero_dates(source, mirror)
        result.rows, result.ranges = int(proven.mirror.rows.sum()), len(proven.ranges)
        result.different = [
            range_sums.bounds_of(proven.ranges, proven.key, place) for place in proven.different
        ]
        if not result.different:
            self._tables.append(self._table(source, mirror, version, proven))

    def _refuse_zero_dates(self, source: SourceTable, mirror: MirrorSide) -> None:
        """Raise MirrorError if the table has dates that are NULL in the mirror: texts differ."""
        name, columns = source.schema.name, [source.schema.by_name[each] for each in mirror.columns]
        session = self._pipeline.session
        found = table_proof.columns_with_zero_dates(session, source.quoted_name, columns)
        if found:
            raise MirrorError(certificate_errors.ZERO_DATES, table=name, columns=found)

    def _table(
        self,
        source: SourceTable,
        mirror: MirrorSide,
        version: table_proof.CutVersion,
        proven: table_proof.ProvenTable,
    ) -> document.CertifiedTable:
        own, by_name = version.own, source.schema.by_name
        path = f"{self._root}/{own.path}"
        scan = f"delta_scan({_quoted(reader_uri(path))}, version => {own.version})"
        return document.CertifiedTable(
            table=source.schema.name,
            columns=[dict(by_name[name]) for name in mirror.columns],
            mode=mirror.mode,
            delta=document.DeltaVersion(
                path=path, version=own.version, table_id=own.generation, view=_view(scan)
            ),
            iceberg=self._iceberg(source, own.path),
            changes_taken_back=proven.changes,
            rows=int(proven.mirror.rows.sum()),
            source_sql=proven.source_sql,
            table_sql=proven.table_sql,
            ranges=[
                document.summed_range(proven.ranges, proven.key, proven.mirror, place)
                for place in range(len(proven.ranges))
            ],
        )

    def _iceberg(self, source: SourceTable, path: str) -> document.IcebergSnapshot | None:
        """Return the snapshot of the Iceberg table with the tag of the cut, if there is one."""
        if not self._choices.has_iceberg(source.schema.database, source.schema.table):
            return None
        files = TableFiles(self._storage, reader_uri(self._root))
        head = files.load(path)
        snapshot = None if head is None else tags(head.metadata).get(ALONE.of(self._cut.number))
        if snapshot is None:
            return None
        location = files.location(path)
        scan = f"iceberg_scan({_quoted(location)}, snapshot_from_id => {snapshot})"
        return document.IcebergSnapshot(location=location, snapshot_id=snapshot, view=_view(scan))

    def certificate(self) -> document.Certificate | None:
        """Return the certificate of all tables that were added; None if none is certified."""
        if not self._tables:
            return None
        cut = self._cut
        committed = cut.source_time_ms
        return document.Certificate(
            form=document.FORM,
            version=document.VERSION,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            made_by=f"binlog-connector {PROGRAM}",
            checksum=range_sums.IN_WORDS,
            source=document.SourceState(
                server_uuid=self._pipeline.server_uuid,
                flavour="mariadb" if cut.flavour == "mariadb" else "mysql",
                gtid_set=cut.gtid,
                position=cut.position,
                committed_at=None
                if committed is None
                else datetime.fromtimestamp(committed / 1000, UTC).isoformat(
                    timespec="milliseconds"
                ),
            ),
            mirror=document.MirrorState(path=self._root, cut=cut.number, seq=cut.seq),
            setup=document.Setup(
                source=list(range_sums.SOURCE_SETUP), table=list(range_sums.TABLE_SETUP)
            ),
            tables=self._tables,
            left_out=[
                document.LeftOutTable(table=result.name, reason=result.reason)
                for result in self.results
                if result.verdict != "equal"
            ],
        )


def _quoted(text: str) -> str:
    """Return a text as DuckDB quotes it."""
    return "'" + text.replace("'", "''") + "'"


def _view(scan: str) -> str:
    return f"CREATE OR REPLACE VIEW {range_sums.VIEW} AS SELECT * FROM {scan}"  # noqa: S608 - a quoted path


def report_of(results: Sequence[CertifiedResult]) -> list[dict[str, Any]]:
    """Return the tables of the report in JSON."""
    return [
        {
            "table": result.name,
            "verdict": result.verdict,
            "rows": result.rows,
            "ranges": result.ranges,
            "different_ranges": [{"low": low, "high": high} for low, high in result.different],
            "error": None if result.error is None else str(result.error),
        }
        for result in results
    ]
