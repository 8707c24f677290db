"""The definitions of many tables, read together, are those of each table alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.stream.source.information_schema import read_definition, read_definitions
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from verification.table_definitions import read_tables

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

# Names that need quotes, and that sort or compare otherwise than they look.
TABLES = {
    "plain": "(id INT PRIMARY KEY, name VARCHAR(9), at DATETIME(3) NOT NULL)",
    "Two Keys": "(a INT, b VARCHAR(9) NOT NULL, c INT, PRIMARY KEY (c, a), UNIQUE (b), UNIQUE (a))",
    "it's": "(id BIGINT UNSIGNED PRIMARY KEY, v DECIMAL(30,10), w BIT(3), x YEAR, KEY (v))",
    "no_key": "(a INT, b INT, KEY (a))",
    "not_null": "(b INT NOT NULL, a INT NOT NULL, n INT, UNIQUE n (n), UNIQUE ba (b, a))",
    "both_orders": "(a INT NOT NULL, b INT NOT NULL, UNIQUE ba (b, a), UNIQUE ab (a, b))",
    "prefix": "(a VARCHAR(30), b TEXT, PRIMARY KEY (a(5)), UNIQUE (b(7)))",
    "texts": "(id CHAR(9) PRIMARY KEY, l VARCHAR(9) CHARACTER SET latin1, e ENUM('x','y''z'), "
    "s SET('a','b'), m MEDIUMTEXT, j JSON)",
    "bytes": "(id BINARY(4) PRIMARY KEY, v VARBINARY(9), b BLOB, g GEOMETRY)",
    "computed": "(id INT PRIMARY KEY, v INT AS (id + 1) VIRTUAL, s INT AS (id + 2) STORED)",
    "many": f"(id INT PRIMARY KEY, {', '.join(f'c{number} INT' for number in range(40))})",
    "parts": "(id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3",
    "memory": "(id INT PRIMARY KEY, v INT, UNIQUE (v)) ENGINE=MEMORY",
}
OF_MARIADB = {
    "versioned": "(id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
    "packed": "(id INET6 PRIMARY KEY, v INET6)",
    "no_pad": "(id CHAR(9) COLLATE utf8mb4_nopad_bin PRIMARY KEY, v INT)",
    "long_unique": "(id INT PRIMARY KEY, v TEXT, w TEXT, UNIQUE (v), UNIQUE (w))",
}


def create(server: Source, place: str, session: SelectSession) -> list[str]:
    """Create all tables, a view, and a table of another database; return the names of tables."""
    is_mariadb = session.identity.flavour == "mariadb"
    tables = TABLES | (OF_MARIADB if is_mariadb else {})
    for name, columns in tables.items():
        server.execute(f"CREATE TABLE {place}.`{name}` {columns}")
    server.execute(
        f"CREATE VIEW {place}.`a view` AS SELECT id FROM {place}.plain",
        f"INSERT INTO {place}.plain VALUES (1, 'a', NOW()), (2, 'b', NOW())",
    )
    return list(tables)


def test_definitions_that_are_read_together_are_those_of_each_table(
    server: Source, place: str
) -> None:
    login = server.settings(user=server.create_account("SELECT, REPLICATION CLIENT"))
    with SelectSession(login) as session:
        names = create(server, place, session)
        found = read_definitions(session, place, [*names, "a view", "missing"])
        # A table with versions has columns that only it shows: it is read alone.
        assert sorted(found) == sorted(set(names) - {"versioned"})
        for name, definition in found.items():
            alone = read_definition(session, place, name)
            assert definition.columns == alone.columns, name
            own = [getattr(definition, part) for part in ("key", "prefixed", "unique", "hidden")]
            assert own == [getattr(alone, part) for part in ("key", "prefixed", "unique", "hidden")]
            assert definition.unordered == alone.unordered, name
            assert definition.collations.items() >= alone.collations.items(), name
            together = SelectedTable.of_definition(session, (place, name), definition)
            assert together == SelectedTable.describe(session, place, name), name


def test_tables_of_several_databases_come_with_what_the_server_knows_of_their_rows(
    server: Source, place: str
) -> None:
    other = f"{place}_b"
    login = server.settings(user=server.create_account("SELECT, REPLICATION CLIENT"))
    with SelectSession(login) as session:
        create(server, place, session)
        server.execute(
            f"CREATE DATABASE {other}",
            f"CREATE TABLE {other}.plain (id INT PRIMARY KEY)",
            f"ANALYZE TABLE {place}.plain",
        )
        try:
            names = [(place, "plain"), (other, "plain"), (place, "memory"), (other, "missing")]
            found = read_tables(session, names)
        finally:
            server.execute(f"DROP DATABASE {other}")
    assert set(found) == set(names[:3])
    columns = [[row["name"] for row in found[name].columns] for name in names[:2]]
    assert columns == [["id", "name", "at"], ["id"]]
    assert found[place, "plain"].plan.estimated_rows == 2
    assert [found[name].plan.transactional for name in names[:3]] == [True, True, False]
    assert not any(read_tables(session, []))
