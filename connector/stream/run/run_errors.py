"""What ends a run of the pipeline, and where the next one may start."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

NOT_PUBLISHED = ErrorCode(
    "L105",
    "{why}. Nothing from this transaction was published",
    frame=True,
    cause="The stream stops at the first event that it cannot read, before its transaction.",
    example={
        "why": "binlog.000042:1187: cannot decode XID_EVENT: 3 bytes are left over after the last "
        "field; compare with `mysqlbinlog --start-position=1187 binlog.000042`"
    },
)

CONTINUE_BY_GTID = ErrorCode(
    "T141",
    "{why}",
    'the position after this transaction is source.start = "{start}"',
    frame=True,
    cause="A new pipeline may continue after a transaction once what it changed was repaired.",
    example={
        "why": "UPDATE in database erp cannot be published",
        "start": "gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-42",
    },
)

CONTINUE_BY_POSITION = ErrorCode(
    "T142",
    "{why}",
    'the position after this transaction is source.start = "position:{file}:POS", where POS is '
    "that of the next one in SHOW BINLOG EVENTS IN '{file}' FROM {position}",
    frame=True,
    cause=(
        "A new pipeline may continue after a transaction once what it changed was repaired. "
        "Without GTIDs, the log alone tells where a transaction ends."
    ),
    example={
        "why": "UPDATE in database erp cannot be published",
        "file": "binlog.000042",
        "position": 1187,
    },
)

ASIDE = ErrorCode(
    "T143",
    "{why}",
    'or set {quarantine.policy} = "fence-table" and start again: it keeps the changes of this '
    "table back, and all other tables go on",
    frame=True,
    cause='With quarantine.policy = "stop", a change of one table ends the stream of all.',
    example={"why": "column name holds a value that is not text of its character set"},
)

QUIET = ErrorCode(
    "S921",
    "source {address}: silent for {seconds:.1f} seconds: no heartbeat comes",
    end=End.LOGGED,
    cause="The server sends a sign of life each second while it has nothing else to send.",
    example={"address": "db1:3306", "seconds": 4.2},
)

DEAD = ErrorCode(
    "S922",
    "source {address}: silent for {seconds:.1f} seconds, although it answers another session: the "
    "connection is dead",
    end=End.RETRIED,
    cause=(
        "Nothing comes on the connection of the stream, and another one to the same server "
        "works. The stream is opened again."
    ),
    example={"address": "db1:3306", "seconds": 4.2},
)

HEARTBEAT_FAILED = ErrorCode(
    "S635",
    "{source.heartbeat_statement} failed: {said}",
    "the stream goes on, but an idle source may purge what it has read; `binlog-connector check` "
    "says which right is missing",
    end=End.LOGGED,
    cause=(
        "The server refused the statement, or the connection broke. The next heartbeat tries "
        "again. The line comes once for each cause."
    ),
    example={"said": "UPDATE command denied to user 'cdc'@'app1' for table 'heartbeat'"},
)

OUTLASTED = ErrorCode(
    "K311",
    "source transaction {transaction_id} was not delivered in {seconds:.0f} seconds: {why}",
    end=End.RETRIED,
    frame=True,
    cause=(
        "A source transaction goes through one transaction of Kafka, and Kafka aborts it after "
        "kafka.transaction_timeout_seconds. It is tried once more, alone."
    ),
    example={
        "transaction_id": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
        "seconds": 61.0,
        "why": "kafka kafka-1:9092: cannot commit a transaction",
    },
)

_SERVERS = "kafka-1:9092"

OUTLASTED_TWICE = ErrorCode(
    "K312",
    "kafka {servers}: source transaction {transaction} was not delivered in {seconds:.0f} seconds, "
    "nor the time before, and Kafka aborts what takes longer than "
    "{kafka.transaction_timeout_seconds} ({timeout:g})",
    "raise it, and transaction.max.timeout.ms of the brokers if that is lower",
    cause=(
        "A source transaction goes through one transaction of Kafka. This one is too large for "
        "the time that Kafka allows, even alone."
    ),
    example={
        "servers": _SERVERS,
        "transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
        "seconds": 61.0,
        "timeout": 60.0,
    },
)
