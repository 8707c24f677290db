"""Makes a certificate of tables that other programs have made: `verify --table --certificate`.

A table whose version cannot be proven is compared as without a certificate, which names its rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from connector.foundation import VERSION as PROGRAM
from connector.foundation.errors import ConfigError
from connector.foundation.settings.sections import SourceSettings
from stream_jobs.errors import MirrorError
from verification import verify_errors
from verification.certificate import certificate_errors, document, foreign_view, range_sums
from verification.certificate.foreign_proof import ForeignProof, ProvenVersion
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.guess import MappingGuess, require_rows
from verification.foreign.run import OneTable, compare, verify_tables
from verification.foreign.table_choice import VERSIONED, TableChoice
from verification.foreign.target import VersionedTarget
from verification.run_progress import RunProgress

_US: Final = 1_000_000
# Clocks of servers go in steps, and old logs have whole seconds.
_MARGIN_US: Final = 2 * _US
# What keeps a table from being certified, but not from being compared.
_LEFT_OUT: Final = (
    certificate_errors.FOREIGN_COLUMNS,
    certificate_errors.ROUNDED,
    certificate_errors.NO_STATE,
    verify_errors.NO_MOMENT,
)
_IN_A_SERVER: Final = "a server has its rows as they are now, and no earlier ones"
_NO_VERSIONS: Final[Mapping[str, str]] = {
    "parquet": "the files of a folder are replaced, and nothing names those that were read",
    "iceberg-rest": "a certificate has no login for its catalog; name the path of the table",
}
_DIFFER: Final = "its rows differ"
_UNSETTLED: Final = "the log does not tell enough about some of its rows"


_Title = tuple[str, str]  # a table and its target


@dataclass(slots=True)
class ForeignCertification:
    """Certifies tables, each in a thread."""

    source: SourceSettings
    limits: ForeignLimits
    left_out: list[document.LeftOutTarget] = field(default_factory=list)
    # By table and target: a table may have several targets.
    _certified: dict[_Title, document.CertifiedForeignTable] = field(default_factory=dict)
    # Why a table is not certified.
    _reasons: dict[_Title, str] = field(default_factory=dict)
    _server: document.Server | None = None

    @property
    def count(self) -> int:
        """How many tables are certified."""
        return len(self._certified)

    def results(self, tables: Sequence[TableChoice], progress: RunProgress) -> list[ForeignResult]:
        """Return the result of each table, which was added to the certificate or left out.

        Raises as `verify_tables`, and ConfigError for a target without versions.
        """
        for choice in tables:
            if choice.kind not in VERSIONED:
                why = _NO_VERSIONS.get(choice.kind, _IN_A_SERVER)
                facts = {"target": choice.shown_target, "why": why}
                raise ConfigError(certificate_errors.NO_VERSIONS, **facts)
        found = verify_tables(
            self.source, tables, self.limits, progress, self._compare, has_snapshots=True
        )
        for result in found:
            title = result.name, result.target
            if title in self._certified:
                # In the order of the results.
                self._certified[title] = self._certified.pop(title)
                continue
            reason = self._reasons[title] = self._reason(result)
            left_out = document.LeftOutTarget(
                table=result.name, target=result.target, reason=reason
            )
            self.left_out.append(left_out)
        return found

    def outcome(self, name: str, target: str) -> document.Moment | str:
        """Return the moment at which a target has the rows of its table, or why it has none."""
        certified = self._certified.get((name, target))
        return self._reasons[name, target] if certified is None else certified.moment

    def to_json(self, name: str, target: str) -> dict[str, Any]:
        """Return the members of the report that a table has besides those of a comparison."""
        outcome = self.outcome(name, target)
        if isinstance(outcome, str):
            return {"certified": None, "not_certified": outcome}
        return {"certified": outcome.model_dump(mode="json"), "not_certified": None}

    def _reason(self, result: ForeignResult) -> str:
        if result.error is not None:
            return str(result.error)
        said = _DIFFER if result.verdict == "different" else _UNSETTLED
        return self._reasons.get((result.name, result.target), said)

    def certificate(self) -> document.ForeignCertificate | None:
        """Return the certificate of all results that were taken; None if it had no table."""
        if not self._certified:
            return None
        assert self._server is not None
        return document.ForeignCertificate(
            form=document.FORM,
            version=document.FOREIGN_VERSION,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            made_by=f"binlog-connector {PROGRAM}",
            checksum=range_sums.IN_WORDS,
            source=self._server,
            setup=document.Setup(
                source=list(range_sums.SOURCE_SETUP), table=list(range_sums.TABLE_SETUP)
            ),
            tables=list(self._certified.values()),
            left_out=self.left_out,
        )

    def _compare(self, table: OneTable) -> None:
        """Certify a table; if it cannot be, compare its rows. Raises the errors of reading."""
        result = table.result
        title = result.name, result.target
        identity = table.source.session.identity
        self._server = document.Server(server_uuid=identity.server_uuid, flavour=identity.flavour)
        try:
            if self._is_certified(table):
                return
        except MirrorError as error:
            if error.code not in _LEFT_OUT:
                raise
            self._reasons[title] = str(error)
        compare(table)
        # The target may have got a version since that is of one moment.
        if title in self._reasons or result.verdict != "equal" or self._is_certified(table):
            return
        facts = {"table": result.name, "target": result.target, "state": result.state}
        seconds = self.limits.lag_seconds
        raise MirrorError(certificate_errors.NO_COMMON_MOMENT, **facts, seconds=seconds)

    def _is_certified(self, table: OneTable) -> bool:
        """Do as `_certify`; a snapshot that is lost with its session begins anew."""
        return table.source.patience.again(lambda: self._certify(table))

    def _certify(self, table: OneTable) -> bool:
        """Add a table to the certificate; return whether it has a proof.

        Raises MirrorError if it cannot be certified, and the errors of reading.
        """
        source, choice, limits, result = table.source, table.choice, table.limits, table.result
        require_rows(source)
        place = _absolute(choice.shown_target.partition(":")[2])
        target = VERSIONED[choice.kind](choice.shown_target, place)
        since_us = source.server_time_us() - int(limits.lag_seconds * _US) - _MARGIN_US
        result.state = target.refresh()
        if not target.version:
            raise MirrorError(
                certificate_errors.NO_STATE, table=choice.name, target=choice.shown_target
            )
        # Its columns may have other names, or types, than those that the table has by now.
        result.state = target.read_version(target.version)
        result.mapping = mapping = MappingGuess(source, target, choice).mapping()
        proven = ForeignProof(source, target, mapping, table.show).run(since_us)
        if proven is None:
            return False
        result.rows = result.target_rows = result.summed_rows = int(proven.sums.rows.sum())
        version = _version(choice, place, target, mapping)
        self._certified[result.name, result.target] = _table(choice.name, mapping, version, proven)
        return True


def _absolute(place: str) -> str:
    """Return a place as somebody in another folder finds it."""
    own = place.rstrip("/")
    return own if "://" in own else str(Path(own).absolute())


def _version(
    choice: TableChoice, place: str, target: VersionedTarget, mapping: ColumnMapping
) -> document.TargetVersion:
    return document.TargetVersion(
        kind="iceberg" if choice.kind == "iceberg" else "delta",
        place=place,
        version=target.version,
        table_id=target.table_id,
        view=foreign_view.view_of(target.duckdb_scan, mapping, target.schema),
    )


def _table(
    name: str, mapping: ColumnMapping, version: document.TargetVersion, proven: ProvenVersion
) -> document.CertifiedForeignTable:
    names, moment = mapping.names, proven.moment
    return document.CertifiedForeignTable(
        table=name,
        columns=[dict(pair.column) for pair in mapping.pairs.values()],
        forms=[
            document.ForeignColumn(name=pair.target, form=pair.form.name)
            for pair in mapping.pairs.values()
        ],
        deletion_mark=names.mark,
        not_compared=document.NotCompared(
            source=names.only_source, target=[*names.only_target, *names.ignored]
        ),
        target=version,
        moment=document.Moment(
            gtid_set=moment.gtid_set, position=moment.position, committed_at=moment.committed_at
        ),
        changes_taken_back=moment.changes,
        rows=int(proven.sums.rows.sum()),
        source_sql=proven.source_sql,
        table_sql=None if version.view is None else proven.table_sql,
        ranges=[
            document.summed_range(proven.ranges, proven.key, proven.sums, place)
            for place in range(len(proven.ranges))
        ],
    )
