"""C600: settings that are found wrong when a pipeline opens."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_END = End.CONFIGURATION

KAFKA_FILE = ErrorCode(
    "C601",
    "kafka.{key} {path}: {why}",
    "name a PEM file that this user may read",
    end=_END,
    cause="The file of a certificate or key is missing, cannot be read, or is of another format.",
    example={"key": "ssl_ca", "path": "/etc/ca.pem", "why": "No such file or directory"},
)
KAFKA_FILE_NOT_PEM = ErrorCode(
    "C602",
    "kafka.{key} {path}: not a PEM file",
    "name a PEM file that this user may read",
    end=_END,
    cause="The file of a certificate or key is of another format.",
    example={"key": "ssl_ca", "path": "/etc/ca.pem"},
)
METRICS_LISTEN = ErrorCode(
    "C603",
    "metrics.listen {listen}: {why}",
    "choose another address",
    end=_END,
    cause="Another program listens at the address, or this machine has no such address.",
    example={"listen": "127.0.0.1:9900", "why": "[Errno 98] Address already in use"},
)
TABLE_PATTERN = ErrorCode(
    "C604",
    "{pattern!r} is not a pattern of tables",
    "it looks like shop.orders or shop.*",
    end=_END,
    cause="A pattern has a database and a table with a dot between them.",
    example={"pattern": "orders"},
)
PAUSE_QUERY = ErrorCode(
    "C605",
    "{server}: {snapshot.pause_query}: its first column is not a number",
    "write a query that returns 0 while reading may go on",
    end=_END,
    cause="Copies pause while the first column of the query is above 0.",
    example={"server": "source db1:3306"},
)
PROFILE_CHANGED = ErrorCode(
    "C606",
    'envelope.profile is "{now}", but the topics of the prefix {prefix} hold records of the '
    'profile "{before}"',
    "choose another kafka.topic_prefix, or the profile of the topics",
    end=_END,
    cause="Consumers of one topic cannot tell the values of two profiles apart.",
    example={"now": "debezium", "before": "exact", "prefix": "shop"},
)
SIGNALS_NOT_FOLLOWED = ErrorCode(
    "C607",
    "signals.table names {table}, which is not followed",
    "name it in {source.tables}",
    end=_END,
    cause="The stream brings the rows of followed tables alone, and signals are such rows.",
    example={"table": "shop.signals"},
)
