"""Rows of a SELECT, in the profile `debezium`, have the bytes of the rows that Debezium copied."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from connector.stream.envelope.copied_chunk import CopyPosition
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from local_stack import MysqlServer, connect
from tests.debezium import story
from tests.debezium.comparison import GOLDEN, RECORDS, by_table, differences, kept, seen
from tests.debezium.option_sets import SETS
from tests.debezium.registered import NumberedSchemas, readable
from tests.integration.snapshots.chunks import whole_chunk
from tests.integration.source_server import source_of
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from connector.stream.envelope.options import EnvelopeOptions
    from tests.debezium.comparison import Seen
    from tests.debezium.option_sets import OptionSet

pytestmark = pytest.mark.server

READ_AT = CopyPosition(1, "binlog.000001", 1, 4, 0, 0, 0)


def copied(
    session: SelectSession, database: str, table: str, options: EnvelopeOptions
) -> list[Seen]:
    described = SelectedTable.describe(session, database, table)
    order = f"ORDER BY {', '.join(key.expression for key in described.key_columns) or '1'}"
    sql = f"SELECT {described.select_list} FROM {described.quoted_name} {order}"
    target = Collected()
    chunk = whole_chunk(session, sql, described.writer(options.debezium))
    assert chunk.refused == []
    chunk.publish(target, options, READ_AT, set(), 0)
    return [
        seen(
            each.topic,
            _moved(each.key, database, options),
            _moved(each.value, database, options),
            each.headers,
        )
        for each in target.records
    ]


def _moved(text: bytes | None, database: str, options: EnvelopeOptions) -> bytes | None:
    """Return a key or value with the database of the story in the names of its schemas."""
    ids = options.schema_ids
    if text and isinstance(ids, NumberedSchemas) and text.startswith(b"\0"):
        text = readable(text, ids.text)
    for name in (database, database.replace("_", "_u005f")):
        text = text and text.replace(name.encode(), story.DATABASE.encode())
    return text


@pytest.mark.parametrize("chosen", SETS, ids=lambda each: each.name)
def test_copied_rows_are_those_of_debezium(mysql_9: MysqlServer, chosen: OptionSet) -> None:
    source = source_of(mysql_9)
    database = f"test_{uuid.uuid4().hex[:12]}"
    source.execute(f"CREATE DATABASE {database}")
    chosen_columns = chosen.source_settings(database)
    settings = source.settings(user=source.create_account("SELECT")).model_copy(
        update={
            key: getattr(chosen_columns, key) for key in ("columns", "exclude_columns", "masks")
        }
    )
    with connect(mysql_9.endpoint, database) as connection, connection.cursor() as cursor:
        for statement in story.beginning("mysql-9"):
            cursor.execute(statement)
    found: list[str] = []
    options = chosen.options("mysql", database, NumberedSchemas())
    with SelectSession(settings) as session:
        for table, records in by_table(kept(GOLDEN / "mysql-9" / RECORDS, chosen.name)).items():
            wanted = [record for record in records if record.copied]
            if wanted:
                found += differences(copied(session, database, table, options), wanted)
    source.execute(f"DROP DATABASE {database}")
    assert found == []
