"""Requests to a running pipeline."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

TOO_LARGE = ErrorCode(
    "R101",
    "the request has {size} bytes, of {limit} at most",
    "ask for fewer tables at a time",
    end=End.CONFIGURATION,
    cause="A request names each table that is to be copied, and its size is limited.",
    example={"size": 300_000, "limit": 262_144},
)

_ANYBODY = (
    "Every account with the right to write to the topic of commands can make a request, so a "
    "request is not trusted. This one is not done, and the stream goes on."
)

SIZE = ErrorCode(
    "R111",
    "it has {size} bytes, of {limit} at most",
    end=End.LOGGED,
    cause=_ANYBODY,
    example={"size": 300_000, "limit": 262_144},
)

NOT_JSON = ErrorCode("R112", "it is not JSON", end=End.LOGGED, cause=_ANYBODY)

NO_COMMAND = ErrorCode(
    "R113", "it is not a JSON object with a command", end=End.LOGGED, cause=_ANYBODY
)

UNKNOWN_KEYS = ErrorCode(
    "R114",
    "it has unknown keys: {keys}",
    end=End.LOGGED,
    cause="A newer version may mean something by these keys, which must not be ignored.",
    example={"keys": ["filter"]},
)

NO_TABLE = ErrorCode(
    "R115", "it names a table that no server can have", end=End.LOGGED, cause=_ANYBODY
)

KEY_NOT_TEXT = ErrorCode("R116", "key is not a text", end=End.LOGGED, cause=_ANYBODY)

WHERE_NOT_TEXT = ErrorCode(
    "R117",
    "where is not a text of {limit} characters at most",
    end=End.LOGGED,
    cause=_ANYBODY,
    example={"limit": 4096},
)

TABLES_NOT_PAIRS = ErrorCode(
    "R118", "tables is not a list of pairs of names", end=End.LOGGED, cause=_ANYBODY
)

KEYS_NOT_TEXTS = ErrorCode(
    "R120",
    "keys is not a list of {keys} texts at most, of {characters} characters together",
    end=End.LOGGED,
    cause=_ANYBODY,
    example={"keys": 500, "characters": 98_304},
)

KEYS_ALONE = ErrorCode(
    "R121", "it has keys, and not one table and a condition", end=End.LOGGED, cause=_ANYBODY
)

UNKNOWN_COMMAND = ErrorCode("R119", "its command is not known", end=End.LOGGED, cause=_ANYBODY)

NO_SIGNAL = ErrorCode(
    "R122",
    "it is not a JSON object with a type, and an object as its data",
    end=End.LOGGED,
    cause=_ANYBODY,
)

UNKNOWN_SIGNAL = ErrorCode(
    "R123",
    "its type is none of {known}",
    end=End.LOGGED,
    cause="Other signals of Debezium have no meaning here.",
    example={"known": ("execute-snapshot", "log")},
)

SET_POSITION = ErrorCode(
    "R130",
    "the position of a stream is not changed by a signal",
    "give the pipeline another name, and the position as {source.start}",
    end=End.LOGGED,
    cause=(
        "Changes would be left out or repeated, and each account that may write a signal could do "
        "that."
    ),
)

SNAPSHOT_TYPE = ErrorCode(
    "R124",
    "its snapshot type is {type}, and not {known}",
    end=End.LOGGED,
    cause="Copies run beside the stream (INCREMENTAL), or the stream waits for them (BLOCKING). "
    "Both are stopped by a signal of type INCREMENTAL, and only INCREMENTAL ones pause.",
    example={"type": "FULL", "known": ("INCREMENTAL", "BLOCKING")},
)

DATA_COLLECTIONS = ErrorCode(
    "R125",
    "data-collections is not a list of names such as shop.orders",
    end=End.LOGGED,
    cause="Each table is named. Regular expressions of others are not evaluated here.",
)

ADDITIONAL_CONDITIONS = ErrorCode(
    "R126",
    "additional-conditions is not a list of objects with data-collection and filter",
    end=End.LOGGED,
    cause=_ANYBODY,
)

SURROGATE_KEY = ErrorCode(
    "R129", "surrogate-key is not the name of a column", end=End.LOGGED, cause=_ANYBODY
)

SIGNAL_FILE = ErrorCode(
    "R128",
    "file of {signals.file} {path}: {said}",
    "let the account of the pipeline rename and remove files in that folder",
    end=End.LOGGED,
    cause=(
        "The pipeline renames the file, so that no signal is lost that is appended meanwhile. It "
        "tries again, and the stream goes on."
    ),
    example={"path": "/var/lib/cdc/signals.txt", "said": "Permission denied"},
)

NO_MESSAGE = ErrorCode("R127", "its message is not a text", end=End.LOGGED, cause=_ANYBODY)
