"""The formats of keys and values: their names, the form of a key by its bytes, and flat fields.

The formats are those of the profile `debezium`. Rows without an envelope can have fields with the
names of Debezium's `add.fields`. JSON that another program may have written is read here, too, and
logs write a time as records do.
"""

import json
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

KeyFormat: TypeAlias = Literal["json", "json_with_schema", "avro", "json_schema"]
ValueFormat: TypeAlias = Literal["json", "json_with_schema", "avro", "json_schema", "cloudevents"]
# Those whose schemas a registry has.
REGISTERED: Final = ("avro", "json_schema")
# How the subjects of a registry are named, as Confluent's TopicNameStrategy, RecordNameStrategy and
# TopicRecordNameStrategy do.
SubjectStrategy: TypeAlias = Literal["topic", "record", "topic_record"]


def utc_text(seconds: float) -> str:
    """Return a time in seconds since 1970, as 2018-06-20T13:37:03Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_document(text: str | bytes) -> Any:
    """Return the value of a JSON text; raises ValueError for any other text.

    Python's reader ends with a RecursionError where a text is nested deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        reason = "it is nested too deeply"
        raise ValueError(reason) from error


# Of Confluent's converters: a zero, and the id of a schema in a registry.
_MAGIC: Final = b"\x00"
_HEAD_BYTES: Final = 5


def key_form(key: bytes) -> KeyFormat | None:
    """Return the form of a key; None for one that no `key_format` writes, such as bare text.

    https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html
    """
    if key.startswith(_MAGIC) and len(key) > _HEAD_BYTES:
        # Avro has no braces around a record.
        return "avro" if _json_object(key[_HEAD_BYTES:]) is None else "json_schema"
    found = _json_object(key)
    if found is None:
        return None
    # The columns of a key are no objects, whatever their names are.
    has_schema = found.keys() == {"schema", "payload"} and isinstance(found["schema"], dict)
    return "json_with_schema" if has_schema else "json"


def _json_object(data: bytes) -> dict[str, object] | None:
    try:
        found = read_document(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


# Those of the envelope.
OF_ENVELOPE = ("op", "ts_ms", "ts_us", "ts_ns")
_OF_SOURCE = (
    "version", "connector", "name", "ts_ms", "snapshot", "db", "sequence", "ts_us", "ts_ns",
    "table", "server_id", "gtid", "file", "pos", "row", "thread", "query",
)  # fmt: skip
# A field of the source can be named without it, unless the envelope has one of this name.
FLAT_FIELDS = frozenset({*OF_ENVELOPE, *_OF_SOURCE, *(f"source.{name}" for name in _OF_SOURCE)})
