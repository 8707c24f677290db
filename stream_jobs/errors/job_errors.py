"""The Spark job: Spark and Kafka, schemas, topics and folders of a mirror."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode, Scope

SPARK_FAILED = ErrorCode(
    "M101",
    "{kind}: {said}",
    "Spark's output on standard error has more",
    end=End.FAILED,
    cause="Spark, or a library that it calls, failed. The words are its own.",
    example={"kind": "StreamingQueryException", "said": "Some data may have been lost"},
)
SPARK_NOT_STARTED = ErrorCode(
    "M102",
    "Spark did not start: {why}",
    end=End.FAILED,
    cause="Spark did not find Java or its packages, or a Spark setting is wrong.",
    example={"why": "PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited"},
)
KAFKA_FAILED = ErrorCode(
    "M103",
    "Kafka at {servers}: {said}",
    "check [kafka] in the configuration of the job, and that the brokers answer",
    end=End.FAILED,
    cause="The Kafka client failed. The words are its own.",
    example={
        "servers": ["127.0.0.1:9092"],
        "said": "KafkaTimeoutError: Unable to bootstrap from 127.0.0.1:9092",
    },
)
NO_MIRROR = ErrorCode(
    "M105",
    "the table has no primary key; its changes stay in Kafka only",
    'set mode = "journal" or mode = "rows" for it in [[tables]]',
    end=End.LOGGED,
    cause="A change finds its row in the mirror by the primary key. Two modes need none.",
)
TABLE_DEFECT = ErrorCode(
    "M106",
    "{topic}: the job has a defect: {kind} at {places}",
    (
        "report it with these places; the mirror is as it was before the batch, and resuming the "
        "table (`binlog-connector-mirror resume`) tries again"
    ),
    end=End.FAILED,
    cause=(
        "The job met something in this table that its code does not expect. Other tables do not "
        "depend on it."
    ),
    example={"kind": "KeyError", "places": ["stream_jobs/apply/rows.py:111"]},
    scope=Scope.TABLE,
)
_FOLLOW = (
    "the mirror at {path} cannot follow this and was left as it was before the change; let the "
    "connector copy the table again (`binlog-connector snapshot`), and then resume it "
    "(`binlog-connector-mirror resume`)"
)
_MIRROR = "/data/mirror/erp/orders"
KEY_CHANGED = ErrorCode(
    "M301",
    "{table}: the primary key changed from ({before}) to ({now})",
    _FOLLOW,
    end=End.FAILED,
    cause="The job finds rows of a mirror by the primary key, so the key must not change.",
    example={"before": ["id"], "now": ["id", "line"], "path": _MIRROR},
    scope=Scope.TABLE,
)
KEY_LOST = ErrorCode(
    "M311",
    "{table}: the table has no primary key any more, and the mode of its mirror at {path} needs "
    "one",
    (
        'set mode = "journal" for it in [[tables]], and let it be made again from its topic '
        "(`binlog-connector-mirror resume CONFIG TABLE --rebuild`)"
    ),
    end=End.FAILED,
    cause="The job finds rows of such a mirror by the primary key.",
    example={"path": _MIRROR},
    scope=Scope.TABLE,
)
COLUMN_RETYPED = ErrorCode(
    "M303",
    "{table}: column {column} changed its type from {before} to {now}",
    _FOLLOW,
    end=End.FAILED,
    cause="Spark stores the new type in another form than the old one.",
    example={"before": "varchar(80)", "now": "int", "path": _MIRROR},
    scope=Scope.TABLE,
)
UNKNOWN_TYPE = ErrorCode(
    "M304",
    "{table}: column {column} has type {type}, which this version of the job does not know",
    "use the version that belongs to the connector",
    end=End.FAILED,
    cause="The connector is newer than the job.",
    example={"column": "address", "type": "inet6"},
    scope=Scope.TABLE,
)
COLUMN_NAME = ErrorCode(
    "M305",
    "{table}: a mirror cannot have a column named {column!r}: names that begin with _cdc_ are the "
    "job's own",
    (
        "exclude the table in the connector's source.exclude_tables, or rename the column before "
        "the first row is read"
    ),
    end=End.FAILED,
    cause="A mirror has columns of its own, with the sequence of each row.",
    example={"column": "_cdc_hi"},
    scope=Scope.TABLE,
)
SAME_NAME = ErrorCode(
    "M314",
    "{table}: a mirror cannot have both of the columns {column!r} and {other!r}: for readers of "
    "Delta tables, capitals make no difference, and both have the same name",
    (
        "rename one of them at the source, let the connector copy the table, and let the mirror be "
        "made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; or exclude one with "
        "source.exclude_columns"
    ),
    end=End.FAILED,
    scope=Scope.TABLE,
    cause=(
        "MySQL and MariaDB know the capitals of fewer letters than Unicode has: to them, \u00df "
        "and its capital \u1e9e are two letters."
    ),
    example={"column": "ma\u00df", "other": "ma\u1e9e"},
)
ZERO_DEFAULT = ErrorCode(
    "M306",
    "{table}: existing rows have a zero date in the added column {column}, and Spark's types "
    "cannot hold it",
    'set mirror.zero_dates = "null" to store NULL for such values',
    end=End.FAILED,
    cause="MySQL gave existing rows the default of the added column.",
    example={"column": "shipped"},
    scope=Scope.TABLE,
)
UNKNOWN_DEFAULT = ErrorCode(
    "M307",
    "{table}: the values of existing rows in the added column {columns} were computed by the "
    "server and are not in the binlog",
    (
        'set mirror.unknown_defaults = "null" to leave NULL there, then make the source log them, '
        "for example by updating each row"
    ),
    end=End.FAILED,
    cause="The default of the added column is an expression, such as UUID().",
    example={"columns": ["code"]},
    scope=Scope.TABLE,
)
SCHEMA_MISSING = ErrorCode(
    "M308",
    "{topic}: its rows use the schema {schema}, but {schema_topic} had no such record for "
    "{seconds:g} seconds",
    "check that {schema_topic} is compacted, not deleted, and that this job may read it",
    end=End.FAILED,
    cause="The connector writes the schema in the same Kafka transaction as its first row.",
    example={"schema": "9f86d081", "schema_topic": "shop.schema"},
    scope=Scope.TABLE,
)
SCHEMA_HELD_UP = ErrorCode(
    "M312",
    "{topic}: its rows use the schema {schema}, but a transaction is open in {schema_topic}, and "
    "what follows cannot be read",
    "start the job again; if the transaction stays open for longer than the connector's "
    "kafka.transaction_timeout_seconds, abort it with kafka-transactions.sh",
    end=End.FAILED,
    cause="A broker that was killed has not yet ended a transaction in all partitions.",
    example={"schema": "9f86d081", "schema_topic": "shop.schema"},
)
SCHEMA_RECORD = ErrorCode(
    "M309",
    "{topic}: a record is not a schema record: {why}",
    "use a job and a connector of the same version",
    end=End.FAILED,
    cause="The job does not know the form of the record, or another program wrote it.",
    example={"why": "KeyError"},
)
PROFILE = ErrorCode(
    "M313",
    '{table}: its records have the profile "{profile}", and a mirror needs "exact"',
    "mirror a pipeline with the default envelope.profile, under another topic prefix",
    end=End.FAILED,
    cause="Values in the form of Debezium do not tell all that the source has.",
    example={"profile": "debezium"},
)
SEQUENCE_BEYOND = ErrorCode(
    "M310",
    "sequence {seq} is beyond what a mirror can store",
    "begin again under a new topic prefix",
    end=End.FAILED,
    cause="A mirror stores 2,047 epochs, 1,048,575 log files and positions below 4 GiB.",
    example={"seq": "99990000004200000011870000000000000000"},
)
PARTITIONS_ADDED = ErrorCode(
    "M401",
    "{topic}: it has records in more than the {partitions} partitions that it had when it was "
    "first read",
    (
        "if everything from before the change had been applied, resume the table and set "
        'kafka.added_partitions = "accept" for one run; otherwise let the connector copy the table '
        "again (`binlog-connector snapshot`), and then let the mirror be made again: "
        "`binlog-connector-mirror resume CONFIG TABLE --rebuild`"
    ),
    end=End.FAILED,
    cause=(
        "Keys moved to other partitions, where a later delete can be read before an earlier "
        "insert, which would bring the row back."
    ),
    example={"partitions": 3},
    scope=Scope.TABLE,
)
ANOTHER_TABLE = ErrorCode(
    "M402",
    "{path} holds a Delta table that is not the mirror of {table}",
    "move it away, or set mirror.path to another folder",
    end=End.FAILED,
    cause="The job writes only into tables that it made itself.",
    example={"path": _MIRROR},
    scope=Scope.TABLE,
)
MIRROR_GONE = ErrorCode(
    "M403",
    "{table}: there is no mirror at {path}, but changes of the table have been applied",
    (
        "put the mirror back and resume the table (`binlog-connector-mirror resume`), or let it be "
        "made again from its topic: `resume CONFIG TABLE --rebuild`"
    ),
    end=End.FAILED,
    cause="Somebody moved or deleted the mirror while the job was down.",
    example={"path": _MIRROR},
    scope=Scope.TABLE,
)
MODE_CHANGED = ErrorCode(
    "M407",
    "{table}: the mirror at {path} was made with mode {before!r}, but the configuration says "
    "{now!r}",
    (
        "set mode = {before!r} for it in [[tables]] and resume it (`binlog-connector-mirror "
        "resume`), or let it be made again from its topic: `resume CONFIG TABLE --rebuild`"
    ),
    end=End.FAILED,
    cause="A mirror has the columns and rows of one mode, which cannot become those of another.",
    example={"path": _MIRROR, "before": "current", "now": "history"},
    scope=Scope.TABLE,
)
KEY_IN_THE_WAY = ErrorCode(
    "M408",
    '{table}: mode "rows" is for tables without a primary key, and this table has one',
    (
        'set mode = "current" for it in [[tables]], which has the same rows; if there is a mirror '
        "at {path}, let it be made again (`binlog-connector-mirror resume CONFIG TABLE --rebuild`)"
    ),
    end=End.FAILED,
    cause="Without a key, all changes of a table are in one partition, in order. That is needed.",
    example={"path": _MIRROR},
    scope=Scope.TABLE,
)
PATH_SCHEME = ErrorCode(
    "M404",
    "mirror.path {path}: the job writes to local disks, mounted file systems, S3 and HDFS alone",
    "give the path of a folder, s3://BUCKET/FOLDER or webhdfs://NAMENODE:9870/FOLDER",
    end=End.CONFIGURATION,
    cause="The path begins with the scheme of another storage.",
    example={"path": "gs://bucket/mirror"},
)
INDEX_FOLDER = ErrorCode(
    "M406",
    "mirror.index_folder {path}: other users of this machine may write into it",
    "remove it, or set mirror.index_folder to a folder that only the user of the job may write to",
    end=End.FAILED,
    cause="The indexes in it decide which rows of the mirror a change replaces.",
    example={"path": "/data/indexes"},
)
HDFS_SCHEME = ErrorCode(
    "M421",
    "mirror.path {path}: the job speaks to HDFS over HTTP",
    "give webhdfs://NAMENODE:9870/FOLDER, or swebhdfs:// for TLS",
    end=End.CONFIGURATION,
    cause="An address that begins with hdfs:// names the port of Java programs.",
    example={"path": "hdfs://namenode:8020/mirror"},
)
_FOLDER = "/data/mirror"
OWN_FILE = ErrorCode(
    "M601",
    "{path} is not a file that this job has written",
    "look at it; if another program wrote it, remove it",
    end=End.FAILED,
    cause="The folder _cdc of a mirror has the job's own files: owner, cuts, and tables set aside.",
    example={"path": f"{_FOLDER}/_cdc/quarantine/shop.erp.orders.json"},
)
OTHER_OWNER = ErrorCode(
    "M602",
    "the mirror at {path} belongs to the job {owner}, which reads the topics {prefix}.* (last "
    "started as process {pid} on {host})",
    (
        "give this job another mirror.path; if it replaces the job {owner} for good, remove the "
        "folder {path}/_cdc/owner first"
    ),
    cause="Two jobs with different names or topics must not write to the same tables.",
    example={"owner": "shop"},
)
TAKEN_OVER = ErrorCode(
    "M603",
    "process {pid} on {host} took over the mirror at {path}; this one ends",
    "run one job for each mirror; what this one has committed stays",
    cause="Another job with the same name was started, and the newest one goes on.",
)
NOT_SET_ASIDE = ErrorCode(
    "M604",
    "{table} is not set aside",
    "`binlog-connector-mirror status {config}` shows the tables that are",
    end=End.CONFIGURATION,
    cause="Only a table that cannot go on can be resumed.",
    example={"config": "stream_job.toml"},
)
END_NOT_KEPT = ErrorCode(
    "M605",
    "the mirror does not know how this run has ended: {why}",
    end=End.LOGGED,
    cause=(
        "The job keeps the reason of its end in the mirror, in the file `_cdc/run/newest.json`, "
        "for `binlog-connector-mirror status`. That could not be written; the log has the reason."
    ),
    example={"why": "/data/mirror/_cdc/run/newest.json: No space left on device"},
)
