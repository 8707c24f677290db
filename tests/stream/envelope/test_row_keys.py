"""Keys that are read past the other columns, compared with those of the records."""

from __future__ import annotations

from librt.strings import BytesWriter

from connector.binlog.events.rows import RowsEvent
from connector.foundation.errors import ConnectorError
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.row_keys import RowKeys
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.table_registry import PublishedTable
from tests.golden.every_log import every_log
from tests.golden.golden import GoldenLog, with_inner_events

OPTIONS = EnvelopeOptions("p", "mysql", "1")


def written_keys(rows: RowsEvent, schema: TableSchema) -> list[list[bytes]]:
    """Return the keys of the images of each row, as they are written."""
    table = PublishedTable(rows.table_map, schema, "topic", TableWindows(), OPTIONS)
    images = table.images(rows)
    out = BytesWriter()
    found: list[list[bytes]] = []
    while images.next_row():
        keys: list[bytes] = []
        for present in (rows.before_columns_present, rows.after_columns_present):
            if present is not None:
                out.truncate(0)
                images.put(out)
                key = images.key(out)
                if key is not None and key not in keys:
                    keys.append(key)
        found.append(keys)
    return found


@every_log
def test_keys_are_those_of_the_records(log: GoldenLog) -> None:
    for event in with_inner_events(log.events()):
        rows = event.body
        if not isinstance(rows, RowsEvent) or not rows.table_map.columns:
            continue
        try:
            schema = TableSchema.from_table_map(rows.table_map, "here")
            expected = written_keys(rows, schema)
        except ConnectorError:
            # Such rows have no record to compare with.
            continue
        keys = RowKeys(rows, schema)
        assert [keys.of(row) for row in rows.split()] == expected
        assert [keys.of(row) for row in rows.split(1)] == expected[1:]
