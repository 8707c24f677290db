"""Notes on properties without a key: why they are not needed, or what differs without them.

Each is a name, or a pattern with `*` for a family of names. The first pattern that fits counts.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
https://kafka.apache.org/documentation/#sourceconnectconfigs
"""

from typing import Final

_LOG_HAS_COLUMNS = "the log describes the columns (binlog_row_metadata=FULL)"
_COPIES = "tables are copied in chunks beside the stream, without locks"
_ONE_READER = "one process reads one log"
_BUFFERS = "[delivery] bounds batches by bytes and time"
_SIGNALS = "`binlog-connector snapshot` asks the running pipeline for a copy"
_DRIVER = "there is no JDBC driver"
_CONNECT = "it is about Kafka Connect"
_RECONNECTS = "the connection is watched, and opened again ([retry])"

NOT_NEEDED: Final[dict[str, str]] = {
    "name": "it is the name above",
    "connector.class": "one program reads MySQL and MariaDB",
    "tasks.max": _ONE_READER,
    "exactly.once.support": "delivery is exactly once",
    "transaction.boundary": "a Kafka transaction holds whole source transactions",
    "transaction.boundary.interval.ms": "delivery.commit_interval_ms is the longest wait",
    "offsets.storage.topic": "the position is in <prefix>.progress",
    "config.action.reload": _CONNECT,
    "errors.retry.*": _RECONNECTS,
    "errors.log.*": "errors are in the log, with a code",
    "errors.max.retries": _RECONNECTS,
    "retriable.restart.connector.wait.ms": _RECONNECTS,
    "connect.keep.alive*": _RECONNECTS,
    "use.nongraceful.disconnect": _RECONNECTS,
    "database.query.timeout.ms": "snapshot.statement_seconds_max limits a SELECT",
    "executor.shutdown.timeout.ms": _CONNECT,
    "producer.override.*": _BUFFERS,
    "consumer.override.*": "nothing is consumed",
    "max.batch.size": _BUFFERS,
    "max.queue.*": _BUFFERS,
    "poll.interval.ms": "changes are read as soon as they arrive",
    "binlog.buffer.size": "rows that may be rolled back wait for the end of their transaction",
    "streaming.delay.ms": _CONNECT,
    "schema.history.internal*": _LOG_HAS_COLUMNS,
    "database.history*": _LOG_HAS_COLUMNS,
    "inconsistent.schema.handling.mode": _LOG_HAS_COLUMNS,
    "include.schema.changes": "<prefix> always has the statements, in a form of its own",
    "snapshot.locking.mode": _COPIES,
    "snapshot.lock*": _COPIES,
    "snapshot.isolation.mode": _COPIES,
    "snapshot.fetch.size": _COPIES,
    "snapshot.delay.ms": _COPIES,
    "snapshot.new.tables": "tables that are added to source.tables are copied, after a snapshot",
    "snapshot.tables.order.*": _COPIES,
    "snapshot.max.threads.*": _COPIES,
    "min.row.count.to.stream.results": _COPIES,
    "incremental.snapshot.*": _SIGNALS,
    "signal.kafka.bootstrap.servers": "signals are in the cluster of kafka.bootstrap_servers",
    "signal.kafka.groupId": "the progress record has the offset of the next signal",
    "signal.kafka.poll.timeout.ms": "signals are read as soon as they arrive",
    "signal.poll.interval.ms": "signals are read as soon as they arrive",
    "signal.consumer.*": "signals are read with the login of [kafka]",
    "read.only": "nothing is written to the source",
    "database.jdbc.driver": _DRIVER,
    "database.protocol": _DRIVER,
    "database.initial.statements": "it is for the session of the JDBC driver",
    "database.connectionTimeZone": "the log has times in UTC",
    "driver.*": _DRIVER,
    "enable.time.adjuster": "the server stores years with four digits",
    "table.ignore.builtin": "system databases are followed only if a pattern names them",
    "gtid.ignore.on.recovery": "a pipeline always goes on from its progress record",
    "replace.null.with.default": "NULL stays NULL",
    "custom.metric.tags": "metrics.listen has figures for Prometheus",
}

_LATER = "there is none yet"
_SAME_TABLES = "all changes of the followed tables arrive"

NO_COUNTERPART: Final[dict[str, str]] = {
    "heartbeat.topics.prefix": "heartbeats are in <prefix>.heartbeat",
    "topic.heartbeat.prefix": "heartbeats are in <prefix>.heartbeat",
    "topic.transaction": "transactions are in <prefix>.transaction",
    "topic.cache.size": "names of topics are not kept in a cache",
    "topic.creation.*": "kafka.partitions and kafka.replication_factor are for all new topics",
    "gtid.source.*": "transactions of all servers are read",
    "include.query": "records have no query",
    "skip.messages.without.change": "updates that change no chosen column have a record, too",
    "event.processing.failure.handling.mode": "a change that cannot be read ends the run, or goes "
    "to quarantine (quarantine.policy)",
    "event.deserialization.failure.handling.mode": "a change that cannot be read ends the run, or "
    "goes to quarantine (quarantine.policy)",
    "errors.tolerance": "a change that cannot be published ends the run, or goes to quarantine "
    "(quarantine.policy)",
    "errors.deadletterqueue.*": "quarantine.policy keeps back what cannot be published",
    "header.converter": "headers are text in UTF-8",
    "extended.headers.enabled": "records have the headers cdc.*",
    "converters": "values have the forms that [envelope] names",
    "post.processors*": "records are written as they are",
    "include.schema.comments": "the log has no comments of columns",
    "snapshot.include.collection.list": "all followed tables are copied",
    "snapshot.select.statement.overrides*": "whole tables are copied; `binlog-connector snapshot "
    "--where` copies some rows",
    "snapshot.mode.*": "all followed tables are copied, or none",
    "snapshot.query.mode*": "rows are read by the key",
    "unavailable.value.placeholder": "the log has to hold all values (binlog_row_image=FULL)",
    "provide.transaction.metadata.*": "transactions are in <prefix>.transaction",
    "source.struct.version": "`source` is that of Debezium 3",
    "sourceinfo.struct.maker": "`source` is that of Debezium 3",
    "openlineage.*": "no lineage is reported",
    "guardrail.*": "the number of tables has no limit",
    "connection.validation.timeout.ms": "`binlog-connector check` says whether the source answers",
    "predicates*": _SAME_TABLES,
    "database.ssl.truststore*": "source.tls.ca takes a PEM file, as keytool -exportcert -rfc "
    "writes it",
    "database.ssl.keystore*": "source.tls.certificate and source.tls.key take PEM files: "
    "openssl pkcs12 writes them",
    "*.converter.schema.registry.ssl.*": "registry.ca, registry.certificate and registry.key take "
    "PEM files",
    "key.converter.*": "it has no effect here",
    "value.converter.*": "it has no effect here",
}

# The converters whose records can be the same: what schemas.enable = false and true become.
JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
# Converters of text and bytes, which are the value as it is.
PLAIN_CONVERTERS: Final = ("StringConverter", "BinaryDataConverter")
# Those without a counterpart, by the last part of the name: what they would need.
CONVERTERS: Final[dict[str, str]] = {
    "ProtobufConverter": f"Protobuf and a schema registry: {_LATER}",
    "StringConverter": "text that is not JSON",
    "ByteArrayConverter": "bytes that are not JSON",
}
# Transformations beside ExtractNewRecordState, by the last part of their names.
TRANSFORMATIONS: Final[dict[str, str]] = {
    "ByLogicalTableRouter": "each table has a topic of its own",
    "RegexRouter": "each table has the topic <prefix>.<database>.<table>",
    "TopicRouter": "each table has the topic <prefix>.<database>.<table>",
    "TimestampRouter": "each table has the topic <prefix>.<database>.<table>",
    "Filter": _SAME_TABLES,
    "ContentBasedRouter": "each table has the topic <prefix>.<database>.<table>",
    "EventRouter": "the tables of its predicate cannot be told",
    "PartitionRouting": "the key of a record decides on its partition",
}
