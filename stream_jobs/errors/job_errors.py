"""The Spark job: Spark and Kafka, schemas, topics and folders of a mirror, settings of tables."""

from connector.foundation.errors import code
from connector.foundation.errors.code import configuration_error, notice, table_failure

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
_TWO_FILES = {"path": "/etc/mirrors/shop.toml", "other": "/etc/mirrors/crm.toml"}
_ONE_PROCESS = "One process was to run both pipelines. Nothing was started. "
NO_PIPELINES = code.configuration_error(
    "M107",
    "{folder}: there is no configuration in this folder",
    "name a folder with the files of pipelines, whose names end with .toml, or the files",
    cause="A folder stands for each file in it whose name ends with .toml.",
    example={"folder": "/etc/mirrors"},
)
SAME_PIPELINE_NAME = code.configuration_error(
    "M108",
    "{path} and {other} have the same name, {value}",
    "give each pipeline its own name",
    cause=_ONE_PROCESS + "The name tells them apart in status lines, metrics and Spark.",
    example={"value": "shop", **_TWO_FILES},
)
SAME_PREFIX = code.configuration_error(
    "M109",
    "{path} and {other} have the same kafka.topic_prefix, {value}",
    "give each the prefix of its own connector, or leave one of the files out",
    cause=_ONE_PROCESS + "A prefix has the tables of one pipeline, which have one mirror.",
    example={"value": "shop", **_TWO_FILES},
)
MIRRORS_OVERLAP = code.configuration_error(
    "M110",
    "{path} and {other} have the same mirror.path, or one is inside the other: {value}",
    "give each its own mirror.path",
    cause=_ONE_PROCESS + "Tables of one would be in the way of those of the other.",
    example={"value": "/data/mirror", **_TWO_FILES},
)
CHECKPOINTS_OVERLAP = code.configuration_error(
    "M111",
    "{path} and {other} have the same mirror.checkpoint, or one is inside the other: {value}",
    "give each its own mirror.checkpoint, or leave it out",
    cause=_ONE_PROCESS + "Spark keeps the offsets of one query in a checkpoint.",
    example={"value": "/data/checkpoint", **_TWO_FILES},
)
SAME_LISTEN = code.configuration_error(
    "M112",
    "{path} and {other} have the same metrics.listen, {value}",
    "give each its own port",
    cause=_ONE_PROCESS + "Each serves its own metrics, which its connector asks for.",
    example={"value": "127.0.0.1:9401", **_TWO_FILES},
)
OTHER_SPARK = code.configuration_error(
    "M113",
    "{path} and {other} differ in [spark] or [log]",
    "write the same [spark] and [log] into both, or run them in two processes",
    cause=_ONE_PROCESS + "It has one Spark session and one output.",
    example=_TWO_FILES,
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
    "put the mirror back and resume the table (`binlog-connector-mirror resume`), or let it be "
    "made again from its topic: `resume CONFIG TABLE --rebuild`",
    cause="Somebody moved or deleted the mirror while the job was down.",
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
    "folder {path}/_cdc/owner first",
    cause="Two jobs with different names or topics must not write to the same tables.",
    example={"owner": "shop"},
)
TAKEN_OVER = code.ErrorCode(
    "M603",
    "process {pid} on {host} took over the mirror at {path}; this one ends",
    "run one job for each mirror; what this one has committed stays",
    cause="Another job with the same name was started, and the newest one goes on.",
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


NO_SALT = configuration_error(
    "M701",
    "hash_columns needs a salt",
    "set mirror.hash_salt, best in the environment as STREAM_JOB_MIRROR__HASH_SALT",
    cause="Without a salt, anybody can hash all telephone numbers and find out which one it was.",
)
TWO_LAYOUTS = configuration_error(
    "M702",
    "a table has either partition_by or cluster_by, not both",
    cause="Delta sorts rows within the whole table, or divides them into partitions.",
)
MIRROR_NAME = configuration_error(
    "M703",
    "{value!r} is not the name of a mirror",
    "write DATABASE.TABLE; {{database}} and {{table}} stand for the names at the source",
    cause="A mirror has a database and a name. Both become folders.",
    example={"value": "{schema}.orders"},
)

COLUMN_MISSING = table_failure(
    "M704",
    "{table}: {setting} names the column {column}, which the table does not have{reason}",
    cause="A misspelt name would leave values in the mirror that nobody wants there.",
)
NO_COLUMN = COLUMN_MISSING.because(
    "; correct the name, or take it out of the settings; the columns are {columns}",
)
SIMILAR_COLUMN = COLUMN_MISSING.because(
    " (did you mean {meant}?); correct the name, or take it out of the settings", was="M705"
)

KEY_COLUMN = table_failure(
    "M706",
    "{table}: {setting} names the column {column}, which is part of the primary key",
    "take it out of the setting; hash_columns can hide a key, because equal keys stay equal",
    cause="The job finds the row of a change by the primary key.",
    example={"setting": "mask_columns", "column": "id"},
)
HIDDEN_COLUMN_GONE = table_failure(
    "M707",
    "{table}: the hidden column {lost} is gone, and {new} is new: it may be the same column under "
    "another name",
    "add {new} to exclude_columns, hash_columns or mask_columns, and resume the table; if its "
    "values may be shown, take {lost} out of the settings, and let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG {table} --rebuild`",
    cause="After a RENAME COLUMN, the settings name a column that is not there any more.",
    example={"lost": "phone", "new": ["mobile"]},
)

OTHER_CHOICES = table_failure(
    "M714",
    "{table}: the mirror at {path} {reason}",
    "put the earlier {settings} back, or let the mirror be made again (`binlog-connector-mirror "
    "resume CONFIG TABLE --rebuild`; if Kafka has deleted records of the table, after "
    "`binlog-connector snapshot`)",
    cause="The files of a mirror keep what was written with earlier settings.",
)
OTHER_COLUMNS = OTHER_CHOICES.because(
    "was made with other settings for the columns {columns}", settings="settings", was="M708"
)
OTHER_PARTITIONS = OTHER_CHOICES.because(
    "has the partition columns ({before}), not ({now})", settings="partition_by", was="M709"
)

WRONG_LAYOUT = table_failure(
    "M710",
    "{table}: {setting} names the column {column}, whose type {type} does not fit",
    "partition_by takes integers, dates, DECIMAL, BIT(1) and texts that are never empty; "
    "cluster_by takes numbers, dates, times and texts",
    cause="Delta cannot store, or not compare, values of this type there.",
    example={"setting": "partition_by", "column": "created", "type": "timestamp"},
)
NAME_TWICE = table_failure(
    "M711",
    "{table} and {others} would have the same mirror {name}",
    "give one of them another name in [[tables]], set skip = true for it, or make all of them "
    "shards of the mirror (shard)",
    cause="Each mirror belongs to one table. `name` gives the same name to several ones.",
    example={"others": ["crm.orders"], "name": "sales.orders"},
)
NOT_REGISTERED = notice(
    "M712",
    "{name} is not in the catalog: {said}",
    "the mirror itself goes on, and the job tries again after its next batch; look at [catalog] "
    "and [spark] in the configuration",
    cause="The catalog of the Spark session refused the table, or the session lacks Delta's jars.",
    example={"said": "[DATA_SOURCE_NOT_FOUND] Failed to find delta"},
)
REGISTERED_ELSEWHERE = notice(
    "M713",
    "{name} in the catalog is another table, at {other}, not the mirror at {location}",
    "drop the table in the catalog, or give the mirror another name in [[tables]]",
    cause="The job does not change tables of the catalog that it did not make.",
    example={"other": "file:/old/erp/orders", "location": "/data/erp/orders"},
)
NO_DELTA = configuration_error(
    "M715",
    "each mirror is a Delta table",
    'use ["delta"], or ["delta", "iceberg"] for tables that are both',
    cause="The job keeps its progress in Delta's log. An Iceberg table has the same files, and "
    "follows.",
)
CATALOG_URL = configuration_error(
    "M823",
    "{value!r} is not the URL of an Iceberg REST catalog",
    'write "https://HOST/PATH", without a login and without /v1',
    cause="The job adds /v1 and the paths of the protocol; a login has keys of its own.",
    example={"value": "catalog:8181"},
)
NAMESPACE = configuration_error(
    "M824",
    "{value!r} is not a namespace in which {{database}} stands for that of the mirror",
    'write for example "{{database}}" or "lake.{{database}}"',
    cause="Dots separate the levels of the namespace; none of them is empty.",
    example={"value": "lake.{table}"},
)
HALF_LOGIN = configuration_error(
    "M825",
    "iceberg.client_id needs client_secret or client_secret_file, and these need client_id",
    "give both, or neither",
    cause="OAuth2 gives a token for the id of a client and its secret.",
)
CUTS_TOO_LONG = configuration_error(
    "M806",
    "cuts would be listed for {hours} hours, and the versions of tables can be read for {kept} "
    "hours (mirror.retention_hours)",
    "set mirror.retention_hours to at least {hours}, or cuts.retention_hours to at most {kept}",
    cause="A cut that is listed can be read, so it goes before the versions that it names.",
    example={"hours": 48, "kept": 6},
)
DATABASE_NAME = configuration_error(
    "M903",
    "{value!r} is not the name of a database in which {{database}} stands for that of the mirror",
    'write it like "copy_{{database}}"',
    cause="Braces stand around one known word alone.",
    example={"value": "{table}_copy"},
)
