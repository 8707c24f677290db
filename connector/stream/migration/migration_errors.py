"""The configuration and the offsets of Debezium's connectors."""

from connector.foundation.errors.code import ErrorCode, configuration_error, notice

_PATH: dict[str, object] = {"path": "connector.json"}
UNREADABLE = configuration_error(
    "C801",
    "{path}: cannot read the file: {said}",
    "give the path of a file that this user may read",
    cause="The file does not exist, or this user may not read it.",
    example={"path": "connector.json"},
)
NOT_A_CONNECTOR = configuration_error(
    "C802",
    "{path} is not the JSON of a connector: {why}",
    "save what `GET /connectors/NAME` or `GET /connectors/NAME/config` of Kafka Connect answers",
    cause="The file has a map of properties, alone, or as `config` with a `name`, and no more.",
    example={**_PATH, "why": "Expecting value: line 1 column 1 (char 0)"},
)
OTHER_CONNECTOR = configuration_error(
    "C803",
    "{path}: connector.class {found} is not Debezium's connector for MySQL or MariaDB",
    "give the configuration of io.debezium.connector.mysql.MySqlConnector or "
    "io.debezium.connector.mariadb.MariaDbConnector",
    cause="Only these connectors read what this program reads.",
    example={**_PATH, "found": "io.debezium.connector.postgresql.PostgresConnector"},
)
NO_PROPERTY = configuration_error(
    "C804",
    "{path}: {name} is missing",
    "{advice}",
    cause="A pipeline needs the value, and has no default for it.",
    example={
        **_PATH,
        "name": "schema.history.internal.kafka.bootstrap.servers",
        "advice": "give --bootstrap-servers",
    },
)
PATTERN = configuration_error(
    "C805",
    "{path}: {name}: {pattern!r} cannot be written with *, ? and [...]: {why}",
    "name what it stands for, one by one, in the JSON file, and import it again",
    cause="Debezium has regular expressions, this program has patterns. What is followed must be "
    "neither more nor less, so nothing was written.",
    example={**_PATH, "name": "table.include.list", "pattern": r"shop\.(?!tmp_).*", "why": "(?!"},
)
REFERENCE = configuration_error(
    "C806",
    "{path}: {name} is {value}, which only Kafka Connect can look up",
    "write the value itself into the JSON file; only a password may stay a reference",
    cause="A configuration provider of Kafka Connect has the value.",
    example={**_PATH, "name": "database.hostname", "value": "${file:/opt/db.properties:host}"},
)
VALUE = configuration_error(
    "C807",
    "{path}: {name} = {value} has no counterpart; these have one: {known}",
    "change the property in the JSON file, and what reads the records, or stay with Debezium",
    cause="Records would look different, and what reads them would not understand them.",
    example={
        **_PATH,
        "name": "time.precision.mode",
        "value": "structured",
        "known": ["connect", "isostring"],
    },
)
NOT_OFFSETS = configuration_error(
    "C811",
    "{offsets}: not the offset of a connector: {why}",
    "save what `GET /connectors/NAME/offsets` of Kafka Connect answers, or lines KEY, tab, VALUE "
    "of the offsets topic",
    cause="The text does not have the form that Kafka Connect and Debezium give offsets.",
    example={"why": "file is missing"},
)
NO_OFFSET = configuration_error(
    "C812",
    "{offsets} has no offset of connector {name} with topic.prefix {prefix}",
    "name the topic of offset.storage.topic, or of offsets.storage.topic if the connector has it; "
    "without offsets, leave out --offsets, and the tables are copied",
    cause="The connector has another name, has never run, or its offsets were deleted.",
    example={"name": "shop-connector"},
)
UNFINISHED_SNAPSHOT = configuration_error(
    "C813",
    "{offsets}: connector {name} has not finished its snapshot ({snapshot})",
    "wait for its end, or leave out --offsets, and the tables are copied",
    cause="Some rows have not been copied, and the log does not have them.",
    example={"name": "shop-connector", "snapshot": "true"},
)
NO_COUNTERPART = notice(
    "C821",
    "{name} has no counterpart: {meaning}",
    cause="The configuration was written without it. A comment there says the same.",
    example={"name": "include.query", "meaning": "records have no query"},
)
UNKNOWN_PROPERTY = notice(
    "C822",
    "{name} is unknown here, and was left out",
    cause="The property is mistyped, that of another product, or newer than this program.",
    example={"name": "tables.include"},
)
OTHER_LOG = ErrorCode(
    "S313",
    "{server}: the log does not have {read} of a transaction as another client would read it",
    "let the other program go on for a moment and stop it again, on this server; an offset in an "
    "XA transaction cannot be taken over",
    cause="The position is in a log of another server or before a reset, or it lies in an XA "
    "transaction: Debezium publishes its rows before XA COMMIT.",
    example={"read": "binlog.000042:1187 and 3 events and 2 rows"},
)
