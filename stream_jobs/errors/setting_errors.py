"""Settings of mirrors: of several pipelines in one process, of one mirror, and of its tables."""

from connector.foundation.errors.code import configuration_error, notice, table_failure

_TWO_FILES = {"path": "/etc/mirrors/shop.toml", "other": "/etc/mirrors/crm.toml"}
_ONE_PROCESS = "You asked one process to run both pipelines. Nothing was started. "
NO_PIPELINES = configuration_error(
    "M107",
    "{folder}: there is no configuration in this folder",
    "name a folder with the files of pipelines, whose names end with .toml, or the files",
    cause="A folder stands for each file in it whose name ends with .toml.",
    example={"folder": "/etc/mirrors"},
)
SAME_PIPELINE_NAME = configuration_error(
    "M108",
    "{path} and {other} have the same name, {value}",
    "give each pipeline its own name",
    cause=_ONE_PROCESS + "The name distinguishes them in status lines, metrics and Spark.",
    example={"value": "shop", **_TWO_FILES},
)
SAME_PREFIX = configuration_error(
    "M109",
    "{path} and {other} have the same kafka.topic_prefix, {value}",
    "give each the prefix of its own connector, or leave one of the files out",
    cause=_ONE_PROCESS + "A prefix belongs to one pipeline, whose tables have one mirror.",
    example={"value": "shop", **_TWO_FILES},
)
MIRRORS_OVERLAP = configuration_error(
    "M110",
    "{path} and {other} have the same mirror.path, or one is inside the other: {value}",
    "give each its own mirror.path, or set mirror.shared in both, if all tables are shards",
    cause=_ONE_PROCESS + "The tables of both mirrors would conflict.",
    example={"value": "/data/mirror", **_TWO_FILES},
)
CHECKPOINTS_OVERLAP = configuration_error(
    "M111",
    "{path} and {other} have the same mirror.checkpoint, or one is inside the other: {value}",
    "give each its own mirror.checkpoint, or leave it out",
    cause=_ONE_PROCESS + "Spark keeps the offsets of one query in a checkpoint.",
    example={"value": "/data/checkpoint", **_TWO_FILES},
)
SAME_LISTEN = configuration_error(
    "M112",
    "{path} and {other} have the same metrics.listen, {value}",
    "give each its own port",
    cause=_ONE_PROCESS + "Each serves its own metrics, which its connector asks for.",
    example={"value": "127.0.0.1:9401", **_TWO_FILES},
)
OTHER_SPARK = configuration_error(
    "M113",
    "{path} and {other} differ in [spark] or [log]",
    "write the same [spark] and [log] into both, or run them in two processes",
    cause=_ONE_PROCESS + "It has one Spark session and one output.",
    example=_TWO_FILES,
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
    "this is not the URL of an Iceberg REST catalog",
    'write "https://HOST/PATH", without a login and without /v1',
    cause="The job adds /v1 and the paths of the protocol; a login has keys of its own. The value "
    "is not shown, because it may have a password.",
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
    "{reason}",
    "give both, or neither",
    cause="OAuth2 gives a token for the id of a client and its secret. A signature (SigV4) is "
    "valid for one service of AWS in one region.",
)
HALF_OAUTH2 = HALF_LOGIN.because(
    "iceberg.client_id needs client_secret or client_secret_file, and these need client_id"
)
HALF_SIGV4 = HALF_LOGIN.because(
    "iceberg.sigv4_service needs sigv4_region, and this needs sigv4_service"
)
FOLDER_ON_CLUSTER = configuration_error(
    "M829",
    "{kafka.bootstrap_servers} names a folder, and Spark runs on {master}",
    "run Spark on the machine that has the folder, without spark.master, or use Kafka",
    cause="A log in a folder has no network: only processes of its machine can read it. Spark's "
    "tasks read the log, and on a cluster they run on other machines.",
    example={"master": "spark://cluster:7077"},
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
