"""What a server and its account must have: settings and grants."""

from connector.foundation.errors.code import (
    ErrorCode,
    clause,
    configuration_error,
    notice,
    transient_error,
)

NOT_SET_UP = ErrorCode(
    "S601",
    "{server}: the server cannot be followed as it is set up:{problems:lines}",
    cause="Settings or grants that the pipeline cannot do without are missing. Each has its own "
    "line with its own advice; `binlog-connector check` shows those that are good, too.",
    example={
        "problems": (
            "binlog_format is STATEMENT, wanted ROW; SET PERSIST binlog_format = 'ROW'",
            "gtid_mode is OFF, wanted ON; SET PERSIST gtid_mode = 'ON'",
        )
    },
)
STATEMENT_AND_FILE = clause(
    "{statement}, and {name} = {value} in the server's option file", was="S602"
)

TLS_MODE = notice(
    "S653",
    "{source.tls.mode} is {value}: {reason}",
    "set {source.tls.mode} to verify_identity, with {source.tls.ca}",
    cause="The connection is not encrypted for certain, or nothing proves who the server is.",
)
PREFERRED_TLS = TLS_MODE.because(
    "nothing proves that {host} is the source, so a program that answers in its place can learn "
    "the password and send changes, and if no TLS is offered, everybody on the way can read the "
    "rows",
    was="S607",
)
UNVERIFIED_TLS = TLS_MODE.because(
    "nothing proves that {host} is the source, so a program that answers in its place can learn "
    "the password and send changes",
    was="S608",
)
NOT_ENCRYPTED = TLS_MODE.because(
    "everybody on the way to {host} can read the rows, and a program that answers in its place "
    "can send changes",
    was="S609",
)

_ROWS = "The pipeline needs every change as rows, with all columns, in the log."
_WHAT = "{name} is {value}, wanted {wanted}"


def _setting(code: str, name: str, value: str, wanted: str, fix: str, cause: str) -> ErrorCode:
    """Return the code of a setting; `{how}` in `fix` is the statement that changes it."""
    example = {"name": name, "value": value, "wanted": wanted}
    if "{how}" in fix:
        example["how"] = f"SET PERSIST {name} = '{wanted}'"
    return ErrorCode(code, _WHAT, fix, cause=cause, example=example)


SETTING = _setting(
    "S611",
    "binlog_row_image",
    "MINIMAL",
    "FULL",
    "{how}",
    f"{_ROWS} A few other settings make damage visible, or let the stream go on elsewhere.",
)
OWN_SERVER_ID = ErrorCode(
    "S612",
    "{source.server_id} is {value}, wanted any number but the server's own, {own}",
    "give {source.server_id} another number, unique among all replicas of this server",
    cause="A server sends its log to nobody who has its own server_id.",
    example={"value": 1, "own": 1},
)
LOG_BIN = _setting(
    "S613",
    "log_bin",
    "OFF",
    "ON",
    "start the server with log_bin = binlog in its option file",
    "The server writes no binary log, so nothing can be followed.",
)
BINLOG_FORMAT = _setting(
    "S614",
    "binlog_format",
    "STATEMENT",
    "ROW",
    "{how}; sessions that are open keep the old format until they reconnect",
    _ROWS,
)
ROW_METADATA = _setting(
    "S615",
    "binlog_row_metadata",
    "MINIMAL",
    "FULL",
    "{how}; until then the columns are read from information_schema, which takes GRANT SELECT on "
    "the tables, and a table that is changed while the pipeline stands still is copied again",
    "The log names the columns of a table only if this setting is FULL.",
)
NO_ROW_METADATA = ErrorCode(
    "S616",
    _WHAT,
    "upgrade: the log has column names from MySQL 8.0.1 and MariaDB 10.5 on, and this is "
    "{version}; until then the columns are read from information_schema, which takes GRANT "
    "SELECT on the tables, and a table that is changed while the pipeline stands still is copied "
    "again",
    cause="The server is too old to name the columns of a table in its log.",
    example={
        "name": "binlog_row_metadata",
        "value": "absent",
        "wanted": "FULL",
        "version": "5.7.44-log",
    },
)
GTID_MODE = _setting(
    "S617",
    "gtid_mode",
    "OFF",
    "ON",
    "{how}; without GTIDs the pipeline cannot follow a failover",
    "A position means nothing on another server, a GTID means the same on all.",
)
TEMPORAL_FORMAT = _setting(
    "S618",
    "mysql56_temporal_format",
    "OFF",
    "ON",
    "{how}; the log does not tell the digits after the second of columns in the older format: "
    "rebuild tables that have such columns with ALTER TABLE ... FORCE",
    "MariaDB writes times in an older format if the setting is OFF.",
)
REPLICA_UPDATES = _setting(
    "S619",
    "log_replica_updates",
    "OFF",
    "ON",
    "start the server with {name} = ON in its option file: otherwise its log does not have what it "
    "receives from its source",
    "A replica writes to its own log what it receives only if it is told to.",
)
KEEPING = _setting(
    "S620",
    "binlog_expire_logs_seconds",
    "3600 seconds",
    "86400 seconds or more",
    "{how}; a pipeline that stands still for longer has to start over",
    "The server deletes logs that are older, whether they were read or not.",
)
FILTER = _setting(
    "S621",
    "binlog_do_db",
    "erp",
    "''",
    "remove {name} from the server's option file, and restart it: changes that this keeps out of "
    "the log are never seen",
    "The server keeps the changes of some databases out of its log.",
)
GRANT = ErrorCode(
    "S631",
    _WHAT,
    "GRANT {right} ON *.* TO {account}",
    cause="To read a log is what a replica does, and the server asks for the rights of one.",
    example={
        "name": "grant REPLICATION SLAVE",
        "value": "missing",
        "wanted": "granted",
        "right": "REPLICATION SLAVE",
    },
)
GRANT_LAG = ErrorCode(
    "S685",
    _WHAT,
    "GRANT SLAVE MONITOR ON *.* TO {account}",
    cause="The source is a replica of MariaDB, which tells only an account with this right by how "
    "much it is late. Without the right, copies and `verify` do not spare a replica that lags.",
    example={"name": "grant SLAVE MONITOR", "value": "missing", "wanted": "granted"},
)
GRANT_SELECT = ErrorCode(
    "S632",
    _WHAT,
    "{statements}; or set {source.start} to where the stream begins without copies of the tables",
    cause="With the start point `snapshot` tables are copied, which takes the right to read them.",
    example={
        "name": "grant SELECT",
        "value": "missing",
        "wanted": "granted",
        "statements": "GRANT SELECT ON erp.* TO 'cdc'@'%'",
    },
)
HEARTBEAT_REFUSED = ErrorCode(
    "S633",
    "{name} is {value}, wanted {wanted}",
    "the server says: {said}; grant {account} the right to execute the statement, or correct it",
    cause="The server was asked to prepare the statement, which checks its tables and the rights "
    "of the account without executing it. The stream goes on without the statement.",
    example={
        "name": "source.heartbeat_statement",
        "value": "refused",
        "wanted": "accepted",
        "said": "UPDATE command denied to user 'cdc'@'app1' for table 'heartbeat'",
    },
)
HEARTBEAT_READ_ONLY = _setting(
    "S634",
    "read_only",
    "ON",
    "OFF",
    "let {source.host} name the primary, or leave out {source.heartbeat_statement}",
    "A server that is read-only, as replicas mostly are, refuses a statement that writes. Only "
    "accounts with SUPER or CONNECTION_ADMIN may write there.",
)
NO_COLUMN = ErrorCode(
    "S643",
    "{pattern} names no column of a followed table",
    "correct it in {source.columns}, {source.exclude_columns} or {source.masks}",
    cause="A pipeline does not begin with the name of a column that does not exist, because the "
    "values of another one would be published as they are.",
    example={"pattern": "erp.users.emial"},
)
_CASCADES = (
    "foreign keys change rows of these tables without a trace in the log of this server: {tables}"
)
_CASCADES_CAUSE = (
    "InnoDB itself changes and deletes the rows that refer to a row (CASCADE, SET NULL). The log "
    "has only the change of that row, except on MySQL 9.6 and later."
)
CASCADES_COPIED = notice(
    "S651",
    _CASCADES,
    "they are copied again after such changes, all of a table after a delete with CASCADE; "
    "{schema.cascade_seconds} says how often",
    cause=_CASCADES_CAUSE,
    example={"tables": ("erp.order_lines", "erp.invoices")},
)
CASCADES_LOST = notice(
    "S652",
    _CASCADES,
    "consumers keep rows that the source does not have; set {schema.on_cascade} to copy",
    cause=_CASCADES_CAUSE,
    example={"tables": ("erp.order_lines", "erp.invoices")},
)
RDS_PARAMETER = clause(
    "in the parameter group of the DB instance, set {name} to {value} (if it is static, the "
    "instance has to be restarted)",
    was="S603",
)
AURORA_PARAMETER = clause(
    "in the parameter group of the DB cluster, set {name} to {value} (if it is static, the "
    "writer has to be restarted)",
    was="S604",
)
CLOUD_SQL_FLAG = clause(
    "gcloud sql instances patch INSTANCE --database-flags={name}={value} (name all flags of the "
    "instance there: others are removed)",
    was="S605",
)
AZURE_PARAMETER = clause(
    "az mysql flexible-server parameter set --resource-group GROUP --server-name SERVER --name "
    "{name} --value {value}",
    was="S606",
)
_NO_LOG = "The server writes no binary log, so nothing can be followed."
RDS_LOG_BIN = ErrorCode(
    "S622",
    _WHAT,
    "let Amazon RDS make automated backups of this instance (a retention period of 1 day or more)",
    cause=f"{_NO_LOG} An instance of Amazon RDS writes one only if backups of it are made.",
    example={"name": "log_bin"},
)
AURORA_LOG_BIN = ErrorCode(
    "S623",
    _WHAT,
    "in the parameter group of the DB cluster, set binlog_format to ROW, and restart the writer",
    cause=f"{_NO_LOG} By default, a cluster of Amazon Aurora has binlog_format = OFF.",
    example={"name": "log_bin"},
)
AURORA_READER = ErrorCode(
    "S624",
    _WHAT,
    "this instance is a reader, and only the writer of the cluster has a binary log: set "
    "{source.host} to the cluster endpoint",
    cause="The instances of a cluster share their storage, so readers need no log.",
    example={"name": "innodb_read_only", "value": "ON", "wanted": "OFF"},
)
CLOUD_SQL_LOG_BIN = ErrorCode(
    "S625",
    _WHAT,
    "gcloud sql instances patch INSTANCE --enable-bin-log (the instance restarts)",
    cause=f"{_NO_LOG} Cloud SQL calls it point-in-time recovery, which needs automated backups.",
    example={"name": "log_bin"},
)
RDS_RETENTION_HIDDEN = ErrorCode(
    "S626",
    _WHAT,
    "GRANT SELECT ON mysql.rds_configuration TO {account}; {how}",
    cause="Amazon RDS and Aurora keep the log as long as this setting says, and purge it within "
    "minutes without it. The account may not read it, and the variables of the server say nothing "
    "about it.",
    example={
        "name": "binlog retention hours",
        "value": "not readable",
        "wanted": "24 or more",
        "how": "CALL mysql.rds_set_configuration('binlog retention hours', 168)",
    },
)
NONE_NOW = transient_error(
    "S401",
    "source: no server of {source.host} and {source.failover_hosts} can go on with the stream now:"
    "{problems:lines}",
    cause="Each server of the configuration was asked, and each has its own line with its own "
    "advice. At least one of them may be able to go on later.",
)
_OVER = "give the pipeline a new name and start over"
NONE_NOW_AND_RESET = transient_error(
    "S402",
    "source: no server of {source.host} and {source.failover_hosts} can go on with the stream now:"
    "{problems:lines}\n"
    "  A reset was seen. If the logs of all were reset, no server will ever have what was read",
    f"if that is so, {_OVER}",
    cause="The logs of one server were reset, and the others lack what was read. They may still "
    "receive it, unless their logs were reset, too.",
)
NONE = ErrorCode(
    "S403",
    "source: no server of {source.host} and {source.failover_hosts} can go on with the stream:"
    "{problems:lines}",
    cause="Each server of the configuration was asked, and each has its own line with its own "
    "advice. None of them will ever have what comes next.",
)
PREPARED_GONE = ErrorCode(
    "S451",
    "{server}: XA transactions wait for XA COMMIT, and their rows must be read again ({xids}), but "
    "the server does not have them any more",
    'give the pipeline a new name and set {source.start} = "snapshot", and keep logs longer than '
    "XA transactions stay prepared ({why})",
    cause="The rows of a prepared XA transaction are in the log where it was prepared. That log "
    "was deleted before the transaction was committed.",
    example={
        "xids": ("X'6f6e65',X'',1",),
        "why": "source db1:3306: the server does not have binlog.000007",
    },
)
PREPARED_BEFORE = notice(
    "S452",
    "{server}: XA transactions were prepared before the stream begins, so it does not have "
    "their rows: XA COMMIT of one of them will stop it ({xids})",
    "commit or roll back these transactions, then start",
    cause="The rows of a prepared XA transaction are in the log before the start of the stream, "
    "and its XA COMMIT comes after it.",
    example={"xids": ("X'6f6e65',X'',1",)},
)
PROFILE_CHANGED = configuration_error(
    "C606",
    'envelope.profile is "{now}", but the topics of the prefix {prefix} hold records of the '
    'profile "{before}"',
    "choose another kafka.topic_prefix, or the profile of the topics",
    cause="Consumers of one topic cannot tell the values of two profiles apart.",
    example={"now": "debezium", "before": "exact"},
)
