"""The column rules of the settings: which columns records have, and which are masked."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from connector.foundation.contract import CHARACTER_BYTES, SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.schemas import column_masks

MASK: Final = "mask"
TRUNCATE: Final = "truncate"
HASH: Final = "hash"

_STRINGS: Final = frozenset({"char", "varchar", "text"})
_LABELS: Final = frozenset({"enum", "set"})
_ANY: Final = frozenset("*?[")


def is_named(
    database: str, table: str, of_database: str, of_table: str, ignores_case: bool
) -> bool:
    """Return whether the patterns of a database and of a table match a table.

    `ignores_case` says that the server takes names for the same that differ in case: it may have
    written them in any.
    """
    if ignores_case:
        database, table = database.lower(), table.lower()
        of_database, of_table = of_database.lower(), of_table.lower()
    return fnmatchcase(database, of_database) and fnmatchcase(table, of_table)


@dataclass(frozen=True, slots=True)
class ColumnPattern:
    """`database.table.column`, with `*`, `?` and `[...]` in each part."""

    text: str
    database: str
    table: str
    column: str  # in lower case, as names of columns have none
    # Whether the server takes names of tables for the same that differ in case.
    ignores_case: bool = False

    @classmethod
    def parse(cls, text: str, ignores_case: bool = False) -> "ColumnPattern":
        """Return the pattern of a text that has its three parts."""
        database, table, column = text.split(".", 2)
        return cls(text, database, table, column.lower(), ignores_case)

    def names_table(self, database: str, table: str) -> bool:
        """Return whether it can match columns of a table."""
        return is_named(database, table, self.database, self.table, self.ignores_case)

    def matches(self, column: str) -> bool:
        """Return whether it matches a column of a table that it names."""
        return fnmatchcase(column.lower(), self.column)

    @property
    def is_name(self) -> bool:
        """Whether it is the name of one column."""
        return _ANY.isdisjoint(self.text)


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """A change of the text in some columns."""

    patterns: tuple[ColumnPattern, ...]
    kind: str  # MASK, TRUNCATE or HASH
    length: int  # of a mask, or of what is kept
    algorithm: str = ""
    salt: str = ""
    version: int = 2

    def change(self, column: SchemaColumn) -> column_masks.TextTransform:
        """Return the change for a column."""
        if self.kind == MASK:
            return column_masks.TextMask(self.length)
        if self.kind == TRUNCATE:
            return column_masks.TextTruncation(self.length)
        return column_masks.TextHash(self.algorithm, self.salt, self.version, characters(column))


@dataclass(frozen=True, slots=True)
class TableColumnRules:
    """What is chosen for one column list."""

    left_out: frozenset[str]
    changes: dict[str, column_masks.TextTransform]


class ColumnRules:
    """What is chosen for the columns of all tables."""

    def __init__(
        self,
        include: Sequence[ColumnPattern],
        exclude: Sequence[ColumnPattern],
        rules: Sequence[ColumnRule],
    ) -> None:
        """Keep the columns of `include` in tables that it names, and leave out those of `exclude`.

        Of several `rules` for a column, the first one counts.
        """
        self._include = include
        self._exclude = exclude
        self._rules = rules

    @property
    def patterns(self) -> list[ColumnPattern]:
        """All patterns."""
        masked = [pattern for rule in self._rules for pattern in rule.patterns]
        return [*self._include, *self._exclude, *masked]

    def hides(self, database: str, table: str) -> bool:
        """Return whether a table may have values that must not leave the process."""
        return any(pattern.names_table(database, table) for pattern in self.patterns)

    def of(self, database: str, table: str, columns: Sequence[SchemaColumn]) -> TableColumnRules:
        """Return what is chosen for a table with `columns`.

        Raises UnsupportedChange if a masked column has another name or type now, if the key would
        be left out or masked, or if no column would be left.
        """
        name = f"{database}.{table}"
        included = [pattern for pattern in self._include if pattern.names_table(database, table)]
        excluded = [pattern for pattern in self._exclude if pattern.names_table(database, table)]
        left_out = frozenset(
            column["name"]
            for column in columns
            if _matched(excluded, column)
            or (included and not column["key"] and not _matched(included, column))
        )
        changes: dict[str, column_masks.TextTransform] = {}
        for rule in self._rules:
            patterns = [
                pattern for pattern in rule.patterns if pattern.names_table(database, table)
            ]
            for pattern in patterns:
                if pattern.is_name and not any(
                    pattern.matches(column["name"]) for column in columns
                ):
                    raise UnsupportedChange(record_errors.MASKED_GONE, column=pattern.text)
            for column in columns:
                if column["name"] not in changes and _matched(patterns, column):
                    _require_text(name, column, rule.kind)
                    changes[column["name"]] = rule.change(column)
        for column in columns:
            if column["key"] and (column["name"] in left_out or column["name"] in changes):
                raise UnsupportedChange(record_errors.IN_KEY, column=f"{name}.{column['name']}")
        if len(left_out) == len(columns):
            raise UnsupportedChange(record_errors.NONE_LEFT, table=name)
        return TableColumnRules(left_out, changes)


def _matched(patterns: Sequence[ColumnPattern], column: SchemaColumn) -> bool:
    return any(pattern.matches(column["name"]) for pattern in patterns)


def _require_text(table: str, column: SchemaColumn, kind: str) -> None:
    allowed = _STRINGS if kind == TRUNCATE else _STRINGS | _LABELS
    if column["type"] not in allowed:
        raise UnsupportedChange(
            record_errors.NOT_MASKABLE,
            column=f"{table}.{column['name']}",
            type=column["type"].upper(),
            types=sorted(name.upper() for name in allowed),
        )


def characters(column: SchemaColumn) -> int:
    """Return the characters that Debezium takes for the length of a text; 0 if it has none."""
    labels = column.get("labels")
    if column["type"] == "enum":
        return 1
    if labels is not None:
        return max(0, 2 * len(labels) - 1)
    length = column.get("length", 0) if column["type"] != "text" else 0
    return length // CHARACTER_BYTES.get(column.get("charset", ""), 1)
