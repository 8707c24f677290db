"""The Spark job: Spark and Kafka, schemas, topics and folders of a mirror."""

from connector.foundation.errors import code

SPARK_FAILED = code.failure(
    "M101",
    "{kind}: {said}",
    "Spark's output on standard error has more",
    cause="Spark, or a library that it calls, failed. The words are its own.",
    example={"kind": "StreamingQueryException", "said": "Some data may have been lost"},
)
SPARK_NOT_STARTED = code.failure(
    "M102",
    "Spark did not start: {why}",
    cause="Spark did not find Java or its packages, or a Spark setting is wrong.",
    example={"why": "PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited"},
)
KAFKA_FAILED = code.failure(
    "M103",
    "Kafka at {servers}: {said}",
    "check [kafka] in the configuration of the job, and that the brokers answer",
    cause="The Kafka client failed. The words are its own.",
    example={
        "servers": ["127.0.0.1:9092"],
        "said": "cannot connect: Connection refused",
    },
)
WORKER_LATE = code.failure(
    "M114",
    "a Python process of Spark did not start within ten seconds",
    "give the machine more CPU, or start the job when it is less busy",
    cause="Spark waits ten seconds for a Python process, which no setting changes. The job begins "
    "again five times before it ends.",
)
NO_MIRROR = code.notice(
    "M105",
    "the table has no primary key; its changes stay in Kafka only",
    'set mode = "journal" or mode = "rows" for it in [[tables]]',
    cause="A change finds its row in the mirror by the primary key. Two modes need none.",
)
TABLE_DEFECT = code.table_failure(
    "M106",
    "{topic}: the job has a defect: {kind} at {places}",
    "report it with these places; the mirror is as it was before the batch, and resuming the "
    "table (`binlog-connector-mirror resume`) tries again",
    cause="The job met something in this table that its code does not expect. Other tables do not "
    "depend on it.",
    example={"kind": "KeyError", "places": ["stream_jobs/apply/rows.py:111"]},
)
_FOLLOW = (
    "the mirror at {path} cannot follow this and was left as it was before the change; let the "
    "connector copy the table again (`binlog-connector snapshot`), and then resume it "
    "(`binlog-connector-mirror resume`)"
)
_MIRROR = "/data/mirror/erp/orders"
KEY_CHANGED = code.table_failure(
    "M301",
    "{table}: the primary key changed from ({before}) to ({now})",
    _FOLLOW,
    cause="The job finds rows of a mirror by the primary key, so the key must not change.",
    example={"before": ["id"], "now": ["id", "line"], "path": _MIRROR},
)
KEY_LOST = code.table_failure(
    "M311",
    "{table}: the table has no primary key any more, and the mode of its mirror at {path} needs "
    "one",
    'set mode = "journal" for it in [[tables]], and let it be made again from its topic '
    "(`binlog-connector-mirror resume CONFIG TABLE --rebuild`)",
    cause="The job finds rows of such a mirror by the primary key.",
    example={"path": _MIRROR},
)
COLUMN_RETYPED = code.table_failure(
    "M303",
    "{table}: column {column} changed its type from {before} to {now}",
    _FOLLOW,
    cause="Spark stores the new type in another form than the old one.",
    example={"before": "varchar(80)", "now": "int", "path": _MIRROR},
)
UNKNOWN_TYPE = code.table_failure(
    "M304",
    "{table}: column {column} has type {type}, which this version of the job does not know",
    "use the version that belongs to the connector",
    cause="The connector is newer than the job.",
    example={"column": "address", "type": "inet6"},
)
COLUMN_NAME = code.table_failure(
    "M305",
    "{table}: a mirror cannot have a column named {column!r}: names that begin with _cdc_ are the "
    "job's own",
    "exclude the table in the connector's source.exclude_tables, or rename the column before the "
    "first row is read",
    cause="A mirror has columns of its own, with the sequence of each row.",
    example={"column": "_cdc_hi"},
)
SAME_NAME = code.table_failure(
    "M314",
    "{table}: a mirror cannot have both of the columns {column!r} and {other!r}: for readers of "
    "Delta tables, capitals make no difference, and both have the same name",
    "rename one of them at the source, let the connector copy the table, and let the mirror be "
    "made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; or exclude one with "
    "source.exclude_columns",
    cause="MySQL and MariaDB know the capitals of fewer letters than Unicode has: to them, ß and "
    "its capital ẞ are two letters.",
    example={"column": "ma\u00df", "other": "ma\u1e9e"},
)
ZERO_DEFAULT = code.table_failure(
    "M306",
    "{table}: existing rows have a zero date in the added column {column}, and Spark's types "
    "cannot hold it",
    'set mirror.zero_dates = "null" to store NULL for such values',
    cause="MySQL gave existing rows the default of the added column.",
    example={"column": "shipped"},
)
UNKNOWN_DEFAULT = code.table_failure(
    "M307",
    "{table}: the values of existing rows in the added column {columns} were computed by the "
    "server and are not in the binlog",
    'set mirror.unknown_defaults = "null" to leave NULL there, then make the source log them, for '
    "example by updating each row",
    cause="The default of the added column is an expression, such as UUID().",
    example={"columns": ["code"]},
)
SCHEMA_MISSING = code.table_failure(
    "M308",
    "{topic}: its rows use the schema {schema}, but {schema_topic} had no such record for "
    "{seconds:g} seconds",
    "check that {schema_topic} is compacted, not deleted, and that this job may read it",
    cause="The connector writes the schema in the same Kafka transaction as its first row.",
    example={"schema": "9f86d081", "schema_topic": "shop.schema"},
)
SCHEMA_HELD_UP = code.failure(
    "M312",
    "{topic}: its rows use the schema {schema}, but a transaction is open in {schema_topic}, and "
    "what follows cannot be read",
    "start the job again; if the transaction stays open for longer than the connector's "
    "kafka.transaction_timeout_seconds, abort it with kafka-transactions.sh",
    cause="A broker that was killed has not yet ended a transaction in all partitions.",
    example={"schema": "9f86d081", "schema_topic": "shop.schema"},
)
SCHEMA_RECORD = code.failure(
    "M309",
    "{topic}: a record is not a schema record: {why}",
    "use a job and a connector of the same version",
    cause="The job does not know the form of the record, or another program wrote it.",
    example={"why": "KeyError"},
)
PROFILE = code.failure(
    "M313",
    '{table}: its records have the profile "{profile}", and a mirror needs "exact"',
    "mirror a pipeline with the default envelope.profile, under another topic prefix",
    cause="Values in the form of Debezium do not tell all that the source has.",
    example={"profile": "debezium"},
)
SEQUENCE_BEYOND = code.failure(
    "M310",
    "sequence {seq} is beyond what a mirror can store",
    "begin again under a new topic prefix",
    cause="A mirror stores 2,047 epochs, 1,048,575 log files and positions below 4 GiB.",
    example={"seq": "99990000004200000011870000000000000000"},
)
PARTITIONS_ADDED = code.table_failure(
    "M401",
    "{topic}: it has records in more than the {partitions} partitions that it had when it was "
    "first read",
    "if everything from before the change had been applied, resume the table and set "
    'kafka.added_partitions = "accept" for one run; otherwise let the connector copy the table '
    "again (`binlog-connector snapshot`), and then let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`",
    cause="Keys moved to other partitions, where a later delete can be read before an earlier "
    "insert, which would bring the row back.",
    example={"partitions": 3},
)
ANOTHER_TABLE = code.table_failure(
    "M402",
    "{path} holds a Delta table that is not the mirror of {table}",
    "move it away, or set mirror.path to another folder",
    cause="The job writes only into tables that it made itself.",
    example={"path": _MIRROR},
)
MIRROR_GONE = code.table_failure(
    "M403",
    "{table}: there is no mirror at {path}, but changes of the table have been applied",
    "put the mirror back and resume the table (`binlog-connector-mirror resume`); if it is lost, "
    "let the connector copy the table (`binlog-connector snapshot`), and then let the mirror be "
    "made again: `resume CONFIG TABLE --rebuild`",
    cause="Somebody has moved or deleted the mirror.",
    example={"path": _MIRROR},
)
MODE_CHANGED = code.table_failure(
    "M407",
    "{table}: the mirror at {path} was made with mode {before!r}, but the configuration says "
    "{now!r}",
    "set mode = {before!r} for it in [[tables]] and resume it (`binlog-connector-mirror resume`), "
    "or let it be made again from its topic: `resume CONFIG TABLE --rebuild`",
    cause="A mirror has the columns and rows of one mode, which cannot become those of another.",
    example={"path": _MIRROR, "before": "current", "now": "history"},
)
KEY_IN_THE_WAY = code.table_failure(
    "M408",
    '{table}: mode "rows" is for tables without a primary key, and this table has one',
    'set mode = "current" for it in [[tables]], which has the same rows; if there is a mirror at '
    "{path}, let it be made again (`binlog-connector-mirror resume CONFIG TABLE --rebuild`)",
    cause="Without a key, all changes of a table are in one partition, in order. That is needed.",
    example={"path": _MIRROR},
)
PATH_SCHEME = code.configuration_error(
    "M404",
    "mirror.path {path}: the job writes to local disks, mounted file systems, S3, Azure Blob "
    "Storage, Google Cloud Storage and HDFS alone",
    "give the path of a folder, s3://BUCKET/FOLDER, "
    "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER, az://CONTAINER/FOLDER, "
    "gs://BUCKET/FOLDER or webhdfs://NAMENODE:9870/FOLDER",
    cause="The path begins with the scheme of another storage.",
    example={"path": "oss://bucket/mirror"},
)
AZURE_PATH = code.configuration_error(
    "M423",
    "mirror.path {path}: abfss:// needs a container and an account",
    "give abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER, or az://CONTAINER/FOLDER and the "
    "account in AZURE_STORAGE_ACCOUNT_NAME",
    cause="The account is a part of an address of Azure.",
    example={"path": "abfss://lake/mirror"},
)
INDEX_FOLDER = code.failure(
    "M406",
    "mirror.index_folder {path}: other users of this machine may write into it",
    "remove it, or set mirror.index_folder to a folder that only the user of the job may write to",
    cause="The indexes in it decide which rows of the mirror a change replaces.",
    example={"path": "/data/indexes"},
)
HDFS_SCHEME = code.configuration_error(
    "M421",
    "mirror.path {path}: the job speaks to HDFS over HTTP",
    "give webhdfs://NAMENODE:9870/FOLDER, or swebhdfs:// for TLS",
    cause="An address that begins with hdfs:// names the port of Java programs.",
    example={"path": "hdfs://namenode:8020/mirror"},
)
_FOLDER = "/data/mirror"
OWN_FILE = code.failure(
    "M601",
    "{path} is not a file that this job has written",
    "look at it; if another program wrote it, remove it",
    cause="The folder _cdc of a mirror has the job's own files: owner, cuts, and tables set aside.",
    example={"path": f"{_FOLDER}/_cdc/quarantine/shop.erp.orders.json"},
)
OTHER_OWNER = code.ErrorCode(
    "M602",
    "the mirror at {path} belongs to the job {owner}, which reads the topics {prefix}.* (last "
    "started as process {pid} on {host})",
    "give this job another mirror.path; if it replaces the job {owner} for good, remove the "
    "folder {path}/_cdc/owner first; in a shared mirror, it must read the same topics",
    cause="Two jobs with different names or topics must not write to the same tables.",
    example={"owner": "shop"},
)
TAKEN_OVER = code.ErrorCode(
    "M603",
    "process {pid} on {host} took over the mirror at {path}; this one ends",
    "run one job for each mirror; what this one has committed stays",
    cause="Another job with the same name was started, and the newest one goes on.",
)
MIRROR_SHARED = code.ErrorCode(
    "M606",
    "several pipelines share the mirror at {path}, and this job does not",
    "set mirror.shared = true, or give this job another mirror.path",
    cause="A job that has a mirror for itself does not know of the shards of other pipelines.",
)
OWNER_ALONE = code.ErrorCode(
    "M607",
    "the mirror at {path} belongs to the job {owner}, which reads the topics {prefix}.* and does "
    "not share it",
    "set mirror.shared = true for the job {owner}, too, and restart it first; or give this job "
    "another mirror.path",
    cause="All pipelines of a shared mirror must know that it is shared.",
    example={"owner": "eu", "prefix": "eu"},
)
SHARDS_DROPPED = code.ErrorCode(
    "M608",
    "process {pid} on {host} removes the shards of the topics {prefix}.* from the mirror at {path}",
    "wait until it has ended; if it was interrupted, let it end: "
    "`binlog-connector-mirror drop-shards CONFIG {prefix} --yes`; then start this job",
    cause="The command drop-shards claims a pipeline before it removes anything, so that its job "
    "does not write the same shards meanwhile.",
    example={"path": "/data/mirror/_pipelines/us", "prefix": "us"},
)
SHARDS_GONE = code.ErrorCode(
    "M609",
    "the shards of the topics {prefix}.* were removed from the mirror at {path}; this process ends",
    "if the pipeline is to come back, delete the checkpoint of its job (mirror.checkpoint), then "
    "start the job",
    cause="The process stood still while `drop-shards` removed them, because its machine slept or "
    "was cut off. Or somebody has removed the folder `_cdc`. It would begin where it was.",
    example={"path": "/data/mirror/_pipelines/us", "prefix": "us"},
)
NOT_SET_ASIDE = code.configuration_error(
    "M604",
    "{table} is not set aside",
    "`binlog-connector-mirror status {config}` shows the tables that are",
    cause="Only a table that cannot go on can be resumed.",
    example={"config": "stream_job.toml"},
)
END_NOT_KEPT = code.notice(
    "M605",
    "the mirror does not know how this run has ended: {why}",
    cause="The job keeps the reason of its end in the mirror, in the file `_cdc/run/newest.json`, "
    "for `binlog-connector-mirror status`. That could not be written; the log has the reason.",
    example={"why": "/data/mirror/_cdc/run/newest.json: No space left on device"},
)
