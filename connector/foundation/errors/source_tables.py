"""S800: tables that are looked up or read at the server."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

TABLE_MISSING = ErrorCode(
    "S801",
    "{server}: table {table} does not exist, or the account may not read it",
    "GRANT SELECT ON {database}.* TO the account of {source.user}",
    cause="Servers hide tables that an account may not read, so the two look the same.",
    example={"server": "source db1:3306", "table": "erp.orders", "database": "erp"},
    scope=Scope.TABLE,
)
VIEW = ErrorCode(
    "S802",
    "{server}: {table} is a view, whose rows are not in the log",
    "name the tables that it is made of",
    cause="A view has no rows of its own. The log has the rows of its tables.",
    example={"server": "source db1:3306", "table": "erp.open_orders"},
    scope=Scope.TABLE,
)
SEQUENCE = ErrorCode(
    "S803",
    "{server}: {table} is a sequence, whose values are no rows",
    "exclude it",
    cause="A sequence of MariaDB gives numbers to rows of tables. These rows are in the log.",
    example={"server": "source db1:3306", "table": "erp.order_numbers"},
    scope=Scope.TABLE,
)
