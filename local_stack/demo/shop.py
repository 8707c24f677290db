"""The shop's tables on a source, and the account that reads them, with the fewest rights.

`shop.sql` has five tables with primary keys, and `page_views` without one. During the demo, the
workload adds a column to `orders`.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from connector.errors import LocalStackError, local_demo
from local_stack.endpoint import connect

if TYPE_CHECKING:
    from local_stack.endpoint import Endpoint

DATABASE = "shop"
MIRRORED_TABLES = ("customers", "products", "orders", "order_lines", "payments")
KEYLESS_TABLE = "page_views"
TABLES = (*MIRRORED_TABLES, KEYLESS_TABLE)

# Customers that exist before the connector starts, and buy nothing.
REGULARS = range(1000)
REGULAR_CUSTOMER = (
    f"INSERT INTO {DATABASE}.customers"  # noqa: S608 - a name of our own
    " (email, name, newsletter, interests, balance, created_at)"
    " VALUES (%s, 'regular customer', b'1', 'books,music', %s, '2020-02-29 12:00:00.123456')"
)

READER = "cdc"
SCHEMA = Path(__file__).with_name("shop.sql")
ADD_COLUMN = (
    f"ALTER TABLE {DATABASE}.orders"
    " ADD COLUMN channel VARCHAR(16) NOT NULL DEFAULT 'web' AFTER status"
)


def create_shop(endpoint: Endpoint, reader_password: str) -> None:
    """Create the tables, and the user of the connector.

    Raises LocalStackError if the server already has such a database or user: they belong to
    somebody else.
    """
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM mysql.user WHERE user = %s", (READER,))
        taken = [f"user {READER}"] if cursor.fetchone() != (0,) else []
        if cursor.execute("SHOW DATABASES LIKE %s", (DATABASE,)):
            taken.append(f"database {DATABASE}")
        if taken:
            raise LocalStackError(local_demo.SHOP, address=endpoint.bootstrap, names=taken)
        for statement in statements(SCHEMA.read_text("utf-8")):
            cursor.execute(statement)
        cursor.execute(f"CREATE USER {READER}@'%%' IDENTIFIED BY %s", (reader_password,))
        cursor.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {READER}@'%'")
        # LOCK TABLES: needed for a moment to copy a table without a primary key from MySQL.
        cursor.execute(f"GRANT SELECT, LOCK TABLES ON {DATABASE}.* TO {READER}@'%'")


def register_regulars(endpoint: Endpoint) -> None:
    """Insert rows that nobody changes, so that they can reach Kafka only by a copy."""
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.executemany(REGULAR_CUSTOMER, [(f"regular{n}@shop.example", n) for n in REGULARS])
        connection.commit()


def drop_shop(endpoint: Endpoint) -> None:
    """Remove what `create_shop` made."""
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"DROP USER IF EXISTS {READER}@'%'")


def count_rows(endpoint: Endpoint) -> dict[str, int]:
    """Return how many rows each table has."""
    counts = {}
    with closing(connect(endpoint, DATABASE)) as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 - our own names
            (counts[table],) = cursor.fetchone() or (0,)
    return counts


def statements(script: str) -> list[str]:
    """Return the statements of a script, in which comments have their own lines."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    parts = "\n".join([*lines, ""]).split(";\n")
    return [part.strip() for part in parts if part.strip()]
