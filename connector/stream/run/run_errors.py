"""What ends a run of the pipeline, and where the next one may start."""

from connector.foundation.errors.code import ErrorCode, frame, notice, transient_error

NOT_PUBLISHED = frame("{why}. Nothing from this transaction was published", was="L105")
CONTINUE_BY_GTID = frame(
    "{why}", 'the position after this transaction is source.start = "{start}"', was="T141"
)
CONTINUE_BY_POSITION = frame(
    "{why}",
    'the position after this transaction is source.start = "position:{file}:POS", where POS is '
    "that of the next one in SHOW BINLOG EVENTS IN '{file}' FROM {position}",
    was="T142",
)
ASIDE = frame(
    "{why}",
    'or set {quarantine.policy} = "fence-table" and start again: it keeps the changes of this '
    "table back, and all other tables go on",
    was="T143",
)
QUIET = notice(
    "S921",
    "source {address}: silent for {seconds:.1f} seconds: no heartbeat comes",
    cause="A server that has nothing else to send sends a heartbeat at least every 1.3 seconds.",
)
DEAD = transient_error(
    "S922",
    "source {address}: silent for {seconds:.1f} seconds, although it answers another session: the "
    "connection is dead",
    cause="Nothing comes on the connection of the stream, and another one to the same server "
    "works. The stream is opened again.",
)
HEARTBEAT_FAILED = notice(
    "S635",
    "{source.heartbeat_statement} failed: {said}",
    "the stream goes on, but an idle source may purge what it has read; `binlog-connector check` "
    "says which right is missing",
    cause="The server refused the statement, or the connection broke. The next heartbeat tries "
    "again. The line comes once for each cause.",
    example={"said": "UPDATE command denied to user 'cdc'@'app1' for table 'heartbeat'"},
)
OUTLASTED = frame(
    "source transaction {transaction_id} was not delivered in {seconds:.0f} seconds: {why}",
    was="K311",
)
OUTLASTED_TWICE = ErrorCode(
    "K312",
    "kafka {servers}: source transaction {transaction} was not delivered in {seconds:.0f} seconds, "
    "nor the time before, and Kafka aborts what takes longer than "
    "{kafka.transaction_timeout_seconds} ({timeout:g})",
    "raise it, and transaction.max.timeout.ms of the brokers if that is lower",
    cause="A source transaction goes through one transaction of Kafka. This one is too large for "
    "the time that Kafka allows, even alone.",
    example={"timeout": 60.0},
)
