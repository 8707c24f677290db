"""The rules that decide which column list a mirror gets, and how rows of other lists fit into it.

A mirror follows the newest schema whose rows have been seen; rows of older schemas are completed
to it. A batch may end anywhere, so the outcome is the same wherever it ended.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from connector.foundation.contract import SchemaColumn
from stream_jobs.apply.column_values import ZeroDates
from stream_jobs.apply.modes.mode import Mode
from stream_jobs.apply.rows import literal
from stream_jobs.apply.task_messages import RecordMapping, SchemaUse
from stream_jobs.delta.columns import Column, highest_id
from stream_jobs.errors import MirrorError, SchemaUnfollowed, job_errors
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables import column_changes
from stream_jobs.tables.column_changes import ColumnChange, SchemaChange
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.topic_state import path_of


class SchemaRules:
    """The rules, with the settings that they depend on."""

    def __init__(
        self,
        registry: SchemaRegistry,
        base: str,
        zero_dates: ZeroDates,
        unknown_defaults: Literal["error", "null"],
    ) -> None:
        """Look schemas up in `registry`; `base` is the folder of the mirrors, for errors."""
        self.registry = registry
        self._base = base.rstrip("/")
        self._zero_dates = zero_dates
        self._unknown_defaults = unknown_defaults

    def first(
        self, topic: str, used: Mapping[str, SchemaUse], floor: PackedSequence | None, mode: Mode
    ) -> tuple[TableSchema, PackedSequence]:
        """Return the schema of a mirror that does not exist yet, and from where on it holds.

        Raises MirrorError if the table had rows without a key, or with another one, before.
        """
        schemas = self.registry.require(topic, used)
        target = schemas[max(used, key=lambda schema_id: used[schema_id].highest)]
        self._refuse_unsuitable(target, path_of(target), mode)
        for schema in () if mode.keeps_columns else self.registry.history(topic):
            use = used.get(schema.schema_id)
            is_gone = floor is not None and (
                schema.first < floor and (use is None or use.highest < floor)
            )
            if schema.first < target.first and not is_gone and schema.key != target.key:
                column_changes.refuse_other_types(schema, target, f"{self._base}/{path_of(target)}")
        target.refuse_unknown()
        others = [use.highest for schema_id, use in used.items() if schema_id != target.schema_id]
        return target, max([target.first, *others])

    def first_columns(
        self, topic: str, target: TableSchema, used: Mapping[str, SchemaUse], mode: Mode
    ) -> tuple[Column, ...]:
        """Return the columns of a mirror whose first rows have the lists in `used`."""
        columns = column_changes.all_columns(target, 0, mode.columns)
        if not mode.keeps_columns:
            return columns
        schemas = self.registry.require(topic, used)
        in_order = sorted(used, key=lambda schema_id: used[schema_id].lowest)
        others = [schemas[schema_id] for schema_id in in_order if schema_id != target.schema_id]
        _refuse_unknown(others)
        return column_changes.retained_columns(
            columns, [target], others, highest_id(columns)
        ).columns

    def next(
        self,
        topic: str,
        current: TableSchema,
        own: MirrorTable,
        used: Mapping[str, SchemaUse],
        mode: Mode,
    ) -> SchemaChange | None:
        """Return the step to a newer column list; None if there is no newer one.

        Raises MirrorError if the mirror cannot follow.
        """
        progress, path = own.progress, f"{self._base}/{own.delta.path}"
        later = {
            schema_id: use.lowest_since
            for schema_id, use in used.items()
            if schema_id != current.schema_id and use.lowest_since is not None
        }
        if not later:
            return self._step_without_list(topic, current, own, used, mode)
        schemas = self.registry.require(topic, {*later, current.schema_id})
        in_order = sorted(later, key=lambda schema_id: later[schema_id])
        last = max((id_ for id_ in used if id_ in schemas), key=lambda id_: used[id_].highest)
        chain = [current, *(schemas[id_] for id_ in in_order if id_ != last), schemas[last]]
        target = schemas[last]
        target.refuse_unknown()
        self._refuse_unsuitable(target, own.delta.path, mode)
        since = target.first
        if since <= progress.since:
            others = [used[id_].highest for id_ in later if id_ != last]
            since = max([progress.since, *others])
        metadata = own.delta.snapshot.metadata
        if mode.keeps_columns:
            older = self.registry.require(topic, used).values()
            _refuse_unknown([*chain, *older])
            change = column_changes.retained_columns(
                metadata.columns, chain, older, metadata.last_id
            )
        else:
            try:
                change = column_changes.changed_columns(
                    metadata.columns, chain, metadata.last_id, path
                )
            except SchemaUnfollowed:
                if not own.is_empty:
                    raise
                columns = column_changes.all_columns(target, metadata.last_id, mode.columns)
                change = ColumnChange(columns, frozenset(), frozenset())
                return _replaced(own, SchemaChange(target, since, columns, None), change)
        change = own.united(change, target)
        added = self._added(topic, (current, target), own, change.added) if mode.is_filling else {}
        values = {
            name: column
            for name, column in added.items()
            if column.get("added_default") is not None or name in change.taken
        }
        is_rewritten = bool(values or change.left or change.widened) and not own.is_empty
        is_shared = bool(change.widened) and own.has_other_rows
        rewrite = values if is_rewritten or is_shared else None
        return SchemaChange(target, since, change.columns, rewrite, is_shared=is_shared)

    def _added(
        self,
        topic: str,
        schemas: tuple[TableSchema, TableSchema],
        own: MirrorTable,
        names: Collection[str],
    ) -> dict[str, SchemaColumn]:
        """Return the columns that are new between two schemas, with the defaults of their rows.

        Raises MirrorError if the rows of the mirror cannot have a default.
        """
        target = schemas[1]
        origins = self.registry.defaults_between(topic, *schemas)
        added = {name: origins.get(name, target.by_name[name]) for name in names}
        if not own.is_empty:
            self._refuse_unfit_defaults(target, added)
        return added

    def _step_without_list(
        self,
        topic: str,
        current: TableSchema,
        own: MirrorTable,
        used: Collection[str],
        mode: Mode,
    ) -> SchemaChange | None:
        """Return the step that the rows need although they have no newer list; mostly None.

        Older lists may have values for which there is no column, where columns stay. A shard may
        need a wider type than those that were there before it.
        """
        metadata = own.delta.snapshot.metadata
        columns = metadata.columns
        if mode.keeps_columns:
            others = self.registry.require(topic, used).values()
            _refuse_unknown(others)
            columns = column_changes.retained_columns(
                columns, [current], others, metadata.last_id
            ).columns
        change = own.united(ColumnChange(columns, frozenset(), frozenset()), current)
        if change.columns == metadata.columns:
            return None
        is_shared = bool(change.widened) and own.has_other_rows
        is_rewritten = is_shared or (bool(change.widened) and not own.is_empty)
        rewrite: dict[str, SchemaColumn] | None = {} if is_rewritten else None
        since = own.progress.since
        return SchemaChange(current, since, change.columns, rewrite, is_shared=is_shared)

    def parses(
        self,
        topic: str,
        target: TableSchema,
        used: Collection[str],
        path: str,
        columns: Sequence[Column],
        mode: Mode,
    ) -> dict[str, RecordMapping]:
        """Return how records of each schema become rows of `target`, in `columns` of the mirror.

        Raises MirrorError if that is not possible.
        """
        parses, place = {}, f"{self._base}/{path}"
        for schema_id, schema in self.registry.require(topic, used).items():
            if schema_id == target.schema_id:
                parses[schema_id] = RecordMapping(schema, {})
                continue
            renamed: Mapping[str, str] = {}
            if (
                mode.keeps_columns
                and mode.needs_key
                and not column_changes.has_same_key(schema, target)
            ):
                # Rows with the key before come late, from another partition.
                raise SchemaUnfollowed(
                    job_errors.KEY_CHANGED,
                    table=target.name,
                    before=schema.key,
                    now=target.key,
                    path=place,
                )
            if mode.keeps_columns:
                renamed = column_changes.renamed_columns(schema, target, columns)
                for name in schema.by_name.keys() & target.by_name.keys() - renamed.keys():
                    column_changes.is_wider(
                        schema.by_name[name], target.by_name[name], target, place
                    )
            else:
                column_changes.refuse_other_types(schema, target, place)
            origins = self.registry.defaults_between(topic, schema, target)
            if mode.is_filling:
                self._refuse_unknown_defaults(target, origins)
            parses[schema_id] = RecordMapping(schema, origins, renamed)
        return parses

    def _refuse_unsuitable(self, schema: TableSchema, path: str, mode: Mode) -> None:
        """Raise MirrorError if a table with these columns cannot have a mirror of `mode`."""
        if mode.suits(schema):
            return
        place = f"{self._base}/{path}"
        if schema.key:
            raise MirrorError(job_errors.KEY_IN_THE_WAY, table=schema.name, path=place)
        raise MirrorError(job_errors.KEY_LOST, table=schema.name, path=place)

    def _refuse_unfit_defaults(
        self, schema: TableSchema, added: Mapping[str, SchemaColumn]
    ) -> None:
        """Raise MirrorError if a value of existing rows is not known, or would become NULL."""
        self._refuse_unknown_defaults(schema, added)
        for name, column in added.items():
            value = column.get("added_default")
            if value is None or self._zero_dates == "null":
                continue
            if not literal(column, value).is_valid:
                raise MirrorError(job_errors.ZERO_DEFAULT, table=schema.name, column=name)

    def _refuse_unknown_defaults(
        self, schema: TableSchema, added: Mapping[str, SchemaColumn]
    ) -> None:
        unknown = [name for name, column in added.items() if column.get("added_default_unknown")]
        if unknown and self._unknown_defaults == "error":
            raise MirrorError(job_errors.UNKNOWN_DEFAULT, table=schema.name, columns=unknown)


def _replaced(own: MirrorTable, step: SchemaChange, change: ColumnChange) -> SchemaChange:
    """Return the step of a mirror without rows to any other columns."""
    united = own.united(change, step.schema)
    is_shared = bool(united.widened) and own.has_other_rows
    return step._replace(
        columns=united.columns,
        rewrite={} if is_shared else None,
        is_replaced=not is_shared,
        is_shared=is_shared,
    )


def _refuse_unknown(lists: Iterable[TableSchema]) -> None:
    """Raise MirrorError for a column that no mirror can keep."""
    for schema in lists:
        schema.refuse_unknown()


def merge_schema_uses(of_tasks: Sequence[Mapping[str, SchemaUse]]) -> dict[str, SchemaUse]:
    """Return the uses that several tasks have found as one."""
    merged: dict[str, SchemaUse] = {}
    for uses in of_tasks:
        for schema_id, use in uses.items():
            own = merged.get(schema_id)
            if own is None:
                merged[schema_id] = use
                continue
            since = [s for s in (own.lowest_since, use.lowest_since) if s is not None]
            merged[schema_id] = type(use)(
                min(own.lowest, use.lowest), max(own.highest, use.highest), min(since, default=None)
            )
    return merged
