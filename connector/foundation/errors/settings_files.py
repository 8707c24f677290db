"""C100: the configuration: its file and the environment."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_CONFIGURATION = End.CONFIGURATION
_LISTS = "`{reference}` lists the keys"
_REFERENCE: dict[str, object] = {"reference": "binlog-connector config"}
_FILE: dict[str, object] = {"path": "connector.toml", **_REFERENCE}
_MISTYPED = "A key that does not exist is an error, because it may be one that is mistyped."
_VARIABLES = "Environment variables have priority over the file, and are checked like it."

UNREADABLE = ErrorCode(
    "C101",
    "{path}: cannot read the configuration: {said}",
    "give the path of a file such as `{reference}` prints",
    end=_CONFIGURATION,
    cause="The file does not exist, or this user may not read it.",
    example={**_FILE, "said": "No such file or directory"},
)
NOT_TOML = ErrorCode(
    "C102",
    "{path}: not valid TOML: {said}",
    "`{reference}` shows how it is written",
    end=_CONFIGURATION,
    cause="The file breaks the rules of TOML. Texts stand in quotes, as in every TOML file.",
    example={**_FILE, "said": "Invalid value (at line 1, column 8)"},
)
UNKNOWN_KEY = ErrorCode(
    "C103",
    "{path}: unknown key {key}",
    _LISTS,
    end=_CONFIGURATION,
    cause=_MISTYPED,
    example={**_FILE, "key": "kafka.prot"},
)
SIMILAR_KEY = ErrorCode(
    "C104",
    "{path}: unknown key {key} (did you mean {meant}?)",
    _LISTS,
    end=_CONFIGURATION,
    cause=_MISTYPED,
    example={**_FILE, "key": "source.pasword", "meant": "source.password"},
)
MISSING = ErrorCode(
    "C105",
    "{path}: {key} is required",
    "give it there, or set {variable}",
    end=_CONFIGURATION,
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
    end=_CONFIGURATION,
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
    end=_CONFIGURATION,
    cause="Each line has a code of its own.",
    example={"path": "connector.toml", "count": 2, "problems": ["[C103] …", "[C105] …"]},
)
UNKNOWN_VARIABLE = ErrorCode(
    "C108",
    "environment variable {variable}: there is no key {key}",
    _LISTS,
    end=_CONFIGURATION,
    cause=_VARIABLES + " " + _MISTYPED,
    example={**_REFERENCE, "variable": "BINLOG_CONNECTOR_KAFKA__PROT", "key": "kafka.prot"},
)
SIMILAR_VARIABLE = ErrorCode(
    "C109",
    "environment variable {variable}: there is no key {key} (did you mean {meant}?)",
    _LISTS,
    end=_CONFIGURATION,
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
    end=_CONFIGURATION,
    cause="A list or a section has more than one value. As a variable it is written in JSON.",
    example={"variable": "BINLOG_CONNECTOR_SOURCE__TABLES"},
)
UNFIT_VALUE = ErrorCode(
    "C120",
    "{path}: {key}: {why}",
    "`{reference}` explains the key",
    end=_CONFIGURATION,
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
    end=_CONFIGURATION,
    frame=True,
    cause="Keys of two sections do not go together. The code that is shown is that of the check.",
    example={
        **_FILE,
        "why": 'envelope.value_format = "avro" needs the URLs of a schema registry',
        "reference": "binlog-connector config",
    },
)
