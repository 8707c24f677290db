"""The settings of each table, applied to its column list.

The first entry of `tables` with a pattern for the table counts. The result is the column list of
the mirror: without the excluded columns, and with texts for hashed and masked ones. Everything
after it (rows, changes of columns, files) sees no other list, so a value that nobody wants in the
mirror is not even read.

Names count without regard to case, as MySQL compares names of columns.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

import pyarrow as pa

from connector.foundation.contract import COLUMN_TYPES, SchemaColumn
from connector.foundation.errors.message import Message, nearest
from stream_jobs.delta.data_skipping import can_cluster, can_partition
from stream_jobs.errors import setting_errors, shard_errors
from stream_jobs.settings import Format, Settings, TableSettings
from stream_jobs.source import column_types
from stream_jobs.source.table_schema import Shard, TableOptions, TableSchema
from stream_jobs.source.topic_filter import SkippedTables, first_match, is_pattern

_PLACEHOLDER: Final = re.compile(r"\{(database|table)\}")


def with_options(
    schema: TableSchema,
    own: TableSettings,
    salt: str,
    older: Sequence[TableSchema],
    prefix: str = "",
    *,
    is_named: bool,
) -> TableSchema:
    """Return the column list of the mirror of `schema`; `older` are earlier ones of the table.

    `prefix` is that of the topics, if pipelines share the mirror.

    `is_named` says that the settings name this table alone, so that it has all of their columns.
    """
    if own.skip:
        return replace(schema, chosen=TableOptions(is_skipped=True))
    columns, labels = _hidden(schema, own, salt)
    source = tuple(schema.by_name)
    before = older[-1].chosen if older else TableOptions()
    chosen = TableOptions(
        place=_place(own.name, schema.database, schema.table),
        shard=_shard(own, schema, prefix),
        hidden=labels,
        source=source,
        suspects=_suspects(before, labels, source),
        partition_by=_spelt(own.partition_by, source),
        cluster_by=_spelt(own.cluster_by, source),
    )
    made = replace(schema, columns=columns, chosen=chosen)
    known = [*(name for schema in older for name in schema.chosen.source), *source]
    problem = _problem(schema, made, own, known if is_named else [])
    if prefix and own.shard is None:
        problem = Message(shard_errors.NOT_A_SHARD, {"table": schema.name})
    return made if problem is None else replace(made, chosen=replace(chosen, problem=problem))


def _hidden(
    schema: TableSchema, own: TableSettings, salt: str
) -> tuple[tuple[SchemaColumn, ...], dict[str, str]]:
    """Return the columns of the mirror, and by name how each other one at the source is hidden."""
    columns: list[SchemaColumn] = []
    labels: dict[str, str] = {}
    for column in schema.columns:
        name = column["name"]
        if _names(own.exclude_columns, name):
            labels[name] = "exclude"
            continue
        mask = _mask(name, own, salt)
        if mask is None:
            columns.append(column)
        else:
            labels[name] = mask.label
            columns.append(column_types.masked_column(column, mask))
    return tuple(columns), labels


def _mask(name: str, own: TableSettings, salt: str) -> column_types.Mask | None:
    if _names(own.mask_columns, name):
        return column_types.TextMask(own.mask)
    return column_types.HashMask(salt) if _names(own.hash_columns, name) else None


def _names(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _place(template: str, database: str, table: str) -> tuple[str, str]:
    first, _, second = template.partition(".")
    names = {"database": database, "table": table}

    def filled(part: str) -> str:
        return _PLACEHOLDER.sub(lambda match: names[match[1]], part)

    return filled(first), filled(second)


def _shard(own: TableSettings, schema: TableSchema, prefix: str) -> Shard | None:
    """Return which shard of its mirror a table is; with an empty value if its name has none."""
    if own.shard is None:
        return None
    if own.shard.value:
        return Shard(own.shard.column, own.shard.value, prefix)
    match = re.fullmatch(own.shard.pattern, schema.name)
    return Shard(own.shard.column, "" if match is None else match["shard"] or "", prefix)


def _suspects(
    before: TableOptions, labels: Mapping[str, str], source: Iterable[str]
) -> dict[str, str]:
    """Return the columns that appeared when a hidden one went, and that are not hidden."""
    visible = [name for name in source if name not in labels]
    suspects = {name: lost for name, lost in before.suspects.items() if name in visible}
    lost = [name for name in before.hidden if name not in labels]
    if lost:
        suspects |= {name: lost[0] for name in visible if name not in before.source}
    return suspects


def _spelt(patterns: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return names from the settings as the table spells them."""
    spelt = {name.lower(): name for name in names}
    return tuple(spelt.get(name.lower(), name) for name in patterns)


def _problem(
    schema: TableSchema, made: TableSchema, own: TableSettings, known: Sequence[str]
) -> Message | None:
    """Return why a table cannot have a mirror with its settings; None if it can.

    `known` are the columns that the table has or had, if the settings name it alone, else
    none.
    """
    name, chosen = schema.name, made.chosen
    if own.shard is not None and chosen.shard is not None and not chosen.shard.value:
        return Message(shard_errors.NO_SHARD, {"table": name, "pattern": own.shard.pattern})
    for column in schema.key:
        for setting in ("exclude_columns", "mask_columns"):
            if _names(getattr(own, setting), column):
                facts = {"table": name, "setting": setting, "column": column}
                return Message(setting_errors.KEY_COLUMN, facts)
    if chosen.suspects:
        lost = min(chosen.suspects.values())
        new = sorted(name for name, of in chosen.suspects.items() if of == lost)
        gone: dict[str, object] = {"table": name, "lost": lost, "new": new}
        return Message(setting_errors.HIDDEN_COLUMN_GONE, gone)
    for setting in ("exclude_columns", "hash_columns", "mask_columns") if known else ():
        for column in getattr(own, setting):
            missing = None if is_pattern(column) else _missing(name, setting, column, known)
            if missing is not None:
                return missing
    return _layout_problem(made)


def _missing(table: str, setting: str, column: str, known: Sequence[str]) -> Message | None:
    if any(column.lower() == name.lower() for name in known):
        return None
    facts: dict[str, object] = {"table": table, "setting": setting, "column": column}
    meant = nearest(column.lower(), [name.lower() for name in known])
    if meant is None:
        return Message(setting_errors.NO_COLUMN, facts | {"columns": list(dict.fromkeys(known))})
    spelt = next(name for name in known if name.lower() == meant)
    return Message(setting_errors.SIMILAR_COLUMN, facts | {"meant": spelt})


def _layout_problem(made: TableSchema) -> Message | None:
    """Return which column cannot partition or cluster the mirror."""
    fits: tuple[tuple[str, tuple[str, ...], Callable[[pa.DataType], bool]], ...] = (
        ("partition_by", made.chosen.partition_by, can_partition),
        ("cluster_by", made.chosen.cluster_by, can_cluster),
    )
    for setting, names, does_fit in fits:
        for name in names:
            column = made.by_name.get(name)
            if column is None:
                return _missing(made.name, setting, name, list(made.by_name))
            if column["type"] in COLUMN_TYPES and not does_fit(
                column_types.ColumnType.of(column).stored
            ):
                return _unfit(made.name, setting, column)
    return None


def _unfit(table: str, setting: str, column: SchemaColumn) -> Message:
    facts = {
        "table": table,
        "setting": setting,
        "column": column["name"],
        "type": column_types.type_text(column),
    }
    return Message(setting_errors.WRONG_LAYOUT, facts)


_DEFAULT = TableSettings(match=["*.*"])


class TableOptionsResolver:
    """Finds the settings of a table."""

    def __init__(
        self,
        tables: Sequence[TableSettings],
        salt: str = "",
        formats: Collection[Format] = (),
        prefix: str = "",
    ) -> None:
        """Look in `tables`, in their order; hashes begin with `salt`.

        A table that chooses no formats has `formats`. `prefix` is that of the topics, if pipelines
        share the mirror.
        """
        self._prefix = prefix
        patterns = ((pattern.partition("."), own) for own in tables for pattern in own.match)
        self._choices = [(of, name, own) for (of, _, name), own in patterns]
        self._salt = salt
        self._formats = formats

    @classmethod
    def of_settings(cls, settings: Settings) -> "TableOptionsResolver":
        """Return what the settings of a job choose."""
        salt = settings.mirror.hash_salt
        hidden = "" if salt is None else salt.get_secret_value()
        prefix = settings.kafka.topic_prefix if settings.mirror.shared else ""
        return cls(settings.tables, hidden, settings.mirror.formats, prefix)

    def of(self, database: str, table: str) -> TableSettings:
        """Return the settings of `database.table`; the defaults if no pattern names it."""
        return first_match(self._choices, database, table, _DEFAULT)

    def place(self, database: str, table: str) -> tuple[str, str]:
        """Return the database and the name of the mirror of `database.table`."""
        return _place(self.of(database, table).name, database, table)

    @property
    def is_shared(self) -> bool:
        """Whether pipelines share the mirror."""
        return bool(self._prefix)

    @property
    def is_iceberg(self) -> bool:
        """Whether any mirror may be an Iceberg table, too."""
        chosen = (own.formats for _, _, own in self._choices)
        return any("iceberg" in formats for formats in (self._formats, *chosen))

    def has_iceberg(self, database: str, table: str) -> bool:
        """Return whether the mirror of `database.table` is an Iceberg table, too."""
        own = self.of(database, table).formats
        return "iceberg" in (own or self._formats)

    def applied(self, schema: TableSchema, older: Sequence[TableSchema]) -> TableSchema:
        """Return a column list of the source as the mirror has it; `older` are earlier ones."""
        own = self.of(schema.database, schema.table)
        is_named = own is not _DEFAULT and len(own.match) == 1 and not is_pattern(own.match[0])
        return with_options(schema, own, self._salt, older, self._prefix, is_named=is_named)

    @property
    def skipped(self) -> SkippedTables:
        """Which tables have no mirror by choice."""
        return SkippedTables(tuple((of, name, own.skip) for of, name, own in self._choices))
