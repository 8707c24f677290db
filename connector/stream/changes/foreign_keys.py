"""Foreign keys that cascade: which rows of other tables a change of a row also changes.

InnoDB cascades below the log: the log has the change of the parent's row, and nothing about the
rows of the children. What can be said about these rows is a *term*, for the condition of a copy:

* ON UPDATE CASCADE: they have the parent's new value in the referencing columns.
* SET NULL: they have NULL there.
* ON DELETE CASCADE: they are gone, and nobody can know their keys. The term is `WHOLE`: all rows
  of the table must be copied, after a record that takes the earlier ones back. So it is if a
  cascade changes the key of rows.

A term may hold for more rows than were changed, never for fewer. Cascades go on from the children
to their children, also through tables that are not followed. The parent's new values come from
the rows of the event, as SQL for a condition.
"""

from collections.abc import Iterable
from typing import Final, final

from connector.binlog.columns.column import ABSENT, ColumnType, Value
from connector.binlog.events.rows import RowsEvent
from connector.binlog.sql_text import TableName, quoted_identifier

CASCADE: Final = "CASCADE"
SET_NULL: Final = "SET NULL"
# InnoDB has no SET DEFAULT: it refuses what the other actions refuse.
_ACTIONS: Final = (CASCADE, SET_NULL)

# Terms: rows of the table are gone or have other keys; any row may have changed.
WHOLE: Final = ""
ANY_ROW: Final = "TRUE"

# New values of columns, as SQL; UNKNOWN has no SQL that is certain to find the same value.
NULL: Final = "NULL"
UNKNOWN: Final = ""


@final
class ForeignKey:
    """A foreign key of `child`; the names of its columns, and of those of `parent`, go in pairs."""

    __slots__ = ("child", "columns", "identifies", "on_delete", "on_update", "parent")

    def __init__(
        self,
        child: TableName,
        parent: TableName,
        columns: list[tuple[str, str]],
        on_delete: str,
        on_update: str,
        *,
        identifies: bool,
    ) -> None:
        """`identifies` says that the key of the child's records may contain one of its columns."""
        self.child = child
        self.parent = parent
        self.columns = columns
        self.on_delete = on_delete
        self.on_update = on_update
        self.identifies = identifies

    @property
    def cascades(self) -> bool:
        """Whether a change of the parent can change rows of the child."""
        return self.on_delete in _ACTIONS or self.on_update in _ACTIONS


@final
class Cascade:
    """What one change of a parent does to other tables: terms for each of them."""

    def __init__(self, keys: "ForeignKeys") -> None:
        self._keys = keys
        self.terms: dict[TableName, set[str]] = {}
        self._emptied: set[TableName] = set()
        self._followed: set[tuple[TableName, tuple[str, ...]]] = set()

    def delete(self, table: TableName) -> None:
        """Rows of a table are deleted."""
        if table in self._emptied:
            return
        self._emptied.add(table)
        for key in self._keys.of_parent(table):
            if key.on_delete == CASCADE:
                self._add(key.child, WHOLE)
                self.delete(key.child)
            elif key.on_delete == SET_NULL:
                self._set(key, {child.lower(): NULL for child, _ in key.columns})

    def update(self, table: TableName, values: dict[str, str]) -> None:
        """Columns of a table get new `values`, as SQL, by their names in lower case."""
        for key in self._keys.of_parent(table):
            touched = [pair for pair in key.columns if pair[1].lower() in values]
            if not touched:
                continue
            if key.on_update == CASCADE:
                self._set(key, {child.lower(): values[parent.lower()] for child, parent in touched})
            elif key.on_update == SET_NULL:
                self._set(key, {child.lower(): NULL for child, _ in key.columns})

    def _set(self, key: ForeignKey, values: dict[str, str]) -> None:
        term = WHOLE if key.identifies else _term(key, values)
        # Keys may refer to each other in a circle.
        step = key.child, (term, *values, *values.values())
        if step in self._followed:
            return
        self._followed.add(step)
        self._add(key.child, term)
        self.update(key.child, values)

    def _add(self, table: TableName, term: str) -> None:
        self.terms.setdefault(table, set()).add(term)


@final
class ForeignKeys:
    """The foreign keys of a server that cascade."""

    def __init__(self, keys: Iterable[ForeignKey] = ()) -> None:
        """Keep those of `keys` that cascade."""
        self._of_parent: dict[TableName, list[ForeignKey]] = {}
        for key in keys:
            if key.cascades:
                self._of_parent.setdefault(key.parent, []).append(key)

    @property
    def parents(self) -> list[TableName]:
        """The tables that keys refer to."""
        return list(self._of_parent)

    def of_parent(self, table: TableName) -> list[ForeignKey]:
        """Return the keys that refer to a table."""
        return self._of_parent.get(table, [])

    def referenced_columns(self, table: TableName) -> list[str]:
        """Return the columns, in lower case, whose update cascades."""
        columns = {
            parent.lower(): None
            for key in self.of_parent(table)
            if key.on_update in _ACTIONS
            for _, parent in key.columns
        }
        return list(columns)

    def after_delete(self, table: TableName) -> dict[TableName, set[str]]:
        """Return the terms, by table, after rows of a table were deleted."""
        cascade = Cascade(self)
        cascade.delete(table)
        return cascade.terms

    def after_update(self, table: TableName, values: dict[str, str]) -> dict[TableName, set[str]]:
        """Return the terms, by table, after columns of a table got new `values`.

        They are SQL, by names in lower case.
        """
        cascade = Cascade(self)
        cascade.update(table, values)
        return cascade.terms

    def reached(self, table: TableName) -> set[TableName]:
        """Return the tables whose rows a change of a table may change."""
        values = dict.fromkeys(self.referenced_columns(table), UNKNOWN)
        return {*self.after_delete(table), *self.after_update(table, values)}


def _term(key: ForeignKey, values: dict[str, str]) -> str:
    """Return the condition that the changed rows of the child meet."""
    parts: list[str] = []
    for name, _ in key.columns:
        value = values.get(name.lower(), UNKNOWN)
        if value == NULL:
            parts.append(f"{quoted_identifier(name)} IS NULL")
        elif value != UNKNOWN:
            parts.append(f"{quoted_identifier(name)} = {value}")
    return " AND ".join(parts) or ANY_ROW


# Foreign keys compare the stored bytes of these types, which SQL does not show.
_COMPARED_OTHERWISE: Final = (ColumnType.ENUM, ColumnType.SET, ColumnType.STRING)
_TEXT_CHARACTERS_MAX: Final = 64
_VALUES_MAX: Final = 64


def new_values(rows: RowsEvent, indexes: dict[int, str]) -> list[dict[str, str]]:
    """Return the new values, by name, of the columns at `indexes` in each row that changes them.

    Raises DecodeError for rows that cannot be read.
    """
    plan = rows.plan
    assert rows.before_columns_present is not None
    assert rows.after_columns_present is not None
    before_indexes = plan.indexes(rows.before_columns_present)
    after_indexes = plan.indexes(rows.after_columns_present)
    chosen = frozenset(indexes)
    image = rows.images()
    combinations: list[dict[str, str]] = []
    while image.offset < image.end:
        before = _empty(len(plan.readers), before_indexes)
        after = _empty(len(plan.readers), after_indexes)
        plan.read_chosen(image, before_indexes, plan.readers, chosen, before)
        readers = plan.partial_readers(image) if rows.partial else plan.readers
        plan.read_chosen(image, after_indexes, readers, chosen, after)
        values: dict[str, str] = {}
        for index, name in indexes.items():
            value = after[index]
            # A column that the after image leaves out has not changed.
            if value is not ABSENT and value != before[index]:
                exact = rows.table_map.columns[index].real_type not in _COMPARED_OTHERWISE
                values[name] = _literal(value) if exact or value is None else UNKNOWN
        if values and values not in combinations:
            combinations.append(values)
            if len(combinations) > _VALUES_MAX:
                return [dict.fromkeys(indexes.values(), UNKNOWN)]
    return combinations


def _empty(count: int, indexes: list[int]) -> list[Value]:
    """Return an image without values: NULL at `indexes`, absent elsewhere."""
    values: list[Value] = [ABSENT] * count
    for index in indexes:
        values[index] = None
    return values


def _literal(value: Value) -> str:
    """Return a value as SQL; UNKNOWN if that is not certain to find it."""
    if value is None:
        return NULL
    if isinstance(value, int):
        return str(value)
    if (
        isinstance(value, str)
        and len(value) <= _TEXT_CHARACTERS_MAX
        and value.isprintable()
        and "\\" not in value
    ):
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return UNKNOWN
