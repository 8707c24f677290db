"""`verify`, which compares tables and topics with their source."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error, notice

OTHER_TOPICS = configuration_error(
    "V102",
    "{path} is of another pipeline: its topics are {mirror}.*, not {connector}.*",
    "give the configurations of one pipeline",
    cause="A table is compared with the mirror that is made of its own topic.",
    example={"path": "stream_job.toml", "mirror": "erp", "connector": "shop"},
)
NO_PROGRESS = ErrorCode(
    "V103",
    "pipeline {pipeline} has not run yet: it has no progress in Kafka",
    "start it with `binlog-connector run`",
    cause="What the pipeline has delivered tells which changes the mirror must have.",
)
OTHER_SERVER = ErrorCode(
    "V104",
    "pipeline {pipeline} reads the server {uuid}, which is none of the configured ones that answer",
    "give the configuration that the pipeline runs with; after a failover, try again",
    end=End.COMMAND,
    cause="Positions in the log of one server mean nothing on another one.",
    example={"uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562"},
)
LOST_CONNECTION = ErrorCode(
    "V126",
    "{side} was {reason}: {why:what}",
    "try again when it answers; with --state, a comparison with a mirror or a replica goes on "
    "where it stood; --patience waits longer",
    end=End.COMMAND,
    cause="A connection to the source, or to the server of the target, was lost while tables were "
    "compared, and could not be made again, or was lost again each time.",
    example={"side": "the source", "reason": "away for 60 s"},
)
AWAY = LOST_CONNECTION.because("away for {seconds:g} s")
OFTEN_LOST = LOST_CONNECTION.because("lost {times} times in one reading")
LOST = ErrorCode(
    "V127",
    "{server} lacks what was there when tables were compared: {lost}",
    "wait until the server has it; if it never will, look which server is right: a pipeline begins "
    "again there with a copy, and another target has to be filled again; then start `verify` "
    "again, without the file of --state",
    end=End.COMMAND,
    cause="The server was restored, or its log was reset; or it has taken the place of a server of "
    "which it had not everything. What was found equal says nothing of its rows.",
    example={"lost": "3e11fa47-71ca-11e1-9e33-c80aa9429562:4711-4720"},
)
OTHER_NOW = ErrorCode(
    "V128",
    "{reason} since the comparison began",
    "compare again, without the file of --state; with --forever, a comparison with a mirror or a "
    "replica goes on there by itself",
    end=End.COMMAND,
    cause="The source, or the server of the target, has failed over. Positions in the log of one "
    "server mean nothing on another one, and rows of one server prove nothing about those of "
    "another one.",
    example={"reason": "pipeline shop reads another server (db2:3306)"},
)
MOVED = OTHER_NOW.because("pipeline {pipeline} reads another server ({source})")
OTHER_ANSWERS = OTHER_NOW.because("{server}: another server answers")
CONNECTOR_LAGS = ErrorCode(
    "V105",
    "table {table}: pipeline {pipeline} has not delivered within {seconds} s what was read at the "
    "source, or rows of the table are still being copied",
    "look whether the pipeline runs, and try again when it has caught up; --patience waits longer",
    end=End.COMMAND,
    cause="A row is compared when the stream has passed the moment at which it was read.",
)
MIRROR_LAGS = ErrorCode(
    "V106",
    "table {table}: the mirror lacks what was read at the source, and has applied nothing for "
    "{seconds} s",
    "look at `binlog-connector-mirror status`, and try again when the job has caught up; "
    "--patience waits longer",
    end=End.COMMAND,
    cause="A row is compared when the mirror has passed the moment at which it was read.",
)
SET_ASIDE = ErrorCode(
    "V110",
    "table {table}: the mirror lacks what was read at the source, because the job has set the "
    "table aside: {why}",
    "resume the table as the reason says (`binlog-connector-mirror resume`), and try again",
    end=End.COMMAND,
    cause="A table that is set aside gets no change, so it cannot pass what is compared.",
    example={
        "why": "[M224] shop.erp.orders, partition 1, offset 4711: the sequence of the record is "
        "beyond what shop.progress says of any pipeline"
    },
)
OTHER_PIPELINES = notice(
    "V186",
    "the shards {shards} of {table}, {rows} rows, belong to other pipelines",
    "verify them with the configurations of these pipelines",
    cause="Pipelines share the mirror, and each knows its own source.",
    example={"table": "shop.orders", "shards": ("us",), "rows": 4711},
)
COPY_FAILED = ErrorCode(
    "V107",
    "table {table}: the copy that would repair it failed: {said}",
    end=End.COMMAND,
    cause="The running pipeline was asked for a copy of rows that differ, and could not make it.",
    example={"said": "[R312] source db1:3306: table erp.orders cannot be copied"},
)
COPY_LAGS = ErrorCode(
    "V108",
    "table {table}: nothing was heard for {seconds} s of the copy that pipeline {pipeline} was "
    "asked for",
    "look whether the pipeline runs; it makes the copy as soon as it does",
    end=End.COMMAND,
    cause="Only the running pipeline writes to its topics, so it makes the copy that repairs rows.",
)
REPLICA_LAGS = ErrorCode(
    "V131",
    "table {table}: the replica lacks what was read at the source, and has applied nothing for "
    "{seconds} s",
    "look at the output of `binlog-connector-mirror replica`, and try again when it has caught up; "
    "--patience waits longer",
    end=End.COMMAND,
    cause="A row is compared when the replica has passed the moment at which it was read.",
)
NO_REPLICA = ErrorCode(
    "V132",
    "{server}: there is no replica {name!r} of the mirror at {path}",
    "start it with `binlog-connector-mirror replica`",
    end=End.COMMAND,
    cause="The replica notes in _cdc.replica what it has, and no row there is that of this one.",
    example={"name": "erp"},
)
NOT_A_CUT = configuration_error(
    "V122",
    "{text!r} names no cut",
    "give the number of a cut, a time as 2026-03-01T12:00:00, a position as binlog.000004:1234, or "
    "a GTID or a set of them as the server prints it; `binlog-connector-mirror cuts CONFIG` shows "
    "the cuts",
    cause="What has changed since a cut is compared, so --since names one.",
    example={"text": "yesterday"},
)
RECORDS_LOST = ErrorCode(
    "V123",
    "table {table}: Kafka has deleted records since cut {number}: partition {partition} begins at "
    "offset {first}, and the cut has offset {offset}",
    "take a newer cut, or compare the whole table without --since; for a certificate, let the job "
    "write a newer cut",
    end=End.COMMAND,
    cause="The records since the cut tell what has changed. Kafka deletes them after retention.ms "
    "of the topic.",
    example={"number": 42, "first": 5000},
)
STATE_OTHER = configuration_error(
    "V124",
    "{path} is the state of another comparison: it differs in {names}",
    "give the same arguments and configurations as before, or another file; without its file, a "
    "comparison starts over",
    cause="What was compared in an earlier run counts only in the same comparison.",
    example={"path": "verify.state", "names": ["tables", "mirror"]},
)
STATE_UNUSABLE = configuration_error(
    "V125",
    "{path} cannot be the file of --state: {said}",
    "give a file that this user can write, or that is not there yet",
    cause="The file keeps how far a comparison has come.",
    example={"path": "verify.state", "said": "it is not a file of this program"},
)

NOT_COMPARED = notice(
    "V213",
    "table {table}: {reason}",
    cause="The table cannot be compared with its mirror, or not in this way.",
)
SKIPPED = NOT_COMPARED.because("it has no mirror by choice (skip = true)", was="V201")
MODE = NOT_COMPARED.because(
    "its mirror has the mode {mode}, without a current row of each key", was="V202"
)
LOADING = NOT_COMPARED.because("its first rows are being loaded from the source")
HIDDEN_KEY = NOT_COMPARED.because("the replica does not show the key: {columns}", was="V203")
NO_KEY = NOT_COMPARED.because("it has no primary key, and no mirror with the mode rows", was="V208")
NO_RANGES = NOT_COMPARED.because(
    "its mirror has no key that begins with an integer, so no sample can be chosen", was="V210"
)
NO_MOMENT = NOT_COMPARED.because(
    "the source cannot tell which changes a SELECT of all its rows sees", was="V211"
)
REPLICA_MODE = NOT_COMPARED.because(
    "its mirror has the mode {mode}, so the replica does not have it", was="V222"
)

NO_MIRROR = ErrorCode(
    "V204",
    "table {table}: it has no mirror at {path}",
    "look at `binlog-connector-mirror status`",
    end=End.COMMAND,
    cause="The Spark job makes a mirror with the first rows of a table.",
)
NO_ORDER = ErrorCode(
    "V205",
    "table {table}: it has no key in whose order its rows can be read",
    end=End.COMMAND,
    cause="The table has no primary key, or the key holds only the beginnings of values.",
)

MIRROR_BEHIND = ErrorCode(
    "V214",
    "table {table}: its mirror {reason}",
    "try again when the mirror has followed the change of the table",
    end=End.COMMAND,
    cause="The table has changed, and the mirror has not got a row since.",
)
OTHER_KEY = MIRROR_BEHIND.because("lacks columns of the key {columns}", was="V206")
OTHER_TYPE = MIRROR_BEHIND.because("has another type of the column {column}", was="V209")

UNFIT_ROW = ErrorCode(
    "V207",
    "table {table}: a row cannot be in a mirror: {why}",
    end=End.COMMAND,
    cause="The row has a value that the mirror does not take, such as a zero date.",
    example={"why": "the column at is a date that Spark cannot hold"},
)
ALTERED = ErrorCode(
    "V187",
    "table {table} was altered, renamed or dropped while it was compared: {why:what}",
    "compare it again; with --forever, that happens in the next round",
    end=End.COMMAND,
    cause="The table at the source has other columns or another key than when its comparison "
    "began, or there is no such table any more.",
    example={"why": "it has other columns, or another key"},
)
COLUMN_GONE = ErrorCode(
    "V212",
    "table {table}: its mirror does not have the column {column} any more",
    "compare the table again",
    end=End.COMMAND,
    cause="The column was dropped or renamed while the table was compared.",
    example={"column": "total"},
)
NOT_AT_REPLICA = ErrorCode(
    "V221",
    "table {table}: the replica does not have it: {why}",
    "try again when `binlog-connector-mirror replica` has followed",
    end=End.COMMAND,
    cause="The table is not in the cut that the replica has, or the replica has an older form.",
    example={"why": "it was not loaded yet"},
)
REPLICA_TYPE = notice(
    "V223",
    "table {table}: values of {column} cannot be compared: it is {ours} at the source, and "
    "{theirs} at the replica",
    "ALTER the column at the replica to the type of the source",
    cause="The table was created by hand, with a type that prints the same values in another way.",
    example={"column": "span", "ours": "time", "theirs": "time(6)"},
)
NOTHING_DELIVERED = ErrorCode(
    "R901",
    "pipeline {pipeline} has delivered nothing to the topics of {prefix}",
    "start it (binlog-connector run CONFIG), and look at its name and {kafka.topic_prefix}",
    end=End.COMMAND,
    cause="The topic of progress has no record of a pipeline of this name.",
)
TOPICS_OTHER_SERVER = ErrorCode(
    "R902",
    "the pipeline reads server {server_uuid} ({source}), and none of {servers} is that server",
    "name it in {source.host} or {source.failover_hosts}; the positions of one server mean nothing "
    "on another",
    cause="The sequences of the records are positions in the log of one server, so only its log "
    "can prove them. The pipeline has moved to another server since, or the configuration has.",
    example={"server_uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562", "servers": ["db2:3306"]},
)
NOT_DELIVERED = ErrorCode(
    "R903",
    "the pipeline has delivered everything up to {file}:{position}, and not yet {wanted}",
    "repeat it when the pipeline has come there, or name an earlier end",
    end=End.COMMAND,
    cause="The range of the proof ends after the newest committed progress.",
    example={"wanted": "binlog.000043:4"},
)
LOG_ENDS = ErrorCode(
    "R904",
    "source {source}: its log ends at {found}, before the delivered position {file}:{position}",
    "look whether the logs of the server were reset; `binlog-connector check CONFIG` says more",
    cause="The server has lost the end of its log: it was reset, or restored from a backup.",
    example={"found": "binlog.000001:157"},
)
LOG_GONE = ErrorCode(
    "R906",
    "source {source}: its log begins with {first}, and the pipeline has read up to {file} there",
    "nothing can bring a purged log back; keep logs longer than the topics, and prove the topics "
    "before they are purged",
    cause="The records of an epoch are positions in the log of one server. This server has purged "
    "the files with all of them, or begun its log again.",
    example={"first": "binlog.000050"},
)
TOPICS_NO_PROGRESS = ErrorCode(
    "R907",
    "no progress record of the pipeline tells where epoch {epoch} ends",
    "nothing, if the pipeline had another name then; else Kafka has compacted the record away, and "
    "only the newer epochs can be proven",
    cause="The records of an epoch are positions in the log of one server, and the progress "
    "records name it. Kafka compacts their topic, or somebody has deleted the topic.",
    example={"epoch": 1},
)
GTIDS = configuration_error(
    "R905",
    "{option}: {text} is neither FILE:POSITION nor a GTID set ({why})",
    "give a position as binlog.000042:1187, or a GTID set as SHOW BINARY LOG STATUS prints it",
    cause="A range has two ends, each a position in the log or a set of transactions.",
    example={"option": "--to", "text": "binlog", "why": "a GTID has a colon"},
)
