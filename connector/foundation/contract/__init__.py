"""Names and types that the connector writes to Kafka and the Spark job reads.

Standard library only: this is the one package of `connector` that `stream_jobs` imports.

A row record::

    topic    <prefix>.<database>.<table>
    key      {"id": 7}                        the primary key columns, in key order
    headers  cdc.seq     38 digits            the total order of changes (see `Sequence`)
             cdc.op      c | u | d | t | r    insert, update, delete, truncate, read by a copy
             cdc.schema  3f9c…                id of the table's column list
             cdc.txn     uuid:gno | file:pos  the source transaction
    value    {"before": {…}|null, "after": {…}|null, "source": {…}, "op": "u", "ts_ms": …}

A tombstone (value null) follows each `d`; it carries the headers of its `d`. A `t` record has a
null key and says that every row of the table with a lower sequence is gone (TRUNCATE, DROP).

A schema record, in the compacted topic `<prefix>.schema`, is written in the same Kafka transaction
as, and before, the first row that uses it::

    key      shop.orders/3f9c…
    value    {"schema_id": "3f9c…", "database": "shop", "table": "orders", "seq": "000…",
              "columns": [{"name", "type", …}, …]}

`unlogged` has columns that records leave out, because the log does not always have them, or the
server hides them. A progress record, in the compacted topic `<prefix>.progress`, closes every Kafka
transaction.

A change that could not be published, and the changes that were kept back so that none overtakes it,
are in `<prefix>.quarantine` (`QuarantineRecord`). The fences are in the compacted topic
`<prefix>.fences` (`FenceRecord`; a null value says that the fence was lifted)::

    key      pipeline/shop.orders             of every quarantine record, and of a table's fence
    key      pipeline/shop.orders/{"id":7}    of the fence of one key
"""

from connector.foundation.contract.control_records import (
    COLUMN_TYPES,
    DEBEZIUM,
    EXACT,
    INTEGER_TYPES,
    FenceRecord,
    PreparedXaRecord,
    ProgressRecord,
    QuarantinedRow,
    QuarantineRecord,
    SchemaColumn,
    SchemaRecord,
    SnapshotRange,
    SnapshotRecord,
    UnloggedColumn,
)
from connector.foundation.contract.names import (
    COMMANDS_TOPIC_SUFFIX,
    FENCES_TOPIC_SUFFIX,
    HEADER_OP,
    HEADER_PIPELINE,
    HEADER_SCHEMA,
    HEADER_SEQ,
    HEADER_TXN,
    HEARTBEAT_TOPIC_SUFFIX,
    OP_CREATE,
    OP_DELETE,
    OP_READ,
    OP_TRUNCATE,
    OP_UPDATE,
    PROGRESS_TOPIC_SUFFIX,
    QUARANTINE_TOPIC_SUFFIX,
    SCHEMA_TOPIC_SUFFIX,
    SEQ_DIGITS,
    SEQ_EPOCH_DIGITS,
    SEQ_EVENT_DIGITS,
    SEQ_FILE_DIGITS,
    SEQ_POSITION_DIGITS,
    SEQ_ROW_DIGITS,
    SNAPSHOT_TOPIC_SUFFIX,
    TRANSACTION_TOPIC_SUFFIX,
    Sequence,
    control_topic,
    is_topic_name,
    own_topics,
    row_topic,
    topic_part,
)

__all__ = [
    "COLUMN_TYPES",
    "COMMANDS_TOPIC_SUFFIX",
    "DEBEZIUM",
    "EXACT",
    "FENCES_TOPIC_SUFFIX",
    "HEADER_OP",
    "HEADER_PIPELINE",
    "HEADER_SCHEMA",
    "HEADER_SEQ",
    "HEADER_TXN",
    "HEARTBEAT_TOPIC_SUFFIX",
    "INTEGER_TYPES",
    "OP_CREATE",
    "OP_DELETE",
    "OP_READ",
    "OP_TRUNCATE",
    "OP_UPDATE",
    "PROGRESS_TOPIC_SUFFIX",
    "QUARANTINE_TOPIC_SUFFIX",
    "SCHEMA_TOPIC_SUFFIX",
    "SEQ_DIGITS",
    "SEQ_EPOCH_DIGITS",
    "SEQ_EVENT_DIGITS",
    "SEQ_FILE_DIGITS",
    "SEQ_POSITION_DIGITS",
    "SEQ_ROW_DIGITS",
    "SNAPSHOT_TOPIC_SUFFIX",
    "TRANSACTION_TOPIC_SUFFIX",
    "FenceRecord",
    "PreparedXaRecord",
    "ProgressRecord",
    "QuarantineRecord",
    "QuarantinedRow",
    "SchemaColumn",
    "SchemaRecord",
    "Sequence",
    "SnapshotRange",
    "SnapshotRecord",
    "UnloggedColumn",
    "control_topic",
    "is_topic_name",
    "own_topics",
    "row_topic",
    "topic_part",
]
