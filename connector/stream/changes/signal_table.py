"""The signal table: users send signals to the pipeline by INSERT.

The first three columns are an id, the type and the data of a signal, whatever their names.
https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from typing import Final, final

from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import INSERT
from connector.binlog.table_filter import TableFilter

_COLUMNS: Final = 3


@final
class SignalTable:
    """Keeps the signals of the stream until they are done."""

    def __init__(self, database: str, table: str, tables: TableFilter) -> None:
        """Take the new rows of a table, whose name `tables` compares."""
        self._name = (database, table)
        self._tables = tables
        # Id, type and data of each signal; what is no text is "".
        self.seen: list[tuple[str, str, str]] = []

    def take(self, rows: RowsEvent) -> None:
        """Keep the signals of an event; raises EventError for a row that cannot be read."""
        table_map = rows.table_map
        if rows.kind is not INSERT or not self._tables.same_name(
            self._name, (table_map.schema, table_map.table)
        ):
            return
        for row in rows.rows():
            values = row.after or []
            texts = [value if isinstance(value, str) else "" for value in values]
            if len(texts) >= _COLUMNS:
                self.seen.append((texts[0], texts[1], texts[2]))
