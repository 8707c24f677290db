"""The configuration: its file, the environment, secrets, single values, and choices."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_REFERENCE: dict[str, object] = {"reference": "binlog-connector config"}

_FILE: dict[str, object] = {"path": "connector.toml", **_REFERENCE}

UNREADABLE = ErrorCode(
    "C101",
    "{path}: cannot read the configuration: {said}",
    "give the path of a file such as `{reference}` prints",
    end=End.CONFIGURATION,
    cause="The file does not exist, or this user may not read it.",
    example={**_FILE, "said": "No such file or directory"},
)

NOT_TOML = ErrorCode(
    "C102",
    "{path}: not valid TOML: {said}",
    "`{reference}` shows how it is written",
    end=End.CONFIGURATION,
    cause="The file breaks the rules of TOML. Texts stand in quotes, as in every TOML file.",
    example={**_FILE, "said": "Invalid value (at line 1, column 8)"},
)

_LISTS = "`{reference}` lists the keys"

_MISTYPED = "A key that does not exist is an error, because it may be one that is mistyped."

UNKNOWN_KEY = ErrorCode(
    "C103",
    "{path}: unknown key {key}",
    _LISTS,
    end=End.CONFIGURATION,
    cause=_MISTYPED,
    example={**_FILE, "key": "kafka.prot"},
)

SIMILAR_KEY = ErrorCode(
    "C104",
    "{path}: unknown key {key} (did you mean {meant}?)",
    _LISTS,
    end=End.CONFIGURATION,
    cause=_MISTYPED,
    example={**_FILE, "key": "source.pasword", "meant": "source.password"},
)

MISSING = ErrorCode(
    "C105",
    "{path}: {key} is required",
    "give it there, or set {variable}",
    end=End.CONFIGURATION,
    cause="The key has no default, because no value would fit every pipeline.",
    example={
        "path": "connector.toml",
        "key": "source.server_id",
        "variable": "BINLOG_CONNECTOR_SOURCE__SERVER_ID",
    },
)

WRONG_VALUE = ErrorCode(
    "C106",
    "{path}: {key}: {said}",
    "`{reference}` explains the key",
    end=End.CONFIGURATION,
    cause="The value has another type than the key, or is out of its range.",
    example={
        **_FILE,
        "key": "source.server_id",
        "said": "Input should be greater than or equal to 1",
    },
)

SEVERAL = ErrorCode(
    "C107",
    "{path}: {count} settings are wrong:{problems:lines}",
    end=End.CONFIGURATION,
    cause="Each line has a code of its own.",
    example={"path": "connector.toml", "count": 2, "problems": ["[C103] …", "[C105] …"]},
)

_VARIABLES = "Environment variables have priority over the file, and are checked like it."

UNKNOWN_VARIABLE = ErrorCode(
    "C108",
    "environment variable {variable}: there is no key {key}",
    _LISTS,
    end=End.CONFIGURATION,
    cause=_VARIABLES + " " + _MISTYPED,
    example={**_REFERENCE, "variable": "BINLOG_CONNECTOR_KAFKA__PROT", "key": "kafka.prot"},
)

SIMILAR_VARIABLE = ErrorCode(
    "C109",
    "environment variable {variable}: there is no key {key} (did you mean {meant}?)",
    _LISTS,
    end=End.CONFIGURATION,
    cause=_VARIABLES + " " + _MISTYPED,
    example={
        **_REFERENCE,
        "variable": "BINLOG_CONNECTOR_SORCE__HOST",
        "key": "sorce.host",
        "meant": "source.host",
    },
)

NOT_JSON = ErrorCode(
    "C110",
    "environment variable {variable}: not JSON",
    'write a list like ["first", "second"], and a section like {{"key": "value"}}',
    end=End.CONFIGURATION,
    cause="A list or a section has more than one value. As a variable it is written in JSON.",
    example={"variable": "BINLOG_CONNECTOR_SOURCE__TABLES"},
)

UNFIT_VALUE = ErrorCode(
    "C120",
    "{path}: {key}: {why}",
    "`{reference}` explains the key",
    end=End.CONFIGURATION,
    frame=True,
    cause="A check of the product refuses the value. The code that is shown is that of the check.",
    example={
        **_FILE,
        "key": "source",
        "why": "give one of password, password_file and password_command",
    },
)

UNFIT_TOGETHER = ErrorCode(
    "C191",
    "{path}: {why}",
    "`{reference}` explains the keys",
    end=End.CONFIGURATION,
    frame=True,
    cause="Keys of two sections do not go together. The code that is shown is that of the check.",
    example={
        **_FILE,
        "why": 'envelope.value_format = "avro" needs the URLs of a schema registry',
        "reference": "binlog-connector config",
    },
)

PASSWORD_FILE = ErrorCode(
    "C111",
    "{key} {path}: {said}",
    "name a file that this user may read",
    end=End.CONFIGURATION,
    cause="The password is read from a file, which does not exist or is not readable.",
    example={
        "key": "source.password_file",
        "path": "/run/secrets/mysql",
        "said": "No such file or directory",
    },
)

READABLE_BY_ALL = ErrorCode(
    "C112",
    "{path}: every user of this machine may read {keys} there",
    "chmod o-r {path}",
    end=End.LOGGED,
    cause="The file holds a password, and its mode lets every user of the machine read it.",
    example={"path": "connector.toml", "keys": ["source.password"]},
)

PASSWORD_COMMAND = ErrorCode(
    "C113",
    "{key}: {program}: {said}",
    "name a program that this user may start, with its path; there is no shell",
    end=End.CONFIGURATION,
    cause="The password is written by a program, which does not exist or cannot be started.",
    example={
        "key": "source.password_command",
        "program": "aws",
        "said": "No such file or directory",
    },
)

PASSWORD_COMMAND_FAILED = ErrorCode(
    "C114",
    "{key}: {program} ended with exit code {exit_code}",
    "call it as this user, with this environment: what it says is not shown here, because it may "
    "be the password",
    end=End.RETRIED,
    cause="The program that writes the password ended with an error.",
    example={"key": "source.password_command", "program": "aws", "exit_code": 255},
)

PASSWORD_COMMAND_SLOW = ErrorCode(
    "C115",
    "{key}: {program} has not ended within {seconds} s",
    "call it as this user, with this environment; what it starts must end, too, or must not keep "
    "its output open",
    end=End.RETRIED,
    cause="The program that writes the password takes too long, and was killed.",
    example={"key": "source.password_command", "program": "aws", "seconds": 10.0},
)

PASSWORD_COMMAND_EMPTY = ErrorCode(
    "C116",
    "{key}: {program} has written no password",
    "let it write the password to its standard output, as UTF-8",
    end=End.RETRIED,
    cause="The program ended without an error, but its output is empty or not text.",
    example={"key": "source.password_command", "program": "aws"},
)

TWO_PASSWORDS = ErrorCode(
    "C140",
    "give one of password, password_file and password_command",
    end=End.CONFIGURATION,
    cause="It would not be clear which of the passwords is meant.",
)

TWO_SASL_PASSWORDS = ErrorCode(
    "C141",
    "give one of sasl_password, sasl_password_file and sasl_password_command",
    end=End.CONFIGURATION,
    cause="It would not be clear which of the passwords is meant.",
)

LOGIN = ErrorCode(
    "C142",
    "security_protocol {protocol} takes sasl_mechanism, sasl_username, and one of "
    "sasl_password, sasl_password_file and sasl_password_command",
    end=End.CONFIGURATION,
    cause="A login at Kafka needs all of these settings.",
    example={"protocol": "SASL_SSL"},
)

TWO_TOKENS = ErrorCode(
    "C185",
    "give one of token and token_file",
    end=End.CONFIGURATION,
    cause="It would not be clear which of the tokens is meant.",
)

SHORT_TOKEN = ErrorCode(
    "C186",
    "{key}: the token has {found} characters, and needs {least} or more",
    "take a random one, such as what `openssl rand -hex 16` prints",
    end=End.CONFIGURATION,
    cause="Everybody who has the token may change things, so it must be too long to be guessed.",
    example={"key": "metrics.token", "found": 6, "least": 16},
)

TWO_REGISTRY_PASSWORDS = ErrorCode(
    "C189",
    "registry.password and registry.password_file are both given",
    "keep one of the two",
    end=End.CONFIGURATION,
    cause="Only one password is used.",
    example={},
)

_FORM = "The value does not have the form that the key needs."

COLLECTOR = ErrorCode(
    "C117",
    "give the address of an OTLP receiver over HTTP, such as http://127.0.0.1:4318",
    end=End.CONFIGURATION,
    cause=_FORM,
)

PORT = ErrorCode(
    "C121",
    "a port is a number from 1 to 65535",
    end=End.CONFIGURATION,
    cause=_FORM,
)

ADDRESS = ErrorCode(
    "C122",
    "give HOST or HOST:PORT, an IPv6 address in brackets",
    end=End.CONFIGURATION,
    cause=_FORM,
)

LISTEN = ErrorCode(
    "C123",
    "give HOST:PORT to listen on, such as 127.0.0.1:9400",
    end=End.CONFIGURATION,
    cause=_FORM,
)

NAME = ErrorCode(
    "C124",
    "a name has ASCII letters, digits, dots, _ and - alone",
    end=End.CONFIGURATION,
    cause="The name of a pipeline is part of names in Kafka, which have no other characters.",
)

PREFIX = ErrorCode(
    "C125",
    "a prefix has ASCII letters, digits, _ and - alone",
    end=End.CONFIGURATION,
    cause="A prefix begins the names of topics. A dot separates it from the rest.",
)

TABLE = ErrorCode(
    "C126",
    '"{value}" does not name a table: write DATABASE.TABLE, * for any name',
    end=End.CONFIGURATION,
    cause="A table is named together with its database.",
    example={"value": ".orders"},
)

DATABASE = ErrorCode(
    "C127",
    '"{value}" does not name a table: write DATABASE.TABLE, * for any name (did you mean '
    '"{value}.*"?)',
    end=End.CONFIGURATION,
    cause="A table is named together with its database.",
    example={"value": "erp"},
)

START = ErrorCode(
    "C130",
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME',
    end=End.CONFIGURATION,
    cause="A new pipeline begins with a copy of the tables, or at a position in the log.",
    example={"value": "now"},
)

SIMILAR_START = ErrorCode(
    "C131",
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME '
    '(did you mean "{meant}"?)',
    end=End.CONFIGURATION,
    cause="A new pipeline begins with a copy of the tables, or at a position in the log.",
    example={"value": "snapoot", "meant": "snapshot"},
)

START_GTID = ErrorCode(
    "C132",
    '"{value}" is not gtid:SET, such as gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 or '
    "gtid:0-1-77",
    end=End.CONFIGURATION,
    cause="The set of GTIDs after which the pipeline begins is missing.",
    example={"value": "gtid"},
)

START_POSITION = ErrorCode(
    "C133",
    '"{value}" is not position:FILE:POS, such as position:binlog.000042:4',
    end=End.CONFIGURATION,
    cause="A position is the name of a log file and the byte where an event begins.",
    example={"value": "position:42"},
)

START_TIME = ErrorCode(
    "C134",
    '"{value}" is not timestamp:TIME, such as timestamp:2026-11-21T10:00:00Z',
    end=End.CONFIGURATION,
    cause="The time is written as ISO 8601 says.",
    example={"value": "timestamp:noon"},
)

COLUMN = ErrorCode(
    "C144",
    "{value!r} names no columns: write database.table.column, as in shop.users.email",
    end=End.CONFIGURATION,
    cause="Each of the three parts may have `*`, `?` and `[...]`.",
    example={"value": "users.email"},
)

MESSAGE_KEY = ErrorCode(
    "C147",
    "{value!r} is no key: write database.table:column,column, as in shop.orders:customer_id",
    end=End.CONFIGURATION,
    cause="The database and the table may have `*`, `?` and `[...]`; the columns are names.",
    example={"value": "orders.customer_id"},
)

FLAT_FIELD = ErrorCode(
    "C148",
    "{value!r} is no field of a flat record: write op, ts_ms, ts_us, ts_ns, or a field of the "
    "source, as in source.ts_ms",
    end=End.CONFIGURATION,
    cause="A row without an envelope can have the fields that an envelope has.",
    example={"value": "source.time"},
)

TOPIC = ErrorCode(
    "C150",
    "{value!r} cannot name a topic: it takes up to 249 letters, digits, dots, _ and -",
    end=End.CONFIGURATION,
    cause="Kafka allows no other characters. A route may have the names of a table in it.",
    example={"value": "shop/orders"},
)

EVENT_HEADER = ErrorCode(
    "C152",
    "{value!r} is no header of an event: write column or column:header, as in type:eventType",
    end=End.CONFIGURATION,
    cause="The value of a column is in the header of that name. The header id is always there.",
    example={"value": "type:"},
)

REGISTRY_URL = ErrorCode(
    "C188",
    "{value!r} is not the URL of a schema registry: write http://host:port or https://host:port",
    end=End.CONFIGURATION,
    cause="The URL may have a path. A user and a password are keys of their own.",
    example={"value": "registry:8081"},
)

OTLP_EXTRA = ErrorCode(
    "C118",
    "{metrics.otlp} needs more packages ({said})",
    "pip install 'binlog-connector[otel]'",
    end=End.CONFIGURATION,
    cause="Figures and spans are exported with packages of the extra `otel`.",
    example={"said": "No module named 'opentelemetry'"},
)

OTLP_PAUSE = ErrorCode(
    "C119",
    "{variable} is {value!r}, wanted milliseconds above 0",
    "correct or remove it",
    end=End.CONFIGURATION,
    cause="OpenTelemetry's variable says how often figures are exported.",
    example={"variable": "OTEL_METRIC_EXPORT_INTERVAL", "value": "60s"},
)

OF_DEBEZIUM = ErrorCode(
    "C143",
    '{key} = {value} needs profile = "debezium"',
    end=End.CONFIGURATION,
    cause=(
        "The profile `exact` has one form for each value. Decimals, for example, are text with "
        "all their digits."
    ),
    example={"key": "decimals", "value": '"double"'},
)

ONE_MASK = ErrorCode(
    "C145",
    "the mask of {columns} needs exactly one of chars, truncate and hash",
    end=End.CONFIGURATION,
    cause="A column has one text in records.",
    example={"columns": ("shop.users.email",)},
)

OF_FLAT = ErrorCode(
    "C149",
    '{key} = {value} needs shape = "flat"',
    end=End.CONFIGURATION,
    cause="An envelope tells deletes and the fields of the source by itself.",
    example={"key": "flat_deletes", "value": '"rewrite"'},
)

OWN_TOPIC = ErrorCode(
    "C151",
    "rows cannot go to topic {topic}, which holds records of the connector's own",
    end=End.CONFIGURATION,
    cause=(
        "The topics <prefix> and <prefix>.schema, .progress, .snapshot, .fences, .quarantine, "
        ".commands, .transaction and .heartbeat are those of the connector."
    ),
    example={"topic": "shop.schema"},
)

TOPIC_IN_USE = ErrorCode(
    "C153",
    "notifications cannot go to topic {topic}, which holds other records of the connector",
    end=End.CONFIGURATION,
    cause=OWN_TOPIC.cause,
    example={"topic": "shop.heartbeat"},
)

EXPANDED_TEXT = ErrorCode(
    "C154",
    'expand_payload needs value_format = "json" or "json_with_schema"',
    end=End.CONFIGURATION,
    cause=(
        "A value that is expanded is JSON. With plain, a JSON document is the value as it is, "
        "without being expanded."
    ),
)

NO_HEARTBEATS = ErrorCode(
    "C155",
    "source.heartbeat_statement needs heartbeats: delivery.heartbeat_interval_seconds is 0",
    "set delivery.heartbeat_interval_seconds to the seconds between two executions",
    end=End.CONFIGURATION,
    cause="The statement is executed with each heartbeat, and without an interval there is none.",
)

NO_REGISTRY_URLS = ErrorCode(
    "C187",
    "{key} = {value} needs the URLs of a schema registry",
    'name them: registry.urls = ["http://registry:8081"]',
    end=End.CONFIGURATION,
    cause="Records in these formats have only the id of their schema, which a registry has.",
    example={"key": "value_format", "value": '"avro"'},
)

FLAT_EVENT = ErrorCode(
    "C192",
    'value_format = "cloudevents" needs shape = "envelope"',
    end=End.CONFIGURATION,
    cause="A CloudEvent has the envelope as its data.",
)

NO_PYARROW = ErrorCode(
    "C311",
    "Arrow needs pyarrow",
    "pip install 'binlog-connector[arrow]'",
    end=End.CONFIGURATION,
    cause="Arrow is an extra of the package, which is not installed.",
)

METRICS_LISTEN = ErrorCode(
    "C603",
    "metrics.listen {listen}: {why}",
    "choose another address",
    end=End.CONFIGURATION,
    cause="Another program listens at the address, or this machine has no such address.",
    example={"listen": "127.0.0.1:9900", "why": "[Errno 98] Address already in use"},
)

SPARK_EXTRA = ErrorCode(
    "M104",
    "the job needs more packages ({said})",
    "pip install 'binlog-connector[spark]'",
    end=End.CONFIGURATION,
    cause="The Spark job needs PySpark, Arrow and more, which are in an extra.",
    example={"said": "No module named 'pyspark'"},
)

S3_EXTRA = ErrorCode(
    "M405",
    "mirror.path {path}: the job needs more packages ({said})",
    "pip install 'binlog-connector[spark,s3]'",
    end=End.CONFIGURATION,
    cause="The library that speaks to S3 is an extra, because most mirrors do not need it.",
    example={"path": "s3://bucket/mirror", "said": "No module named 'boto3'"},
)

HDFS_EXTRA = ErrorCode(
    "M422",
    "mirror.path {path}: the job needs more packages ({said})",
    "pip install 'binlog-connector[spark,hdfs]'",
    end=End.CONFIGURATION,
    cause="The library that speaks HTTP is an extra, because most mirrors do not need it.",
    example={"path": "webhdfs://namenode:9870/mirror", "said": "No module named 'urllib3'"},
)

DEMO_EXTRA = ErrorCode(
    "P301",
    "the demo needs more packages ({said})",
    "pip install 'binlog-connector[demo]'",
    end=End.CONFIGURATION,
    cause="The demo starts Kafka and Spark. What it needs for them is in an extra.",
    example={"said": "No module named 'deltalake'"},
)

VERIFY_EXTRA = ErrorCode(
    "V101",
    "verify needs more packages ({said})",
    "pip install 'binlog-connector[spark]'",
    end=End.CONFIGURATION,
    cause="The files of a mirror are read with packages of the extra `spark`. Java is not needed.",
    example={"said": "No module named 'pyarrow'"},
)
