"""The step of one table to a cut: its difference, and the table at the target that gets it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.binlog.sql_text import quoted_identifier
from connector.foundation.contract import SchemaColumn, Sequence
from stream_jobs.cuts import cut_errors
from stream_jobs.cuts.cut import Cut, CutTable
from stream_jobs.delta.log import Log
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.paths import names_of_path
from stream_jobs.replica import column_definitions, replica_errors
from stream_jobs.replica.state_tables import ReplicatedTable, StateTables
from stream_jobs.replica.statements import TableName, text_literal
from stream_jobs.replica.table_difference import TableDifference
from stream_jobs.replica.target import TargetSession, TargetTable
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.mirror_metadata import MODE_PROPERTY, place_of

# What a retention has deleted: then the table is loaded as a whole.
GONE: Final = (
    delta_errors.VERSION_MISSING,
    delta_errors.FILE_MISSING,
    delta_errors.NO_METADATA,
)
# Rows do not fit another primary key: ER_DUP_ENTRY, ER_INVALID_USE_OF_NULL, WARN_DATA_TRUNCATED.
_OTHER_ROWS: Final = frozenset({1062, 1138, 1265})


@dataclass(frozen=True, slots=True)
class TableStep:
    """What one table needs."""

    name: str  # at the source
    place: TableName  # at the target
    mark: ReplicatedTable  # after the step
    difference: TableDifference
    columns: column_definitions.ColumnList
    # Columns that the target computes itself, in lower case.
    generated: frozenset[str] = frozenset()

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table are replaced."""
        return self.difference.since is None

    @property
    def written(self) -> list[SchemaColumn]:
        """The columns that rows are inserted with."""
        return self.columns.without(self.generated)


class TableStepPlanner:
    """Finds the step of each table, with what is known of it from the last one."""

    def __init__(self, storage: Storage, base: str, database: str, marker: StateTables) -> None:
        """Look at the mirror in `storage`, whose root is `base`; `database` names databases.

        `marker` refuses a process that was replaced.
        """
        self._storage = storage
        self._marker = marker
        self._base = base
        self._database = database
        self._snapshots: dict[str, Snapshot] = {}
        self._generated: dict[TableName, frozenset[str]] = {}
        # Which table of the source each table of the target is; its name as the target compares it.
        self._names: dict[TableName, str] = {}
        self._sets: column_definitions.CharacterSets | None = None
        # Tables of which versions or files are gone.
        self.load: set[str] = set()

    def begin(self, target: TargetSession, paths: Mapping[str, str]) -> None:
        """Look at the tables of the target again: there is a new session.

        It has the tables of `paths`, which are those of their mirrors.
        """
        self._generated.clear()
        self._sets = None
        self._names.clear()
        for name, path in paths.items():
            names = names_of_path(path)
            if names is not None:
                self._names[_compared(target, _place(names, self._database))] = name

    def of(self, name: str, cut: Cut, mark: ReplicatedTable | None) -> TableStep | str | None:
        """Return the step of a table from `mark` to `cut`, or why it is left out, or None.

        Raises MirrorError if the version of the cut cannot be read.
        """
        own = cut.tables[name]
        is_same = mark is not None and mark.generation == own.generation
        if mark is not None and is_same and mark.version == own.version:
            return None
        log = Log(self._storage, own.path)
        difference = self._difference(name, log, own, mark if is_same else None)
        snapshot = difference.snapshot
        if snapshot.metadata.table_id != own.generation:
            facts = {"number": cut.number, "path": self._base, "version": own.version}
            raise MirrorError(cut_errors.TABLE_GONE, table=name, **facts)
        mode = snapshot.configuration.get(MODE_PROPERTY, "current")
        if mode != "current":
            return f"its mirror has the mode {mode}"
        place = place_at_target(snapshot, self._database)
        columns = column_definitions.ColumnList.of(snapshot)
        after = ReplicatedTable(own.path, own.generation, own.version, cut.seq, columns.write())
        return TableStep(name, place, after, difference, columns)

    def _difference(
        self, name: str, log: Log, own: CutTable, mark: ReplicatedTable | None
    ) -> TableDifference:
        if mark is not None and name not in self.load:
            try:
                before = self._snapshots.get(name)
                if before is None or before.version != mark.version:
                    before = log.load_version(mark.version)
                since = PackedSequence.pack(Sequence.parse(mark.seq))
                return TableDifference.between(log, before, since, own.version)
            except MirrorError as error:
                if error.code not in GONE:
                    raise
        return TableDifference.whole(log, log.load_version(own.version))

    def prepare(
        self, target: TargetSession, step: TableStep, mark: ReplicatedTable | None
    ) -> TableStep:
        """Make the table at the target fit, and return the step that remains.

        Raises MirrorError if it cannot fit.
        """
        if self._sets is None:
            self._sets = column_definitions.CharacterSets.of(target)
        place = step.place
        other = self._names.setdefault(_compared(target, place), step.name)
        if other != step.name:
            raise MirrorError(
                replica_errors.SAME_TABLE,
                server=target.name,
                table=str(place),
                names=sorted((other, step.name)),
            )
        if mark is not None and mark.columns == step.mark.columns and place in self._generated:
            return replace(step, generated=self._generated[place])
        existing = TargetTable.look(target, place)
        if existing is None:
            self._create(target, step, self._sets)
            existing = TargetTable.look(target, place)
            assert existing is not None
            step = _whole(step)
        elif mark is None:
            self._refuse_unfit(target, step, existing, is_first=True)
        elif mark.columns != step.mark.columns:
            step = self._alter(target, step, mark, existing, self._sets)
            existing = TargetTable.look(target, place) or existing
            self._refuse_unfit(target, step, existing, is_first=False)
        if not step.is_whole and not _has_rows(target, place):
            # The mark may be that of a table which was dropped: a process that died made this one.
            step = _whole(step)
        self._generated[place] = existing.generated
        return replace(step, generated=existing.generated)

    def done(self, step: TableStep) -> None:
        """Remember the version that the target has now."""
        self._snapshots[step.name] = step.difference.snapshot
        self.load.discard(step.name)

    def _create(
        self, target: TargetSession, step: TableStep, sets: column_definitions.CharacterSets
    ) -> None:
        database = step.place.database
        known = target.query(
            "SELECT 1 AS found FROM information_schema.SCHEMATA "
            f"WHERE SCHEMA_NAME = {text_literal(database)}",
            step.place,
        )
        if not known:
            target.execute(
                f"CREATE DATABASE IF NOT EXISTS {quoted_identifier(database)}", step.place
            )
        target.execute(column_definitions.create_table(step.place, step.columns, sets), step.place)

    def _alter(
        self,
        target: TargetSession,
        step: TableStep,
        mark: ReplicatedTable,
        existing: TargetTable,
        sets: column_definitions.CharacterSets,
    ) -> TableStep:
        old = column_definitions.ColumnList.read(mark.columns)
        if mark.generation != step.mark.generation:
            # The ids of another Delta table mean nothing here.
            old = old.with_ids_of(step.columns)
        alter = column_definitions.alteration(step.place, old, step.columns, existing, sets)
        if alter.sql:
            try:
                target.execute(alter.sql, step.place)
            except MirrorError as error:
                if not alter.has_other_key or error.message.facts["number"] not in _OTHER_ROWS:
                    raise
                # The rows of the old key go in any case, so that readers see none for a while.
                # What a newer process has loaded stays.
                self._marker.lock(target)
                target.execute(f"DELETE FROM {step.place.sql}", step.place)
                target.execute("COMMIT", step.place)
                target.execute(alter.sql, step.place)
        return _whole(step) if alter.must_load else step

    def _refuse_unfit(
        self, target: TargetSession, step: TableStep, existing: TargetTable, *, is_first: bool
    ) -> None:
        problems = existing.problems(step.columns.columns)
        if problems:
            raise MirrorError(
                replica_errors.UNFIT_TABLE,
                server=target.name,
                table=str(step.place),
                problems=problems,
            )
        if is_first and _has_rows(target, step.place):
            raise MirrorError(replica_errors.NOT_EMPTY, server=target.name, table=str(step.place))


def place_at_target(snapshot: Snapshot, database: str) -> TableName:
    """Return where the table of a mirror is; `database` names databases."""
    return _place(place_of(snapshot.configuration), database)


def _place(names: tuple[str, str], database: str) -> TableName:
    own, table = names
    return TableName(database.replace("{database}", own), table)


def _compared(target: TargetSession, place: TableName) -> TableName:
    """Return `place` as the target compares it with other names."""
    if not target.ignores_case:
        return place
    return TableName(place.database.lower(), place.table.lower())


def _has_rows(target: TargetSession, place: TableName) -> bool:
    return bool(target.query(f"SELECT 1 AS found FROM {place.sql} LIMIT 1", place))


def _whole(step: TableStep) -> TableStep:
    difference = step.difference
    return replace(step, difference=TableDifference.whole(difference.log, difference.snapshot))
