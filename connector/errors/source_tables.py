"""S800: tables that are looked up or read at the server."""

from __future__ import annotations

from connector.errors.code import ErrorCode

TABLE_MISSING = ErrorCode(
    "S801",
    "{place}: table {table} does not exist, or the account may not read it",
    "GRANT SELECT ON {database}.* TO the account of {source.user}",
    cause="Servers hide tables that an account may not read, so the two look the same.",
    example={"place": "source db1:3306", "table": "erp.orders", "database": "erp"},
)
VIEW = ErrorCode(
    "S802",
    "{place}: {table} is a view, whose rows are not in the log",
    "name the tables that it is made of",
    cause="A view has no rows of its own. The log has the rows of its tables.",
    example={"place": "source db1:3306", "table": "erp.open_orders"},
)
NOT_READABLE = ErrorCode(
    "S803",
    "{place}: table {table}: the account may not read it",
    "GRANT SELECT ON {quoted} TO the account of {source.user}",
    cause="A copy reads the table by SELECT.",
    example={"place": "source db1:3306", "table": "erp.orders", "quoted": "`erp`.`orders`"},
)
CONDITION_REFUSED = ErrorCode(
    "S804",
    "{table}: --where is not taken by the server: error {number}: {said}",
    "correct it",
    cause="The server was asked to run the condition, and refused it.",
    example={"table": "erp.orders", "number": 1054, "said": "Unknown column 'idd'"},
)
