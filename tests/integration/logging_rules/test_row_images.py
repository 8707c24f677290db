"""The columns of row images: the recorded bitmaps are the predicted ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.column import JsonDiffs
from connector.binlog.events.rows import RowsEvent
from connector.rules.row_images import RowEventKind, RowImage, recorded_columns
from connector.rules.statement_facts import Generated, Table, TableColumn, UniqueKey
from tests.rules.samples import N_TABLE, T_TABLE
from tests.rules.server_versions import server_version

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from connector.foundation.server_version import ServerVersion
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server

_ID = TableColumn("id", nullable=False)
_V, _W = TableColumn("v"), TableColumn("w")
_TEXT = TableColumn("b", blob=True)
_PRIMARY = UniqueKey("PRIMARY", ("id",))


def columns_with_diffs(
    table: Table, after: AbstractSet[str], given: AbstractSet[str], changed: AbstractSet[str]
) -> frozenset[str]:
    """Return the columns of an after image that have the changes of a document in its place.

    That is what `binlog_row_value_options = PARTIAL_JSON` does to each UPDATE of MySQL since 8.0.3.
    `changed` are those `given` columns that JSON_SET, JSON_REPLACE or JSON_REMOVE sets to a changed
    form of their own document. A column without a value has no changes. The server writes the whole
    document if it is the shorter one, and for an old or new NULL, and if the row is moved.
    """
    documents = {column.name for column in table.columns if column.json}
    in_place = changed if table.engine.name == "InnoDB" else frozenset[str]()
    return frozenset(documents & after - (given - in_place))


def table(name: str, columns: tuple[TableColumn, ...], *keys: UniqueKey) -> Table:
    return Table(name, T_TABLE.engine, columns, keys)


WITH_KEY = table("with_key", (_ID, _V, _TEXT, _W), _PRIMARY)
UNIQUE = table(
    "uniques",
    (TableColumn("n"), TableColumn("k", nullable=False), _V, _TEXT),
    UniqueKey("n", ("n",)),
    UniqueKey("k", ("k",)),
)
TWO = table(
    "two",
    (TableColumn("a", nullable=False), TableColumn("z", nullable=False), _V),
    UniqueKey("y", ("z",)),
    UniqueKey("x", ("a",)),
)
WITHOUT = table("without", (TableColumn("a"), _TEXT))
COUNTED = table(
    "counted", (TableColumn("id", nullable=False, auto_increment=True), _V, _TEXT), _PRIMARY
)
COMPUTED = table(
    "computed",
    (
        _ID,
        _V,
        TableColumn("virt", generated=Generated.VIRTUAL, based_on=frozenset("v")),
        TableColumn("stor", generated=Generated.STORED, based_on=frozenset("v")),
        _TEXT,
        _W,
    ),
    _PRIMARY,
)
KEYLESS = table("keyless", COMPUTED.columns[1:4])
BLOB_KEY = table(
    "blob_key",
    (_V, TableColumn("b", blob=True, nullable=False)),
    UniqueKey("PRIMARY", ("b",)),
)
JSON = TableColumn("j", json=True), TableColumn("k", json=True)
DOCUMENTS = table("documents", (_ID, *JSON, _V), _PRIMARY)
N_DOCUMENTS = replace(DOCUMENTS, name="n_documents", engine=N_TABLE.engine)
# MariaDB's JSON is a TEXT; neither server takes a GEOMETRY as a blob.
TYPES = table("types", (_ID, TableColumn("j", json=True), TableColumn("g"), _TEXT, _V), _PRIMARY)
_GENERATED = "virt INT AS (v + 1) VIRTUAL, stor INT AS (v + 2) STORED"
CREATED = (
    "with_key (id INT PRIMARY KEY, v INT, b TEXT, w INT)",
    "uniques (n INT UNIQUE, k INT NOT NULL UNIQUE, v INT, b TEXT)",
    "two (a INT NOT NULL, z INT NOT NULL, v INT, UNIQUE y (z), UNIQUE x (a))",
    "without (a INT, b TEXT)",
    "counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT, b TEXT)",
    f"computed (id INT PRIMARY KEY, v INT, {_GENERATED}, b TEXT, w INT)",
    "types (id INT PRIMARY KEY, j JSON, g GEOMETRY, b TEXT, v INT)",
    f"keyless (v INT, {_GENERATED})",
    "blob_key (v INT, b TEXT NOT NULL, PRIMARY KEY (b(5)))",
)
STATEMENTS = (
    (WITH_KEY, RowEventKind.WRITE, "INSERT INTO with_key (id, v) VALUES (1, 1)", "id v"),
    (WITH_KEY, RowEventKind.UPDATE, "UPDATE with_key SET v = 2", "v"),
    (WITH_KEY, RowEventKind.UPDATE, "UPDATE with_key SET b = 'x'", "b"),
    (WITH_KEY, RowEventKind.DELETE, "DELETE FROM with_key", ""),
    (UNIQUE, RowEventKind.WRITE, "INSERT INTO uniques (n, k) VALUES (1, 1)", "n k"),
    (UNIQUE, RowEventKind.UPDATE, "UPDATE uniques SET v = 2", "v"),
    (UNIQUE, RowEventKind.DELETE, "DELETE FROM uniques", ""),
    (TWO, RowEventKind.WRITE, "INSERT INTO two VALUES (1, 1, 1)", "a z v"),
    (TWO, RowEventKind.DELETE, "DELETE FROM two", ""),
    (WITHOUT, RowEventKind.WRITE, "INSERT INTO without (a) VALUES (1)", "a"),
    (WITHOUT, RowEventKind.UPDATE, "UPDATE without SET a = 2", "a"),
    (WITHOUT, RowEventKind.DELETE, "DELETE FROM without", ""),
    (COUNTED, RowEventKind.WRITE, "INSERT INTO counted (v) VALUES (1)", "v"),
    (COUNTED, RowEventKind.DELETE, "DELETE FROM counted", ""),
    (COMPUTED, RowEventKind.WRITE, "INSERT INTO computed (id) VALUES (1)", "id"),
    (COMPUTED, RowEventKind.UPDATE, "UPDATE computed SET v = 2", "v"),
    (COMPUTED, RowEventKind.UPDATE, "UPDATE computed SET w = 2", "w"),
    (COMPUTED, RowEventKind.DELETE, "DELETE FROM computed", ""),
    (TYPES, RowEventKind.WRITE, "INSERT INTO types (id) VALUES (1)", "id"),
    (TYPES, RowEventKind.UPDATE, "UPDATE types SET v = 2", "v"),
    (TYPES, RowEventKind.DELETE, "DELETE FROM types", ""),
    (KEYLESS, RowEventKind.WRITE, "INSERT INTO keyless (v) VALUES (1)", "v"),
    (KEYLESS, RowEventKind.UPDATE, "UPDATE keyless SET v = 2", "v"),
    (KEYLESS, RowEventKind.DELETE, "DELETE FROM keyless", ""),
    (BLOB_KEY, RowEventKind.WRITE, "INSERT INTO blob_key (b) VALUES ('q')", "b"),
    (BLOB_KEY, RowEventKind.UPDATE, "UPDATE blob_key SET v = 4", "v"),
    (BLOB_KEY, RowEventKind.DELETE, "DELETE FROM blob_key", ""),
)


CHANGES = (
    ("j = JSON_SET(j, '$.a', 2)", "j", "j"),
    ("j = JSON_REMOVE(JSON_REPLACE(j, '$.a', 2), '$.b'), k = '{}'", "j k", "j"),
    ("j = JSON_INSERT(j, '$.z', 2)", "j", ""),
    ("j = JSON_SET(k, '$.a', 2)", "j", ""),
    ("v = 2", "v", ""),
)


def present(table: Table, bitmap: bytes | None) -> frozenset[str] | None:
    if bitmap is None:
        return None
    names = [column.name for column in table.columns]
    return frozenset(
        name for index, name in enumerate(names) if bitmap[index // 8] >> (index % 8) & 1
    )


def version_of(log: SourceLog) -> ServerVersion:
    ((text,),) = log.execute("SELECT VERSION()")
    return server_version(text)


def as_on(table: Table, version: ServerVersion) -> Table:
    """Return the table; JSON is a TEXT on MariaDB."""
    if not version.is_mariadb:
        return table
    columns = (replace(each, blob=each.blob or each.json, json=False) for each in table.columns)
    return replace(table, columns=tuple(columns))


def test_the_recorded_columns_are_the_predicted_ones(source_log: SourceLog) -> None:
    version = version_of(source_log)
    images = [RowImage.MINIMAL, RowImage.NOBLOB, RowImage.FULL]
    if version.is_mariadb:
        images.append(RowImage.FULL_NODUP)
    for definition in CREATED:
        source_log.execute(f"CREATE TABLE {definition}")
    for image in images:
        source_log.execute(f"SET SESSION binlog_row_image = {image.value}")
        for table, change, statement, given in STATEMENTS:
            source_log.events()
            source_log.execute(statement)
            (rows,) = [
                event.body for event in source_log.events() if isinstance(event.body, RowsEvent)
            ]
            predicted = recorded_columns(
                as_on(table, version), change, image, set(given.split()), version
            )
            recorded = (
                present(table, rows.before_columns_present),
                present(table, rows.after_columns_present),
            )
            assert (predicted.before, predicted.after) == recorded, (image, statement)


def test_the_documents_that_are_recorded_as_changes_are_the_predicted_ones(
    source_log: SourceLog,
) -> None:
    version = version_of(source_log)
    if not version.mysql_since(8, 0, 3):
        pytest.skip("only MySQL since 8.0.3 has binlog_row_value_options")
    source_log.execute("SET SESSION binlog_row_value_options = 'PARTIAL_JSON'")
    padded = f'{{"a": 1, "b": [], "c": "{"x" * 100}"}}'
    for table in (DOCUMENTS, N_DOCUMENTS):
        source_log.execute(
            f"CREATE TABLE {table.name} (id INT PRIMARY KEY, j JSON, k JSON, v INT) "
            f"ENGINE={table.engine.name}"
        )
    for image in (RowImage.MINIMAL, RowImage.NOBLOB, RowImage.FULL):
        source_log.execute(f"SET SESSION binlog_row_image = {image.value}")
        for table in (DOCUMENTS, N_DOCUMENTS):
            for assignments, given, changed in CHANGES:
                values = f"(1, '{padded}', '{padded}', 1)"
                source_log.execute(f"REPLACE INTO {table.name} VALUES {values}")
                source_log.events()
                source_log.execute(f"UPDATE {table.name} SET {assignments}")
                (rows,) = [
                    event.body for event in source_log.events() if isinstance(event.body, RowsEvent)
                ]
                ((_, after),) = [(row.before, row.after) for row in rows.rows()]
                assert after is not None
                columns = set(given.split())
                images = recorded_columns(table, RowEventKind.UPDATE, image, columns, version)
                assert images.after is not None
                expected = columns_with_diffs(table, images.after, columns, set(changed.split()))
                names = [column.name for column in table.columns]
                found = {
                    name
                    for name, value in zip(names, after, strict=True)
                    if isinstance(value, JsonDiffs)
                }
                assert found == expected, (image, table.name, assignments)
