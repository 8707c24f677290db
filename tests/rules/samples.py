"""Tables, servers and statements that several tests use."""

from __future__ import annotations

from connector.foundation.server_version import Product, ServerVersion
from connector.rules.server import Engine, engine_of
from connector.rules.statement_facts import Kind, StatementFacts, Table, TableUse

MYSQL_5_7 = ServerVersion(Product.MYSQL, (5, 7, 22))
MYSQL_8_0 = ServerVersion(Product.MYSQL, (8, 0, 31))
MARIADB = ServerVersion(Product.MARIADB, (11, 8, 6))


def engine(name: str) -> Engine:
    found = engine_of(name, MYSQL_8_0)
    assert found is not None
    return found


T_TABLE = Table("t", engine("InnoDB"))
N_TABLE = Table("n", engine("MyISAM"))
EXAMPLE = Table("example", engine("EXAMPLE"))
NDB = Table("ndb", engine("ndbcluster"))


def insert(*tables: Table, **facts: bool) -> StatementFacts:
    """Return an INSERT that writes the tables."""
    uses = tuple(TableUse(table, writes=True) for table in tables)
    return StatementFacts(Kind.INSERT, uses, **facts)  # type: ignore[arg-type]
