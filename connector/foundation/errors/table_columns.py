"""T400: columns that are left out of records, or masked in them."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

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
    scope=Scope.TABLE,
)
IN_KEY = ErrorCode(
    "T402",
    "column {column} belongs to the key, so it cannot be left out or masked",
    "take it out of the patterns of {source.masks}, {source.columns} and {source.exclude_columns}, "
    "or exclude the table",
    cause=_KEYS,
    example={"column": "erp.users.id"},
    scope=Scope.TABLE,
)
NOT_MASKABLE = ErrorCode(
    "T403",
    "column {column} has type {type}, and this change is for {types} alone",
    "leave it out by {source.exclude_columns}, or take it out of the patterns of {source.masks}",
    cause="Debezium writes the values of such columns as they are. Here that is an error.",
    example={"column": "erp.users.age", "type": "INT", "types": ("CHAR", "TEXT", "VARCHAR")},
    scope=Scope.TABLE,
)
NONE_LEFT = ErrorCode(
    "T404",
    "table {table} would have no column",
    "exclude the table in {source.exclude_tables}",
    cause="The patterns in {source.exclude_columns} leave out all columns.",
    example={"table": "erp.users"},
    scope=Scope.TABLE,
)
NOT_IN_TABLE = ErrorCode(
    "T406",
    "there is no column {column} in records, which {envelope.message_keys} names",
    "name columns that records have, and start again",
    cause="The keys of records have these columns, so records have them, too.",
    example={"column": "erp.orders.costumer_id"},
    scope=Scope.TABLE,
)

NO_AVRO_NAME = ErrorCode(
    "T407",
    "Avro does not allow the name {name}",
    'set {envelope.field_names} = "avro" and {envelope.schema_names} = "avro", which change such '
    "names",
    cause=(
        "A name in Avro has letters of ASCII, digits and _, and does not begin with a digit. "
        "Debezium's converter stops, too."
    ),
    example={"name": "größe"},
    scope=Scope.TABLE,
)
NO_NULL = ErrorCode(
    "T408",
    "column {column} is NOT NULL, and its value became NULL",
    "choose another form in {envelope.times}, or fence the row",
    cause=(
        'With {envelope.conversion_failures} = "null", a value that the form cannot express '
        "becomes NULL, and a schema in Avro does not allow NULL in this column."
    ),
    example={"column": "at"},
    scope=Scope.TABLE,
)
NO_LONG = ErrorCode(
    "T409",
    "column {column} has a number above 64 bits, which Avro cannot hold",
    "choose another form in {envelope.times}",
    cause="Nanoseconds since 1970 have 64 bits until the year 2262.",
    example={"column": "at"},
    scope=Scope.TABLE,
)
SCHEMA_REFUSED = ErrorCode(
    "T410",
    "the schema registry {url} refuses the schema of {subject}: {why}",
    "change the compatibility of the subject, or delete the subject, and start again",
    cause=(
        "The columns of the table have changed in a way that the compatibility of the subject "
        "forbids, or the name of the subject has a schema of something else."
    ),
    example={
        "url": "http://registry:8081",
        "subject": "shop.erp.orders-value",
        "why": "Schema being registered is incompatible with an earlier schema (40901)",
    },
    scope=Scope.TABLE,
)
SCHEMA_UNKNOWN = ErrorCode(
    "T411",
    "the schema registry {url} does not have the schema of {subject}, and "
    "{registry.auto_register} is false",
    "register the schema, or set {registry.auto_register} = true",
    cause="With {registry.auto_register} = false, schemas are registered by somebody else.",
    example={"url": "http://registry:8081", "subject": "shop.erp.orders-value"},
    scope=Scope.TABLE,
)

# What `ColumnRules.of` raises.
CODES = (MASKED_GONE, IN_KEY, NOT_MASKABLE, NONE_LEFT)
