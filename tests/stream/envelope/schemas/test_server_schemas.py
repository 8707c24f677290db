"""Table maps without names get the metadata that the same table map has with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.optional_metadata import MetadataField
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapCache
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import ConnectorError, UnsupportedChange
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.transaction import RowsChange, SourceTransaction
from connector.stream.envelope.schemas.server_schemas import (
    DefinitionSource,
    ServerDefinition,
    ServerSchemas,
)
from connector.stream.envelope.schemas.table_schema import TableSchema
from tests.golden.golden import GoldenLog, logs
from tests.stream.changes.heard import Heard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.events.table_map import TableMapEvent
    from connector.foundation.contract import SchemaColumn

FULL = [
    log
    for log in logs()
    if log.name.endswith((".full.000001", "/types.000001", "/charsets.000001"))
    and not log.name.startswith("mysql-5.7")
]
LOG = next(log for log in FULL if log.name == "mysql-8.0.31/row_images.full.000001")


class Server(DefinitionSource):
    """Answers with what a test says."""

    def __init__(self, columns: list[SchemaColumn] | None, *, changed: bool = False) -> None:
        self.columns = columns
        self.changed = changed
        self.asked = 0

    def define(self, database: str, table: str, change: RowsChange) -> ServerDefinition:
        del database, table, change
        self.asked += 1
        return ServerDefinition(self.columns, "binlog.000009", 900, changed=self.changed)


def changes(log: GoldenLog) -> Iterator[tuple[RowsChange, FormatDescriptionEvent]]:
    """Yield the rows of a log whose tables are described, each table map once."""
    seen: set[int] = set()
    described: FormatDescriptionEvent | None = None
    for event in log.events():
        body = event.body
        if isinstance(body, FormatDescriptionEvent):
            described = body
        elif (
            isinstance(body, RowsEvent)
            and body.table_map.columns
            and body.table_map.named
            and id(body.table_map) not in seen
        ):
            assert described is not None
            seen.add(id(body.table_map))
            transaction = SourceTransaction(event.file, event.position, None, 0, 1)
            yield RowsChange(transaction, 0, event, body), described


def without_names(table_map: TableMapEvent) -> TableMapEvent:
    return table_map.with_metadata(b"", mariadb=False)


def anchored(
    server: Server, listener: StreamListener | None = None, *, mariadb: bool = False
) -> ServerSchemas:
    return ServerSchemas(server, "p", listener or StreamListener(), mariadb=mariadb)


def change_of(table_map: TableMapEvent, like: RowsChange) -> RowsChange:
    like.rows.table_map = table_map
    return RowsChange(like.transaction, like.event_number, like.event, like.rows)


@pytest.mark.parametrize("log", FULL, ids=lambda log: log.name)
def test_what_is_left_out_is_made_up_for(log: GoldenLog) -> None:
    mariadb = log.recording.server.startswith("mariadb")
    count = 0
    for change, described in changes(log):
        table_map = change.rows.table_map
        try:
            schema = TableSchema.from_table_map(table_map, "here")
        except ConnectorError:
            continue
        tables = anchored(Server(list(schema.columns)), mariadb=mariadb)
        unnamed = without_names(table_map)
        assert not unnamed.named
        completed = tables.completed(change_of(unnamed, change))
        assert completed is not None
        assert TableSchema.from_table_map(completed, "here") == schema
        # It is what a server could have sent.
        again = TableMapCache(described, mariadb=mariadb).decode(PayloadReader(completed.raw))
        assert again == completed
        count += 1
    assert count


def the_change() -> tuple[RowsChange, list[SchemaColumn]]:
    change, _ = next(changes(LOG))
    columns = list(TableSchema.from_table_map(change.rows.table_map, "here").columns)
    return change_of(without_names(change.rows.table_map), change), columns


def test_columns_that_do_not_fit_the_log_are_refused() -> None:
    change, columns = the_change()
    others: list[list[SchemaColumn]] = [
        columns[:-1],
        [*columns[:-1], {**columns[-1], "nullable": not columns[-1]["nullable"]}],
        [{**columns[0], "type": "varchar"}, *columns[1:]],
    ]
    for wrong in others:
        with pytest.raises(UnsupportedChange) as caught:
            anchored(Server(wrong)).completed(change)
        name = f"{change.rows.table_map.schema}.{change.rows.table_map.table}"
        assert caught.value.text == (
            f"{change.event.file}:{change.event.position}: the log does not name the columns of "
            f"table {name}, and those that the server shows have other types; SET GLOBAL "
            "binlog_row_metadata=FULL (MySQL 8.0.1, MariaDB 10.5 or newer), and continue after "
            "the rows that were logged without names: give the pipeline a new name and set "
            "source.start; or exclude the table"
        )


def test_signs_that_the_log_tells_are_believed() -> None:
    change, columns = the_change()
    table_map = change.rows.table_map
    signed = next(n for n, column in enumerate(columns) if "unsigned" in column)
    # One column is unsigned by the server alone: the bits of all numeric columns are 0 in the log.
    numeric = sum("unsigned" in column or column["type"] == "year" for column in columns)
    bits = bytes((numeric + 7) // 8)
    logged = table_map.with_metadata(
        bytes((MetadataField.SIGNEDNESS, len(bits))) + bits, mariadb=False
    )
    wrong: list[SchemaColumn] = [*columns]
    wrong[signed] = {**columns[signed], "unsigned": not columns[signed]["unsigned"]}
    with pytest.raises(UnsupportedChange):
        anchored(Server(wrong)).completed(change_of(logged, change))


def test_the_server_is_asked_once_until_a_statement_changes_the_table() -> None:
    change, columns = the_change()
    table_map = change.rows.table_map
    server = Server(columns)
    tables = anchored(server)
    assert tables.completed(change) is tables.completed(change_of(table_map, change))
    assert server.asked == 1
    tables.forget(table_map.schema, "another")
    assert tables.completed(change_of(table_map, change)) is not None
    assert server.asked == 1
    for name in (table_map.table, ""):
        tables.forget(table_map.schema, name)
        tables.completed(change_of(table_map, change))
    assert server.asked == 3


def test_rows_are_dropped_up_to_where_the_server_was_asked() -> None:
    change, columns = the_change()
    table_map = change.rows.table_map
    server = Server(columns, changed=True)
    heard = Heard()
    tables = anchored(server, heard)
    for _ in range(2):
        assert tables.completed(change_of(table_map, change)) is None
    assert server.asked == 1
    assert [name for _, name, _ in heard.resyncs] == [table_map.table]
    server.changed = False
    later = change.event.in_file("binlog.000010")
    assert tables.completed(RowsChange(change.transaction, 0, later, change.rows)) is not None
    assert server.asked == 2


def test_a_schema_record_is_believed_where_nothing_came_after_it() -> None:
    change, columns = the_change()
    table_map = change.rows.table_map
    name = f"{table_map.schema}.{table_map.table}"

    def asked(pipeline: str, *changed: str) -> int:
        record = json.dumps({"columns": columns, "anchor": f"{pipeline}@binlog.000001:4"})
        server = Server(columns)
        tables = ServerSchemas(
            server,
            "p",
            StreamListener(),
            mariadb=False,
            schemas={f"{name}/1": record.encode()},
            changed=changed,
        )
        assert tables.completed(change_of(table_map, change)) is not None
        return server.asked

    assert asked("p") == 0
    assert asked("p", name) == 1
    assert asked("other") == 1
