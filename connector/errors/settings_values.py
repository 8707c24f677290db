"""C150: values of settings, and the files that settings name."""

from __future__ import annotations

from connector.errors.code import End, ErrorCode

_END = End.CONFIGURATION
_PEM = "name a PEM file that this user may read"
_READABLE = "name a file that this user may read"
_UNREADABLE = "The file does not exist, is not readable for this user, or is of another kind."

PORT = ErrorCode(
    "C151",
    "a port is a number from 1 to {last}",
    end=_END,
    cause="The number after the colon is not one that a server can listen on.",
    example={"last": 65535},
)
ADDRESS = ErrorCode(
    "C152",
    "give HOST or HOST:PORT, an IPv6 address in brackets",
    end=_END,
    cause="The value has not the form of an address.",
)
LISTEN_ADDRESS = ErrorCode(
    "C153",
    "give HOST:PORT to listen on, such as 127.0.0.1:9400",
    end=_END,
    cause="The value has not the form of an address with a port.",
)
PIPELINE_NAME = ErrorCode(
    "C154",
    "a name has ASCII letters, digits, dots, _ and - alone",
    end=_END,
    cause="The name is part of Kafka's transactional.id and of the keys of records.",
)
TOPIC_PREFIX = ErrorCode(
    "C155",
    "a prefix has ASCII letters, digits, _ and - alone",
    end=_END,
    cause="The prefix is the first part of the names of topics, which a dot ends.",
)
TABLE_PATTERN = ErrorCode(
    "C156",
    '"{value}" does not name a table',
    "write DATABASE.TABLE, * for any name",
    end=_END,
    cause="A pattern names databases and tables, with a dot between them.",
    example={"value": ".orders"},
)
TABLE_PATTERN_MEANT = ErrorCode(
    "C157",
    '"{value}" does not name a table',
    'write DATABASE.TABLE, * for any name (did you mean "{meant}"?)',
    end=_END,
    cause="A pattern names databases and tables, with a dot between them.",
    example={"value": "erp", "meant": "erp.*"},
)
START = ErrorCode(
    "C158",
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME',
    end=_END,
    cause="The first word says what kind of place the stream begins at.",
    example={"value": "yesterday"},
)
START_MEANT = ErrorCode(
    "C159",
    '"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or timestamp:TIME '
    '(did you mean "{meant}"?)',
    end=_END,
    cause="The first word says what kind of place the stream begins at.",
    example={"value": "snapoot", "meant": "snapshot"},
)
START_GTID = ErrorCode(
    "C160",
    '"{value}" is not gtid:SET, such as gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 or '
    "gtid:0-1-77",
    end=_END,
    cause="GTIDs follow the word.",
    example={"value": "gtid"},
)
START_POSITION = ErrorCode(
    "C161",
    '"{value}" is not position:FILE:POS, such as position:binlog.000042:4',
    end=_END,
    cause="A file of the log and a number follow the word.",
    example={"value": "position:binlog.000042"},
)
START_TIMESTAMP = ErrorCode(
    "C162",
    '"{value}" is not timestamp:TIME, such as timestamp:2026-11-21T10:00:00Z',
    end=_END,
    cause="A time of ISO 8601 follows the word.",
    example={"value": "timestamp:yesterday"},
)
TWO_PASSWORDS = ErrorCode(
    "C171",
    "give either password or password_file, not both",
    end=_END,
    cause="Two values are given for one password.",
)
TWO_SASL_PASSWORDS = ErrorCode(
    "C172",
    "give either sasl_password or sasl_password_file, not both",
    end=_END,
    cause="Two values are given for one password.",
)
LOGIN_NOT_WHOLE = ErrorCode(
    "C173",
    "security_protocol {protocol} takes sasl_mechanism, sasl_username, and sasl_password or "
    "sasl_password_file",
    end=_END,
    cause="A login to Kafka has a mechanism, a user and a password.",
    example={"protocol": "SASL_SSL"},
)
PASSWORD_FILE = ErrorCode(
    "C181",
    "{source.password_file} {path}: {why}",
    _READABLE,
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/run/secrets/source", "why": "No such file or directory"},
)
SASL_PASSWORD_FILE = ErrorCode(
    "C182",
    "{kafka.sasl_password_file} {path}: {why}",
    _READABLE,
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/run/secrets/kafka", "why": "No such file or directory"},
)
TLS_CA = ErrorCode(
    "C183",
    "{source.tls.ca} {path}: {why}",
    _PEM,
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/etc/ca.pem", "why": "No such file or directory"},
)
TLS_CERTIFICATE = ErrorCode(
    "C184",
    "{source.tls.certificate} {path}: {why}",
    _PEM,
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/etc/client.pem", "why": "No such file or directory"},
)
