"""Which form the key of a record has, as far as its bytes tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.contract.documents import read_document

if TYPE_CHECKING:
    from connector.contract.record_formats import KeyFormat

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
