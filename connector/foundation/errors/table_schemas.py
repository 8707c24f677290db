"""T300: tables that the log does not describe, or that cannot have a topic."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

_FULL = "SET GLOBAL binlog_row_metadata=FULL (MySQL 8.0.1, MariaDB 10.5 or newer)"
_CONTINUE = "give the pipeline a new name and set {source.start}"

TOPIC_SHARED = ErrorCode(
    "T301",
    "tables {one} and {other} would share topic {topic}",
    "exclude one of them in {source.exclude_tables}, or publish it from a pipeline with another "
    "{kafka.topic_prefix}",
    cause=(
        "Kafka allows few characters in the name of a topic, so each other one becomes `_`. The "
        "names of these two tables become the same."
    ),
    example={"one": "erp.a b", "other": "erp.a_b", "topic": "shop.erp.a_b"},
    scope=Scope.TABLE,
)
TOPIC_ALIKE = ErrorCode(
    "T306",
    "Kafka takes topic {topic} of table {other} for topic {like} of table {one}",
    "exclude one of them in {source.exclude_tables}, or publish it from a pipeline with another "
    "{kafka.topic_prefix}",
    cause=(
        "In the names of its figures, Kafka replaces each `.` of a topic by `_`, so it refuses a "
        "topic that differs from another one in these characters alone."
    ),
    example={
        "one": "shop.eu_orders",
        "other": "shop_eu.orders",
        "topic": "cdc.shop_eu.orders",
        "like": "cdc.shop.eu_orders",
    },
    scope=Scope.TABLE,
)
NO_COLUMN_NAMES = ErrorCode(
    "T302",
    "{log_position}: the log has no column names for table {table}",
    f"{_FULL}, and continue after the rows that were logged without them: {_CONTINUE}",
    fence_fix=_FULL,
    passable=True,
    cause="With binlog_row_metadata=MINIMAL, the log holds the types of columns, but no names.",
    example={"log_position": "binlog.000042:1187", "table": "erp.orders"},
    scope=Scope.TABLE,
)
MISFIT = ErrorCode(
    "T303",
    "{log_position}: the log does not name the columns of table {table}, and those that the "
    "server shows have other types",
    f"{_FULL}, and continue after the rows that were logged without names: {_CONTINUE}; or exclude "
    "the table",
    fence_fix=_FULL,
    passable=True,
    cause=(
        "Without binlog_row_metadata=FULL the names come from the server, which knows the table as "
        "it is now. When these rows were logged, the table was another one."
    ),
    example={"log_position": "binlog.000042:1187", "table": "erp.orders"},
    scope=Scope.TABLE,
)
TOPIC_TAKEN = ErrorCode(
    "T305",
    "table {table} would have topic {topic}, which a table has alone, and others by a route",
    "send both by {envelope.routes}, or choose another topic there",
    cause=(
        "A route sends tables to a topic that another table has without a route. Keys of the two "
        "could be the same."
    ),
    example={"table": "erp.orders", "topic": "shop.erp.orders"},
    scope=Scope.TABLE,
)
FIELD_SHARED = ErrorCode(
    "T304",
    "columns {one} and {other} would both be field {field}",
    "choose another {envelope.field_names}, or rename one of them",
    cause="Avro allows few characters in the name of a field, so each other one is replaced.",
    example={"one": "a b", "other": "a-b", "field": "a_b"},
    scope=Scope.TABLE,
)
