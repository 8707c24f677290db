"""The JSON text of an event's payload becomes a value with a schema of its own.

::

    text    {"id": 1, "tags": ["a"], "note": null}
    value   {"id":1,"tags":["a"]}
    schema  {"type":"struct","fields":[{"type":"int32","optional":true,"field":"id"},…],…}

This is `table.expand.json.payload` of Debezium's EventRouter, whose rules these are: the elements
of an array have one type; the objects of an array have the fields of all of them; a field that is
NULL, or an empty array, is left out. A text that does not fit stays a text.

https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from connector.codec.json_strings import quoted
from connector.envelope.debezium.number_cells import java_text
from connector.envelope.debezium.text_cells import with_escapes

if TYPE_CHECKING:
    from connector.envelope.registered.connect_schema import ConnectSchema

_INT32: Final = 2**31
_INT64: Final = 2**63


class _Unfit(Exception):
    """The text is no JSON, or has no schema."""


@final
class ExpandedPayload:
    """The schema of a payload, and its JSON."""

    def __init__(self, schema: ConnectSchema, text: str) -> None:
        """Hold both."""
        self.schema = schema
        self.text = text


def expanded(text: str, name: str) -> ExpandedPayload | None:
    """Return the value that a JSON object is; None for any other text.

    `name` is that of the column, which names the schemas.
    """
    if not text.startswith("{"):
        # Debezium ends at an array, and leaves everything else.
        return None
    try:
        # As with Debezium, what follows the object has no effect.
        document, _ = _DECODER.raw_decode(text)
        schema = _schema(name, document)
        assert schema is not None
        return ExpandedPayload(schema, _written(schema, document))
    except (ValueError, RecursionError, _Unfit):
        return None


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which are no JSON."""
    raise _Unfit(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def _schema(name: str, value: Any) -> ConnectSchema | None:
    """Return the schema of a value; None for NULL and an empty array."""
    if value is None:
        return None
    if isinstance(value, dict):
        fields = []
        for key, each in value.items():
            found = _schema(f"{name}.{key}" if name else key, each)
            if found is not None:
                fields.append({**found, "field": key})
        return _struct(fields, name)
    if isinstance(value, list):
        if not value:
            return None
        return {"type": "array", "items": _items(name, value), "optional": True}
    return {"type": _primitive(value), "optional": True}


def _struct(fields: list[ConnectSchema], name: str) -> ConnectSchema:
    found: ConnectSchema = {"type": "struct", "fields": fields, "optional": True}
    return {**found, "name": name} if name else found


def _primitive(value: object) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        if -_INT32 <= value < _INT32:
            return "int32"
        if -_INT64 <= value < _INT64:
            return "int64"
    elif isinstance(value, float) and isfinite(value):
        return "double"
    raise _Unfit(str(value))


def _items(name: str, values: list[Any]) -> ConnectSchema:
    """Return the schema of the elements of an array."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        return _merged(name, known)
    # Only the first element of an array of arrays counts; the others have to fit.
    schema = _schema("", known[0]) if known else None
    if schema is None:
        raise _Unfit(name)
    return schema


def _merged(name: str, values: list[dict[str, Any]]) -> ConnectSchema:
    """Return the schema of objects that may have different fields."""
    fields: dict[str, ConnectSchema] = {}
    schemas = []
    for value in values:
        found = _schema(name, value)
        assert found is not None
        schemas.append(found)
        for each in found["fields"]:
            fields.setdefault(each["field"], each)
    struct = _struct(list(fields.values()), name)
    # Of several schemas, Debezium makes one that is not optional.
    return {**struct, "optional": all(found == schemas[0] for found in schemas)}


def _written(schema: ConnectSchema, value: Any) -> str:
    """Return the JSON of a value; raises _Unfit if it is not what the schema says."""
    kind = schema["type"]
    if value is None:
        if not schema["optional"]:
            raise _Unfit(kind)
        return "null"
    if kind == "struct" and isinstance(value, dict):
        members = (
            f"{_text(each['field'])}:{_written(each, value.get(each['field']))}"
            for each in schema["fields"]
        )
        return f"{{{','.join(members)}}}"
    if kind == "array" and isinstance(value, list):
        return f"[{','.join(_written(schema['items'], each) for each in value)}]"
    if isinstance(value, dict | list) or _primitive(value) != kind:
        raise _Unfit(kind)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return java_text(repr(value)) if isinstance(value, float) else str(value)


def _text(value: str) -> str:
    return with_escapes(quoted(value).decode())
