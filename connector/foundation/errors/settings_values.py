"""C120: the configuration: the forms of single values."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_CONFIGURATION = End.CONFIGURATION
_FORM = "The value does not have the form that the key needs."

COLLECTOR = ErrorCode(
    "C117",
    "give the address of an OTLP receiver over HTTP, such as http://127.0.0.1:4318",
    end=_CONFIGURATION,
    cause=_FORM,
)
PORT = ErrorCode(
    "C121",
    "a port is a number from 1 to 65535",
    end=_CONFIGURATION,
    cause=_FORM,
)
ADDRESS = ErrorCode(
    "C122",
    "give HOST or HOST:PORT, an IPv6 address in brackets",
    end=_CONFIGURATION,
    cause=_FORM,
)
LISTEN = ErrorCode(
    "C123",
    "give HOST:PORT to listen on, such as 127.0.0.1:9400",
    end=_CONFIGURATION,
    cause=_FORM,
)
NAME = ErrorCode(
    "C124",
    "a name has ASCII letters, digits, dots, _ and - alone",
    end=_CONFIGURATION,
    cause="The name of a pipeline is part of names in Kafka, which have no other characters.",
)
PREFIX = ErrorCode(
    "C125",
    "a prefix has ASCII letters, digits, _ and - alone",
    end=_CONFIGURATION,
    cause="A prefix begins the names of topics. A dot separates it from the rest.",
)
TABLE = ErrorCode(
    "C126",
    '"{value}" does not name a table: write DATABASE.TABLE, * for any name',
    end=_CONFIGURATION,
    cause="A table is named together with its database.",
    example={"value": ".orders"},
)
DATABASE = ErrorCode(
    "C127",
    '"{value}" does not name a table: write DATABASE.TABLE, * for any name (did you mean '
    '"{value}.*"?)',
    end=_CONFIGURATION,
    cause="A table is named together with its database.",
    example={"value": "erp"},
)
START = ErrorCode(
    "C130",
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME',
    end=_CONFIGURATION,
    cause="A new pipeline begins with a copy of the tables, or at a position in the log.",
    example={"value": "now"},
)
SIMILAR_START = ErrorCode(
    "C131",
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME '
    '(did you mean "{meant}"?)',
    end=_CONFIGURATION,
    cause="A new pipeline begins with a copy of the tables, or at a position in the log.",
    example={"value": "snapoot", "meant": "snapshot"},
)
START_GTID = ErrorCode(
    "C132",
    '"{value}" is not gtid:SET, such as gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 or '
    "gtid:0-1-77",
    end=_CONFIGURATION,
    cause="The set of GTIDs after which the pipeline begins is missing.",
    example={"value": "gtid"},
)
START_POSITION = ErrorCode(
    "C133",
    '"{value}" is not position:FILE:POS, such as position:binlog.000042:4',
    end=_CONFIGURATION,
    cause="A position is the name of a log file and the byte where an event begins.",
    example={"value": "position:42"},
)
START_TIME = ErrorCode(
    "C134",
    '"{value}" is not timestamp:TIME, such as timestamp:2026-11-21T10:00:00Z',
    end=_CONFIGURATION,
    cause="The time is written as ISO 8601 says.",
    example={"value": "timestamp:noon"},
)
COLUMN = ErrorCode(
    "C144",
    "{value!r} names no columns: write database.table.column, as in shop.users.email",
    end=_CONFIGURATION,
    cause="Each of the three parts may have `*`, `?` and `[...]`.",
    example={"value": "users.email"},
)
MESSAGE_KEY = ErrorCode(
    "C147",
    "{value!r} is no key: write database.table:column,column, as in shop.orders:customer_id",
    end=_CONFIGURATION,
    cause="The database and the table may have `*`, `?` and `[...]`; the columns are names.",
    example={"value": "orders.customer_id"},
)
FLAT_FIELD = ErrorCode(
    "C148",
    "{value!r} is no field of a flat record: write op, ts_ms, ts_us, ts_ns, or a field of the "
    "source, as in source.ts_ms",
    end=_CONFIGURATION,
    cause="A row without an envelope can have the fields that an envelope has.",
    example={"value": "source.time"},
)
TOPIC = ErrorCode(
    "C150",
    "{value!r} cannot name a topic: it takes up to 249 letters, digits, dots, _ and -",
    end=_CONFIGURATION,
    cause="Kafka allows no other characters. A route may have the names of a table in it.",
    example={"value": "shop/orders"},
)
EVENT_HEADER = ErrorCode(
    "C152",
    "{value!r} is no header of an event: write column or column:header, as in type:eventType",
    end=_CONFIGURATION,
    cause="The value of a column is in the header of that name. The header id is always there.",
    example={"value": "type:"},
)
REGISTRY_URL = ErrorCode(
    "C188",
    "{value!r} is not the URL of a schema registry: write http://host:port or https://host:port",
    end=_CONFIGURATION,
    cause="The URL may have a path. A user and a password are keys of their own.",
    example={"value": "registry:8081"},
)
