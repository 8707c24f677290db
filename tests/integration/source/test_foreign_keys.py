"""The foreign keys that an account sees which may read the followed tables and no more."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from connector.binlog.table_filter import TableFilter
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.foreign_keys import (
    ServerForeignKeys,
    cascade_gaps,
    logs_cascades,
    read_keys,
)
from connector.stream.source.select_session import SelectSession
from tests.integration.source_server import LEAST_GRANTS, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.settings.sections import SourceSettings
    from connector.stream.changes.foreign_keys import ForeignKeys
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

SERVERS = ["mysql_server", "mysql_9", "mysql_5_7", "mariadb_server", "mariadb_10_5"]


@pytest.fixture(params=SERVERS, ids=[name.removesuffix("_server") for name in SERVERS])
def server(request: pytest.FixtureRequest) -> Source:
    return source_of(request.getfixturevalue(request.param))


@pytest.fixture
def databases(server: Source) -> Iterator[tuple[str, str]]:
    """Tables that refer to a parent in another database."""
    first, second = (f"keys_{uuid.uuid4().hex[:10]}" for _ in range(2))
    to = f"REFERENCES {first}.p"
    server.execute(
        f"CREATE DATABASE {first}",
        f"CREATE DATABASE {second}",
        f"CREATE TABLE {first}.p (x INT, `Y `` (` INT, PRIMARY KEY (x, `Y `` (`), "
        "u INT NOT NULL UNIQUE)",
        f"CREATE TABLE {second}.a (id INT PRIMARY KEY, px INT, py INT, FOREIGN KEY (px, py) {to} "
        "(x, `y `` (`) ON DELETE CASCADE ON UPDATE SET NULL) "
        "COMMENT 'CONSTRAINT `a_ibfk_1` FOREIGN KEY (`px`) REFERENCES `p` (`x`)'",
        f"CREATE TABLE {second}.b (id INT PRIMARY KEY, CONSTRAINT `odd `` FOREIGN KEY (` "
        f"FOREIGN KEY (id) {to} (u) ON UPDATE CASCADE)",
        f"CREATE TABLE {second}.c (u INT, FOREIGN KEY (u) {to} (u) ON DELETE SET NULL)",
        f"CREATE TABLE {second}.d (u INT, FOREIGN KEY (u) {to} (u) ON DELETE RESTRICT)",
    )
    yield first, second
    server.execute(f"DROP DATABASE {second}", f"DROP DATABASE {first}")


def settings_of_reader(server: Source, database: str) -> SourceSettings:
    """Return the settings of an account that may read the tables of a database, and follow them."""
    user = server.create_account(LEAST_GRANTS)
    server.execute(f"GRANT SELECT ON {database}.* TO {user}")
    return server.settings(user=user, tables=[f"{database}.*"])


def shown(keys: ForeignKeys, parent: tuple[str, str]) -> list[tuple[object, ...]]:
    """Return the keys that refer to a table."""
    found = [
        (key.child[1], key.columns, key.on_delete, key.on_update, key.identifies)
        for key in keys.of_parent(parent)
    ]
    return sorted(found, key=repr)


def test_an_account_that_may_read_the_children_sees_their_keys(
    server: Source, databases: tuple[str, str]
) -> None:
    first, second = databases
    settings = settings_of_reader(server, second)
    with SelectSession(settings) as session:
        keys = read_keys(session.query)
        identity = session.identity
    assert keys.parents == [(first, "p")]
    none = "RESTRICT" if server.is_mariadb or identity.version_number < (8, 0) else "NO ACTION"
    found = shown(keys, (first, "p"))
    columns = [("px", "x"), ("py", found[0][1][1][1])]  # type: ignore[index]
    assert columns[1][1].lower() == "y ` ("
    # MariaDB's SHOW CREATE TABLE leaves out what is the default.
    other = "" if server.is_mariadb else none
    assert found == [
        ("a", columns, "CASCADE", "SET NULL", False),
        ("b", [("id", "u")], other, "CASCADE", True),
        ("c", [("u", "u")], "SET NULL", other, True),
    ]
    # A statement is waited for on the tables that it names; one that is gone is no error.
    learned = ServerForeignKeys(settings, identity).learn(
        [(second, "a"), (first, "p"), (first, "gone")]
    )
    assert shown(learned.keys, (first, "p")) == found
    assert learned.end > (0, 0)


def test_check_names_the_tables_whose_changes_the_log_does_not_hold(
    server: Source, databases: tuple[str, str]
) -> None:
    _, second = databases
    settings = settings_of_reader(server, second)
    tables = TableFilter(settings.tables)
    with MysqlServer.connect(settings) as connected:
        logged = logs_cascades(connected.query)
        found = list(cascade_gaps(connected, tables, copies=True))
        lost = list(cascade_gaps(connected, tables, copies=False))
    assert logged == (not server.is_mariadb and connected.identity.version_number >= (9, 6))
    if logged:
        assert found == lost == []
        return
    names = f"{second}.a, {second}.b, {second}.c"
    assert (found[0].rule, found[0].places) == ("R-log-row-format", ())
    assert str(found[0].problem) == (
        "[S651] foreign keys change rows of these tables without a trace in the log of this "
        f"server: {names}; they are copied again after such changes, all of a table after a "
        "delete with CASCADE; schema.cascade_seconds says how often"
    )
    assert lost[0].problem.fix == (
        "consumers keep rows that the source does not have; set schema.on_cascade to copy"
    )
