"""The configuration: its file, the environment, secrets, single values, and choices."""

from connector.foundation.errors.code import configuration_error, frame, notice, transient_error

NO_FILE = configuration_error(
    "C101",
    "{reason}",
    "give the path of a file such as `{reference}` prints",
    cause="The file does not exist, or this user may not read it.",
)
UNREADABLE = NO_FILE.because("{path}: cannot read the configuration: {said}")
URL = NO_FILE.because("a URL is given in the place of a configuration")
NOT_TOML = configuration_error(
    "C102",
    "{path}: not valid TOML: {said}",
    "`{reference}` shows how it is written",
    cause="The file breaks the rules of TOML. Texts stand in quotes, as in every TOML file.",
    example={"path": "connector.toml", "said": "Invalid value (at line 1, column 8)"},
)

UNKNOWN_KEYS = configuration_error(
    "C103",
    "{path}: unknown key {reason}",
    "`{reference}` lists the keys",
    cause="A key that does not exist is an error, because it may be one that is mistyped.",
)
UNKNOWN_KEY = UNKNOWN_KEYS.because("{key}")
SIMILAR_KEY = UNKNOWN_KEYS.because("{key} (did you mean {meant}?)", was="C104")

MISSING = configuration_error(
    "C105",
    "{path}: {key} is required",
    "give it there, or set {variable}",
    cause="The key has no default, because no value would fit every pipeline.",
    example={
        "path": "connector.toml",
        "key": "source.server_id",
        "variable": "BINLOG_CONNECTOR_SOURCE__SERVER_ID",
    },
)
WRONG_VALUE = configuration_error(
    "C106",
    "{path}: {key}: {said}",
    "`{reference}` explains the key",
    cause="The value has another type than the key, or is out of its range.",
    example={
        "path": "connector.toml",
        "key": "source.server_id",
        "said": "Input should be greater than or equal to 1",
    },
)
SEVERAL = configuration_error(
    "C107",
    "{path}: {count} settings are wrong:{problems:lines}",
    cause="Each line has a code of its own.",
    example={"path": "connector.toml", "problems": ["[C103] …", "[C105] …"]},
)

UNKNOWN_VARIABLES = configuration_error(
    "C108",
    "environment variable {variable}: there is no key {reason}",
    "`{reference}` lists the keys",
    cause="Environment variables have priority over the file, and are checked like it. A key that "
    "does not exist is an error, because it may be one that is mistyped.",
)
UNKNOWN_VARIABLE = UNKNOWN_VARIABLES.because("{key}")
SIMILAR_VARIABLE = UNKNOWN_VARIABLES.because("{key} (did you mean {meant}?)", was="C109")

NOT_JSON = configuration_error(
    "C110",
    "environment variable {variable}: not JSON",
    'write a list like ["first", "second"], and a section like {{"key": "value"}}',
    cause="A list or a section has more than one value. As a variable it is written in JSON.",
    example={"variable": "BINLOG_CONNECTOR_SOURCE__TABLES"},
)
UNFIT_VALUE = frame("{path}: {key}: {why}", "`{reference}` explains the key", was="C120")
UNFIT_BY_VARIABLE = frame(
    "{path}: {key}: {why}",
    "{variables} of the environment has priority over the file; `{reference}` explains the key",
)
UNFIT_TOGETHER = frame("{path}: {why}", "`{reference}` explains the keys", was="C191")
PASSWORD_FILE = configuration_error(
    "C111",
    "{key} {path}: {said}",
    "name a file that this user may read",
    cause="The password is read from a file, which does not exist or is not readable.",
    example={"key": "source.password_file", "path": "/run/secrets/mysql"},
)
READABLE_BY_ALL = notice(
    "C112",
    "{path}: every user of this machine may read {keys} there",
    "chmod o-r {path}",
    cause="The file holds a password, and its mode lets every user of the machine read it.",
    example={"path": "connector.toml", "keys": ["source.password"]},
)
PASSWORD_COMMAND = configuration_error(
    "C113",
    "{key}: {program}: {said}",
    "name a program that this user may start, with its path; there is no shell",
    cause="The password is written by a program, which does not exist or cannot be started.",
    example={"key": "source.password_command", "program": "aws"},
)

PASSWORD_PROGRAM = transient_error(
    "C197",
    "{key}: {program} {reason}",
    cause="The program that writes the password failed, took too long, or wrote nothing.",
)
PASSWORD_COMMAND_FAILED = PASSWORD_PROGRAM.because(
    "ended with exit code {exit_code}; call it as this user, with this environment: what it says "
    "is not shown here, because it may be the password",
    was="C114",
)
PASSWORD_COMMAND_SLOW = PASSWORD_PROGRAM.because(
    "has not ended within {seconds} s; call it as this user, with this environment; what it "
    "starts must end, too, or must not keep its output open",
    was="C115",
)
PASSWORD_COMMAND_EMPTY = PASSWORD_PROGRAM.because(
    "has written no password; let it write the password to its standard output, as UTF-8",
    was="C116",
)

ONE_SECRET = configuration_error(
    "C196",
    "{reason}",
    cause="It would not be clear which of them is meant.",
)
TWO_PASSWORDS = ONE_SECRET.because(
    "give one of password, password_file and password_command", was="C140"
)
TWO_SASL_PASSWORDS = ONE_SECRET.because(
    "give one of sasl_password, sasl_password_file and sasl_password_command", was="C141"
)
TWO_CATALOG_LOGINS = ONE_SECRET.because(
    "give one of token, token_file, token_command, client_id and sigv4_service in [iceberg], and "
    "one of client_secret and client_secret_file"
)
OTHER_PASSWORD = ONE_SECRET.because(
    "the URL or --password-env has one password, and the environment another one in {variables}; "
    "leave the first one out, or unset the variable"
)
TWO_TOKENS = ONE_SECRET.because("give one of token and token_file", was="C185")
TWO_REGISTRY_PASSWORDS = ONE_SECRET.because(
    "registry.password and registry.password_file are both given; keep one of the two", was="C189"
)

LOGIN = configuration_error(
    "C142",
    "security_protocol {protocol} takes sasl_mechanism, sasl_username, and one of "
    "sasl_password, sasl_password_file and sasl_password_command",
    cause="A login at Kafka needs all of these settings.",
    example={"protocol": "SASL_SSL"},
)
FOLDER = configuration_error(
    "C253",
    "bootstrap_servers names a folder, and {reason}",
    "keep the folder alone, without security_protocol; or name brokers alone",
    cause="A log in a folder has no brokers, and no network: the rights of the folder say which "
    "users may use it.",
)
FOLDER_ALONE = FOLDER.because("more than the folder: {servers}")
FOLDER_LOGIN = FOLDER.because("security_protocol is {protocol}")
SHORT_TOKEN = configuration_error(
    "C186",
    "{key}: the token has {found} characters, and needs {least} or more",
    "take a random one, such as what `openssl rand -hex 16` prints",
    cause="Everybody who has the token may change things, so it must be too long to be guessed.",
    example={"key": "metrics.token", "found": 6, "least": 16},
)

WRONG_FORM = configuration_error(
    "C193",
    "{reason}",
    cause="The value does not have the form that the key needs.",
)
COLLECTOR = WRONG_FORM.because(
    "give the address of an OTLP receiver over HTTP, such as http://127.0.0.1:4318, without a user "
    "and a password: OTEL_EXPORTER_OTLP_HEADERS can hold them",
    was="C117",
)
PORT = WRONG_FORM.because("a port is a number from 1 to 65535", was="C121")
ADDRESS = WRONG_FORM.because("give HOST or HOST:PORT, an IPv6 address in brackets", was="C122")
FOLDER_URL = WRONG_FORM.because(
    '"{value}" does not name a folder: write file:// and its absolute path, as in '
    "file:///var/lib/cdc/log"
)
LISTEN = WRONG_FORM.because("give HOST:PORT to listen on, such as 127.0.0.1:9400", was="C123")
NAME = WRONG_FORM.because("a name has ASCII letters, digits, dots, _ and - alone", was="C124")
PREFIX = WRONG_FORM.because("a prefix has ASCII letters, digits, _ and - alone", was="C125")
TABLE = WRONG_FORM.because(
    '"{value}" does not name a table: write DATABASE.TABLE, * for any name', was="C126"
)
DATABASE = WRONG_FORM.because(
    '"{value}" does not name a table: write DATABASE.TABLE, * for any name (did you mean '
    '"{value}.*"?)',
    was="C127",
)
START = WRONG_FORM.because(
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME',
    was="C130",
)
SIMILAR_START = WRONG_FORM.because(
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME '
    '(did you mean "{meant}"?)',
    was="C131",
)
START_GTID = WRONG_FORM.because(
    '"{value}" is not gtid:SET, such as gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 or '
    "gtid:0-1-77",
    was="C132",
)
START_POSITION = WRONG_FORM.because(
    '"{value}" is not position:FILE:POS, such as position:binlog.000042:4', was="C133"
)
START_TIME = WRONG_FORM.because(
    '"{value}" is not timestamp:TIME, such as timestamp:2026-11-21T10:00:00Z', was="C134"
)
COLUMN = WRONG_FORM.because(
    "{value!r} names no columns: write database.table.column, as in shop.users.email", was="C144"
)
MESSAGE_KEY = WRONG_FORM.because(
    "{value!r} is no key: write database.table:column,column, as in shop.orders:customer_id",
    was="C147",
)
FLAT_FIELD = WRONG_FORM.because(
    "{value!r} is no field of a flat record: write op, ts_ms, ts_us, ts_ns, or a field of the "
    "source, as in source.ts_ms",
    was="C148",
)
TOPIC = WRONG_FORM.because(
    "{value!r} cannot name a topic: it takes up to 249 letters, digits, dots, _ and -", was="C150"
)
EVENT_HEADER = WRONG_FORM.because(
    "{value!r} is no header of an event: write column or column:header, as in type:eventType",
    was="C152",
)
REGISTRY_URL = WRONG_FORM.because(
    "give the URL of a schema registry, http://host:port or https://host:port, without a user and "
    "a password: registry.username and registry.password can hold them",
    was="C188",
)

EXTRA = configuration_error(
    "C198",
    "{reason}",
    "pip install 'binlog-connector[{extra}]'",
    cause="What few people need is an extra of the package.",
)
OTLP_EXTRA = EXTRA.because("{metrics.otlp} needs more packages ({said})", extra="otel", was="C118")
NO_PYARROW = EXTRA.because("Arrow needs pyarrow", extra="arrow", was="C311")
SPARK_EXTRA = EXTRA.because("the job needs more packages ({said})", extra="spark", was="M104")
S3_EXTRA = EXTRA.because(
    "mirror.path {path}: the job needs more packages ({said})", extra="spark,s3", was="M405"
)
AZURE_EXTRA = EXTRA.because(
    "mirror.path {path}: the job needs more packages ({said})", extra="spark,azure"
)
GCS_EXTRA = EXTRA.because(
    "mirror.path {path}: the job needs more packages ({said})", extra="spark,gcs"
)
SIGV4_EXTRA = EXTRA.because(
    "iceberg.sigv4_service: the job needs more packages ({said})", extra="spark,s3"
)
HDFS_EXTRA = EXTRA.because(
    "mirror.path {path}: the job needs more packages ({said})", extra="spark,hdfs", was="M422"
)
VERIFY_EXTRA = EXTRA.because("verify needs more packages ({said})", extra="spark", was="V101")
POSTGRESQL_EXTRA = EXTRA.because(
    "a target of PostgreSQL needs more packages ({said})", extra="spark,postgresql"
)
CLICKHOUSE_EXTRA = EXTRA.because(
    "a target of ClickHouse needs more packages ({said})", extra="spark,clickhouse"
)
DEMO_EXTRA = EXTRA.because("the demo needs more packages ({said})", extra="demo", was="P301")

OTLP_PAUSE = configuration_error(
    "C119",
    "{variable} is {value!r}, wanted milliseconds above 0",
    "correct or remove it",
    cause="OpenTelemetry's variable says how often figures are exported.",
    example={"variable": "OTEL_METRIC_EXPORT_INTERVAL", "value": "60s"},
)

CONTRADICTION = configuration_error(
    "C194",
    "{reason}",
    cause="A key has a meaning only beside certain values of others.",
)
OF_DEBEZIUM = CONTRADICTION.because('{key} = {value} needs profile = "debezium"', was="C143")
ONE_MASK = CONTRADICTION.because(
    "the mask of {columns} needs exactly one of chars, truncate and hash", was="C145"
)
OF_FLAT = CONTRADICTION.because('{key} = {value} needs shape = "flat"', was="C149")
EXPANDED_TEXT = CONTRADICTION.because(
    'expand_payload needs value_format = "json" or "json_with_schema"', was="C154"
)
FLAT_EVENT = CONTRADICTION.because(
    'value_format = "cloudevents" needs shape = "envelope"', was="C192"
)

TOPIC_TAKEN = configuration_error(
    "C195",
    "{reason}",
    cause="The topics <prefix> and <prefix>.schema, .progress, .snapshot, .fences, .quarantine, "
    ".commands, .transaction and .heartbeat are those of the connector.",
)
OWN_TOPIC = TOPIC_TAKEN.because(
    "rows cannot go to topic {topic}, which holds records of the connector's own", was="C151"
)
TOPIC_IN_USE = TOPIC_TAKEN.because(
    "notifications cannot go to topic {topic}, which holds other records of the connector",
    was="C153",
)

NO_HEARTBEATS = configuration_error(
    "C155",
    "source.heartbeat_statement needs heartbeats: delivery.heartbeat_interval_seconds is 0",
    "set delivery.heartbeat_interval_seconds to the seconds between two executions",
    cause="The statement is executed with each heartbeat, and without an interval there is none.",
)
FULL_PACE = configuration_error(
    "C250",
    'snapshot.pace = "full" does not look at running threads, and snapshot.threads_running_max '
    "limits them",
    "keep one of the two",
    cause="At full pace, only snapshot.pause_query holds reading back.",
)
LOADED_BY_MIRROR = configuration_error(
    "C252",
    'snapshot.to = "mirror" does not go with {key} = {value}',
    'set snapshot.to = "topics", or leave {key} at its default',
    cause="The Spark job reads the rows of the first copy itself, and no topic has them. So "
    "nothing makes records of them, and nobody is told of them.",
    example={"key": "envelope.profile", "value": "debezium"},
)
NO_REGISTRY_URLS = configuration_error(
    "C187",
    "{key} = {value} needs the URLs of a schema registry",
    'name them: registry.urls = ["http://registry:8081"]',
    cause="Records in these formats have only the id of their schema, which a registry has.",
    example={"key": "value_format", "value": '"avro"'},
)
METRICS_LISTEN = configuration_error(
    "C603",
    "metrics.listen {listen}: {why}",
    "choose another address",
    cause="Another program listens at the address, or this machine has no such address.",
    example={"listen": "127.0.0.1:9900", "why": "[Errno 98] Address already in use"},
)
