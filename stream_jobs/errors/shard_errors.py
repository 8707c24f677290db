"""Shards: tables of the source that share one mirror."""

from connector.foundation.errors.code import ErrorCode, configuration_error, table_failure

SHARD_PATTERN = configuration_error(
    "M731",
    "'{value}' is not a regular expression with a group (?P<shard>…)",
    "write it for the whole name DATABASE.TABLE, for example 'shop_(?P<shard>\\d+)\\..+'",
    cause="The group says which part of the name is the shard.",
    example={"value": "shop_(\\d+)"},
)
SHARD_VALUE = configuration_error(
    "M732",
    "shard needs either value or pattern",
    "give a constant as value, or a pattern that takes the shard from the names of tables",
    cause="Each row of a mirror of shards says which shard it belongs to.",
)
SHARD_NAME = configuration_error(
    "M733",
    "with shard, tables share a mirror, but name = {name!r} gives a mirror to each of them",
    'set name, for example to "shop.{{table}}"',
    cause="Shards are the tables whose mirrors have the same name.",
    example={"name": "{database}.{table}"},
)
SHARD_CLUSTER = configuration_error(
    "M734",
    "a mirror of shards has no cluster_by",
    "use partition_by, or leave it out: the shard partitions the mirror",
    cause="Each shard has its own files. A Delta table is either clustered as a whole, or divided "
    "into partitions.",
)
SHARD_REPLICA = configuration_error(
    "M735",
    "the replica cannot follow mirrors of shards",
    "use a configuration without shard for the mirror that the replica reads",
    cause="A table of the replica equals one table of the source.",
)
SHARD_LOAD = table_failure(
    "M743",
    "the rows of {table} do not fit the mirror at {path} yet: columns {columns} need wider types",
    "widen the columns of a shard that is already loaded, or run `binlog-connector snapshot` for "
    "the table",
    cause="Shards share the columns of one mirror. A wider type requires rewriting all of its "
    "files. A load does not do this: it waits until the records of a shard do it.",
    example={"table": "shop_2.orders", "path": "/data/mirror/shop/orders", "columns": ["total"]},
)
SHARED_TABLES = configuration_error(
    "M744",
    "mirror.shared needs a shard in each entry of [[tables]]",
    "give each entry a shard, or skip = true",
    cause="Tables of several pipelines have the same names. Only their shards distinguish them.",
)
SHARED_CATALOG = configuration_error(
    "M745",
    "the Iceberg tables of a shared mirror cannot be in a catalog",
    "leave iceberg.catalog out: readers find the tables by their paths",
    cause="If the catalog is away, its readers need an older snapshot. No pipeline knows which one "
    "the others have committed there, so each could delete files that these readers need.",
)
NOT_A_SHARD = table_failure(
    "M746",
    "{table} has no shard, but pipelines share the mirror",
    "name the table in an entry of [[tables]] with a shard, or with skip = true",
    cause="Tables of several pipelines have the same names. Only their shards distinguish them.",
)
NOT_SHARED = configuration_error(
    "M747",
    "pipelines do not share the mirror at {path}",
    "use the configuration of a job with mirror.shared = true",
    cause="A mirror of one pipeline has no shards of others. There, `resume --rebuild` removes the "
    "rows of a table, and reads them again.",
)
NO_SUCH_PIPELINE = configuration_error(
    "M748",
    "no pipeline with the topics {prefix}.* has anything in the mirror at {path}; these prefixes "
    "have: {known}",
    "write the kafka.topic_prefix of the pipeline that is gone; if it is right, all is removed",
    cause="Shards belong to the prefix of the topics, not to the name of the job.",
    example={"prefix": "uk", "known": ("eu", "us")},
)
PIPELINE_RUNS = ErrorCode(
    "M749",
    "the job {owner}, which reads the topics {prefix}.*, may still run as process {pid} on {host}, "
    "says {path}/_cdc",
    "stop the job; if the machine {host} is gone for good, add --lost-host {host}",
    cause="The mirror knows how a job has ended if the job could still write it. Else only its own "
    "machine knows whether the process runs, which would write the shards that are removed.",
    example={"owner": "us", "prefix": "us", "path": "/data/mirror/_pipelines/us"},
)
NO_SHARD = table_failure(
    "M736",
    "the pattern '{pattern}' takes no shard from the name {table}",
    "change shard.pattern in [[tables]], or let an earlier entry of [[tables]] name the table",
    cause="The pattern must match the whole name, and its group must match at least one character.",
    example={"pattern": "shop_(?P<shard>\\d+)\\..+", "table": "shop_new.orders"},
)
SHARD_TAKEN = table_failure(
    "M737",
    "{table} would be the same shard {shard!r} of the mirror {name} as {others}{reason}",
    "give them different shards in [[tables]], or another name to one of them",
    cause="The rows of a shard come from one table: two tables would write the same keys. With "
    "another shard, the rows of a pipeline that is gone would stay beside the same rows.",
    example={"others": ["shop_01.orders"], "shard": "1", "name": "shop.orders"},
)
SHARD_TWICE = SHARD_TAKEN.because("")
SHARD_OF_ANOTHER = SHARD_TAKEN.because(
    " of another pipeline (one that replaces it must keep its kafka.topic_prefix)"
)
SHARD_COLUMN = table_failure(
    "M738",
    "{table} itself has a column {column}, so this cannot be the column of the shard",
    "choose another shard.column in [[tables]]",
    cause="The mirror can have only one column with this name. Readers ignore case.",
    example={"column": "tenant"},
)
OTHER_SHARD_COLUMN = table_failure(
    "M739",
    "{table}: the shards of {path} are in the column {before}, not {now}",
    "set shard.column = {before!r} for it in [[tables]] and resume it "
    "(`binlog-connector-mirror resume`), or give the mirror another name",
    cause="The column partitions the files of the mirror.",
    example={"path": "/data/mirror/shop/orders", "before": "shard", "now": "tenant"},
)
SHARD_KEY = table_failure(
    "M740",
    "{table} has the key ({now}), but other shards of {path} have the key ({key})",
    "give all shards the same key; if the others get it, too, rebuild all shards: "
    "`resume CONFIG --all --rebuild`",
    cause="The key of a mirror of shards is the shard and the key of its tables.",
    example={"path": "/data/mirror/shop/orders", "now": ["id", "day"], "key": ["id"]},
)
SHARD_TYPE = table_failure(
    "M741",
    "{table}: the column {column} does not fit into {path}, which has it as {known} for other "
    "shards",
    "give the column a type that holds the values of the other shards, or rename it; if all "
    "shards get it, rebuild them: `resume CONFIG --all --rebuild`",
    cause="Shards share columns. A type becomes wider for all of them, but a column has one name "
    "and one type.",
    example={"path": "/data/mirror/shop/orders", "column": "note (int)", "known": "note (string)"},
)
OTHER_SHARD = table_failure(
    "M742",
    "{table} is the shard {before!r} of {path}, and cannot become the shard {now!r}",
    "set the earlier value in [[tables]] and resume the table (`binlog-connector-mirror resume`), "
    "or give the mirror another name",
    cause="The value of the shard is a part of all keys of a table.",
    example={"path": "/data/mirror/shop/orders", "before": "1", "now": "01"},
)
