"""T400: columns that are left out of records, or masked in them."""

from __future__ import annotations

from connector.errors.code import ErrorCode

_KEYS = "Consumers find the rows of a record by its key, and copies compare keys with changes."

MASKED_GONE = ErrorCode(
    "T401",
    "there is no column {column}, which {source.masks} names",
    "name the column that has its values now, and start again",
    cause=(
        "The table has other columns than {source.masks} says. If the column was renamed, its "
        "values would be published as they are."
    ),
    example={"column": "erp.users.email"},
)
IN_KEY = ErrorCode(
    "T402",
    "column {column} belongs to the key, so it cannot be left out or masked",
    "take it out of the patterns of {source.masks}, {source.columns} and {source.exclude_columns}, "
    "or exclude the table",
    cause=_KEYS,
    example={"column": "erp.users.id"},
)
NOT_MASKABLE = ErrorCode(
    "T403",
    "column {column} has type {type}, and this change is for {types} alone",
    "leave it out by {source.exclude_columns}, or take it out of the patterns of {source.masks}",
    cause="Debezium writes the values of such columns as they are. Here that is an error.",
    example={"column": "erp.users.age", "type": "INT", "types": ("CHAR", "TEXT", "VARCHAR")},
)
NONE_LEFT = ErrorCode(
    "T404",
    "table {table} would have no column",
    "exclude the table in {source.exclude_tables}",
    cause="The patterns in {source.exclude_columns} leave out all columns.",
    example={"table": "erp.users"},
)
HIDDEN_ROW = ErrorCode(
    "T405",
    "a change of table {table} cannot go to quarantine, because it has columns that are left out "
    "or masked",
    "lift the fence of the table, and let it be copied again",
    cause="A record in quarantine has the whole row, as the log has it.",
    example={"table": "erp.users"},
)
NOT_IN_TABLE = ErrorCode(
    "T406",
    "there is no column {column} in records, which {envelope.message_keys} names",
    "name columns that records have, and start again",
    cause="The keys of records have these columns, so records have them, too.",
    example={"column": "erp.orders.costumer_id"},
)

# What `ColumnChoice.of` raises.
CODES = (MASKED_GONE, IN_KEY, NOT_MASKABLE, NONE_LEFT)
