"""Online schema changes: the effect of the tools' helper tables on the altered table.

gh-ost and pt-online-schema-change alter a copy of a table, keep it equal to the table, and then
give it the table's name::

    gh-ost  RENAME TABLE t TO _t_del, _t_gho TO t     or t TO _t_del, then _t_gho TO t
            _t_ghc is its notebook; names may begin with ~, and hold a time before _del
    pt      RENAME TABLE t TO _t_old, _t_new TO t     more underscores if a name is taken

*Names.* If the original table is followed, these tables are not published, even if a pattern of
followed tables matches their names. `TableFilter` decides it.

*The cut-over.* The log cannot show that the copy has the rows of the table. A row that nobody has
changed since the copy was created is in the log once, as a row of the copy; whether the table has
it, too, or has others, only the server knew. Any user can create tables and triggers with such
names, or change rows of a copy. So a cut-over is a rename like others, and the table is copied
again, unless the user says that only the tools use these names (`keeps_rows`).

Then the rows stay, and the table goes on under its topic; columns that were added to the copy are
columns added to the table. The tools convert rows when they copy them, so the statements that
alter the copy are kept. If one of them is not proven to keep values (`resync_rules`), the table is
copied again at the cut-over. So it is in three other cases: the stream has not seen the tool begin
(CREATE TABLE of gh-ost, or the triggers of pt-online-schema-change); the table was emptied since,
which neither tool notices; the copy has a new unique key, because of which the tools leave out
rows.
"""

import re
from typing import Final, final

from connector.binlog.sql_text import TableName
from connector.binlog.table_filter import named_after
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind

_GHOST_COPY = re.compile(r"[_~](.+)_gho", re.DOTALL)
_GHOST_OLD = re.compile(r"[_~](.+?)(?:_\d{14})?_del", re.DOTALL)
_COPY = re.compile(r"[_~].+_(gho|new)", re.DOTALL)
# pt-online-schema-change calls its triggers pt_osc_<database>_<table>_ins, _upd and _del.
_PERCONA_TRIGGERS: Final = "pt_osc_"


@final
class OnlineSchemaChanges:
    """The online schema changes that are under way."""

    def __init__(self, *, keeps_rows: bool = False) -> None:
        """Begin without any; with `keeps_rows`, consumers keep their rows at a cut-over."""
        self._keeps_rows = keeps_rows
        # By `database.table`: columns added to a copy, in their order.
        self.added: dict[str, list[AddedColumn]] = {}
        # ALTER TABLE of copies, each with its sql_mode.
        self.altered: dict[str, list[tuple[str, int]]] = {}
        # Signs that a table is being copied: a table of gh-ost, triggers.
        self.copied: dict[str, list[str]] = {}
        # Copies with a new unique key; the tools leave out rows that are equal in it.
        self.fewer: dict[str, None] = {}
        # Tables that gh-ost has renamed, until their copies get their names.
        self.away: dict[str, str] = {}

    def create_trigger(self, table: TableName, trigger: str) -> None:
        """Note that a trigger was created on a table."""
        if trigger.startswith(_PERCONA_TRIGGERS):
            self.copied.setdefault(_name(table), []).append(trigger)

    def drop_trigger(self, database: str, trigger: str) -> None:
        """Note that a trigger on a table of `database` was dropped."""
        for name, shown_by in list(self.copied.items()):
            if trigger in shown_by and name.startswith(f"{database}."):
                shown_by.remove(trigger)
                if not shown_by:
                    del self.copied[name]

    def create_table(self, table: TableName) -> None:
        """Note that a table was created that is not published."""
        copy = _GHOST_COPY.fullmatch(table[1])
        if copy is not None:
            self.copied.setdefault(f"{table[0]}.{copy[1]}", []).append(table[1])

    def alter(self, table: TableName, columns: list[AddedColumn], query: str, mode: int) -> None:
        """Note a statement, in sql_mode `mode`, on a table that is not published.

        It adds `columns`.
        """
        if not named_after(table[1]):
            return
        name = _name(table)
        self.altered.setdefault(name, []).append((query, mode))
        if columns:
            self.added[name] = self.added.get(name, []) + columns

    def statements_on(self, table: TableName) -> list[tuple[str, int]]:
        """Return the statements that altered a table that is not published, with their modes."""
        return self.altered.get(_name(table), [])

    def add_key(self, table: TableName) -> None:
        """Note that a key was added to a table that is not published; it may be unique."""
        if named_after(table[1]):
            self.fewer[_name(table)] = None

    def forget(self, table: TableName) -> list[TableName]:
        """Note that a table is gone, was emptied, or has another name.

        Returns the original names of tables that gh-ost had renamed to this name.
        """
        database, name = table
        self.added.pop(_name(table), None)
        self.altered.pop(_name(table), None)
        self.fewer.pop(_name(table), None)
        # The copy of this table does not count as a copy any longer.
        self.copied.pop(_name(table), None)
        self.away.pop(_name(table), None)
        were: list[TableName] = []
        for original in named_after(name):
            known = f"{database}.{original}"
            if _COPY.fullmatch(name) is not None:
                self.copied.pop(known, None)
            if self.away.get(known) == _name(table):
                del self.away[known]
                were.append((database, original))
        return were

    def forget_database(self, database: str) -> None:
        """Forget all tables of a database that was dropped."""
        beginning = f"{database}."
        for known in (*self.added, *self.altered, *self.fewer, *self.copied, *self.away):
            if known.startswith(beginning):
                self.added.pop(known, None)
                self.altered.pop(known, None)
                self.fewer.pop(known, None)
                self.copied.pop(known, None)
                self.away.pop(known, None)

    def move_away(self, table: TableName, new: TableName) -> bool:
        """Return whether `new` is where gh-ost puts a table, whose copy then takes its name."""
        old = _GHOST_OLD.fullmatch(new[1])
        moved = table[0] == new[0] and old is not None and old[1] == table[1]
        if moved and self._keeps_rows and _name(table) in self.copied:
            self.away[_name(table)] = _name(new)
            return True
        return False

    def is_copy(self, copy: TableName, table: TableName) -> bool:
        """Return whether `copy` counts as having the rows of `table`."""
        return (
            self._keeps_rows
            and copy[0] == table[0]
            and _name(table) in self.copied
            and _name(copy) not in self.fewer
            and _COPY.fullmatch(copy[1]) is not None
            and table[1] in named_after(copy[1])
        )

    def cut_over(self, copy: TableName, table: TableName) -> list[AddedColumn]:
        """Replace `table` with `copy`; return the columns that this adds."""
        self.copied.pop(_name(table), None)
        self.away.pop(_name(table), None)
        self.altered.pop(_name(copy), None)
        return self.added.pop(_name(copy), [])

    def replaced(self, table: TableName) -> bool:
        """Note that `table` is a different one now; return whether the original was put aside."""
        self.copied.pop(_name(table), None)
        return self.away.pop(_name(table), None) is not None

    def is_away(self, table: TableName) -> bool:
        """Return whether gh-ost has put the table aside, so that its copy can get its name."""
        return _name(table) in self.away

    def to_record(self) -> dict[str, dict[str, list[list[str]]]]:
        """Return the state as JSON objects; {} if there is none."""
        record: dict[str, dict[str, list[list[str]]]] = {
            "added": {
                name: [[column.name, column.default.value, column.text] for column in columns]
                for name, columns in self.added.items()
            },
            "altered": {
                name: [[query, str(mode)] for query, mode in statements]
                for name, statements in self.altered.items()
            },
            "fewer": {name: [] for name in self.fewer},
            "copied": {name: [shown_by] for name, shown_by in self.copied.items()},
            "away": {name: [[other]] for name, other in self.away.items()},
        }
        return {kind: entries for kind, entries in record.items() if entries}

    @staticmethod
    def of_record(
        record: dict[str, dict[str, list[list[str]]]], *, keeps_rows: bool
    ) -> "OnlineSchemaChanges":
        """Return the state that `to_record` returned; `keeps_rows` as at the beginning."""
        online = OnlineSchemaChanges(keeps_rows=keeps_rows)
        for name, columns in record.get("added", {}).items():
            online.added[name] = [
                AddedColumn(column, DefaultKind(kind), text) for column, kind, text in columns
            ]
        for name, statements in record.get("altered", {}).items():
            online.altered[name] = [(query, int(mode)) for query, mode in statements]
        online.fewer = dict.fromkeys(record.get("fewer", {}))
        for name, (shown_by,) in record.get("copied", {}).items():
            online.copied[name] = shown_by
        for name, ((other,),) in record.get("away", {}).items():
            online.away[name] = other
        return online


def _name(table: TableName) -> str:
    return f"{table[0]}.{table[1]}"
