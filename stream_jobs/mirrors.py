"""Gives the mirrors the columns of a batch's schemas, before any row of it is applied.

A mirror follows the newest schema whose rows have been seen; rows of older schemas are completed
to it. Since a batch may end anywhere, the outcome is the same wherever it ended:

    no mirror                 created with the newest schema of the batch
    newer schema, superset    its columns are added, and filled for the rows from before them
    newer schema, otherwise   the job stops; only an empty mirror (after DROP or TRUNCATE) is remade
    older schema              its rows are completed with the values that the added columns had
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.errors import MirrorError, SchemaUnfollowed
from connector.errors import mirror as codes
from stream_jobs.latest_changes import ParsedAs, literal
from stream_jobs.mirror import Mirror, mirror_path
from stream_jobs.schema_registry import SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from connector.contract import SchemaColumn
    from stream_jobs.sequence import PackedSequence
    from stream_jobs.settings import Settings
    from stream_jobs.table_schema import TableSchema


@dataclass(frozen=True, slots=True)
class TableRows:
    """The content of a batch for one topic."""

    topic: str
    schema_ids: frozenset[str]
    # The highest row sequence under each schema id that has rows to apply.
    highest_row: Mapping[str, PackedSequence]
    floor: PackedSequence | None  # rows below it are gone
    floor_is_new: bool
    were_applied: bool  # earlier batches applied rows, so there must be a mirror


@dataclass(frozen=True, slots=True)
class ReadyTable:
    """A table whose mirror has the columns that the batch needs."""

    schema: TableSchema
    mirror: Mirror | None  # None without a primary key, or without rows so far
    parses: list[ParsedAs]


class Mirrors:
    """The mirrors of one pipeline and the schemas that they follow."""

    def __init__(self, settings: Settings, registry: SchemaRegistry | None = None) -> None:
        """Begin empty; a mirror is looked at when its topic first has records."""
        self._base = settings.mirror.path
        self._zero_dates = settings.mirror.zero_dates
        self._unknown_defaults = settings.mirror.unknown_defaults
        self._registry = registry or SchemaRegistry(settings.kafka)
        self._following: dict[str, TableSchema] = {}

    def prepare(self, session: SparkSession, rows: TableRows) -> ReadyTable:
        """Bring the mirror of a topic to its new floor and its newest schema.

        Raises MirrorError if that is not possible.
        """
        found = self._registry.require(session, {(rows.topic, id_) for id_ in rows.schema_ids})
        known = {schema_id: schema for (_, schema_id), schema in found.items()}
        used = [known[schema_id] for schema_id in rows.highest_row]
        newest = max(used or known.values(), key=lambda schema: schema.first)
        path = mirror_path(self._base, newest)
        mirror = Mirror(session, path)
        current = self._current(session, rows.topic, newest, mirror)
        if current is not None and rows.floor is not None and rows.floor_is_new:
            mirror.delete_below(rows.floor)
        if current is None and not newest.key:
            return ReadyTable(newest, None, [])
        if current is None:
            self._refuse_rows_without_key(rows, newest, mirror)
            if rows.were_applied:
                raise MirrorError(
                    codes.MIRROR_GONE,
                    table=newest.name,
                    path=path,
                    positions=f"{self._base.rstrip('/')}/_cdc",
                )
        target = current
        if used:
            target = self._follow(session, rows, current, newest, mirror)
        if target is None:
            return ReadyTable(newest, None, [])
        self._following[rows.topic] = target
        return ReadyTable(
            target, mirror, [self._parsed_as(rows, schema, target, path) for schema in used]
        )

    def _current(
        self, session: SparkSession, topic: str, newest: TableSchema, mirror: Mirror
    ) -> TableSchema | None:
        if topic in self._following:
            return self._following[topic]
        schema_id = mirror.schema_id(newest.name)
        if schema_id is None:
            return None
        return self._registry.require(session, {(topic, schema_id)})[topic, schema_id]

    def _follow(
        self,
        session: SparkSession,
        rows: TableRows,
        current: TableSchema | None,
        newest: TableSchema,
        mirror: Mirror,
    ) -> TableSchema:
        """Return the schema of the mirror from now on."""
        if current is None:
            newest.refuse_unknown()
            mirror.create(newest)
            return newest
        if newest.first <= current.first:
            return current
        newest.refuse_unknown()
        try:
            added = newest.added_since(current, mirror.path)
        except SchemaUnfollowed:
            if not mirror.is_empty():
                raise
            mirror.replace(newest)
            return newest
        origins = self._registry.defaults_between(rows.topic, current, newest)
        for column in origins.values():
            self._refuse_unfit_default(session, newest, column)
        unknown = self._unknown(origins)
        if unknown and not mirror.is_empty():
            raise _unknown_default(newest, unknown)
        mirror.add_columns(newest, added, origins)
        return newest

    def _parsed_as(
        self, rows: TableRows, schema: TableSchema, target: TableSchema, path: str
    ) -> ParsedAs:
        if schema.schema_id == target.schema_id:
            return ParsedAs(schema, {})
        if rows.highest_row[schema.schema_id] > target.first:
            # The table has an earlier column list again: columns were dropped.
            schema.added_since(target, path)
        target.added_since(schema, path)
        origins = self._registry.defaults_between(rows.topic, schema, target)
        unknown = self._unknown(origins)
        if unknown:
            raise _unknown_default(target, unknown)
        return ParsedAs(schema, origins)

    def _refuse_rows_without_key(
        self, rows: TableRows, newest: TableSchema, mirror: Mirror
    ) -> None:
        """Refuse a first mirror for a table whose earlier rows had another key, or none."""
        for schema in self._registry.history(rows.topic):
            is_gone = rows.floor is not None and schema.first < rows.floor <= newest.first
            if schema.first < newest.first and not is_gone and schema.key != newest.key:
                newest.added_since(schema, mirror.path)

    def _refuse_unfit_default(
        self, session: SparkSession, schema: TableSchema, column: SchemaColumn
    ) -> None:
        """Raise MirrorError if the value of existing rows would become NULL."""
        value = column.get("added_default")
        if value is None or self._zero_dates == "null":
            return
        stored = session.range(1).select(literal(column, value).isNotNull()).collect()[0][0]
        if not stored:
            raise MirrorError(codes.ZERO_DEFAULT, table=schema.name, column=column["name"])

    def _unknown(self, origins: Mapping[str, SchemaColumn]) -> list[str]:
        if self._unknown_defaults == "null":
            return []
        return [name for name, column in origins.items() if column.get("added_default_unknown")]


def _unknown_default(schema: TableSchema, columns: list[str]) -> MirrorError:
    return MirrorError(codes.UNKNOWN_DEFAULT, table=schema.name, columns=columns)
