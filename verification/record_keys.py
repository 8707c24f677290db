"""Keys of rows of a mirror become the keys of records, as the pipeline takes them in a request.

Values are written by the encoder of the envelope. Each key is read again as the job reads it: if it
is not the key of the mirror, it is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from connector.codec.json_strings import quoted
from connector.contract import INTEGER_TYPES
from connector.envelope.cells.values import value_encoder
from connector.errors import MirrorError, SourceRefused, UnsupportedChange
from connector.snapshot.listed_keys import listed_keys
from verification.clear_keys import UNKNOWN
from verification.digests import digests, pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from connector.contract import SchemaColumn
    from verification.clear_keys import Key
    from verification.digests import Digest
    from verification.source_table import SourceTable

_NUMBERS: Final = frozenset({*INTEGER_TYPES, "bit", "year"})
_MOMENTS: Final = frozenset({"datetime", "timestamp"})
_SECONDS: Final = len("2026-01-01 00:00:00")
_NO_KEYS = (ValueError, TypeError, AttributeError, MirrorError, SourceRefused, UnsupportedChange)


def record_keys(
    source: SourceTable, names: Sequence[str], keys: Mapping[Digest, Key]
) -> list[str] | None:
    """Return the texts of `keys`, whose columns are `names`; None if one of them has none."""
    schema = source.selected.schema
    columns = [schema.columns[index] for index in schema.key_indexes]
    if UNKNOWN in keys.values():
        return None
    try:
        texts = [_text(columns, key) for key in keys.values()]
        listed_keys(source.selected, texts)
        images = [f'{{"after":{text}}}'.encode() for text in texts]
        read = pairs(digests(source.typed(images, "after", names), names))
    except _NO_KEYS:
        # The mirror holds a value that the source cannot have, or the key cannot be listed.
        return None
    return texts if read == list(keys) else None


def _text(columns: Sequence[SchemaColumn], key: Key) -> str:
    members = (
        f"{quoted(column['name']).decode()}:{value_encoder(column)(_decoded(column, value))}"
        for column, value in zip(columns, key, strict=True)
    )
    return f"{{{','.join(members)}}}"


def _decoded(column: SchemaColumn, value: Any) -> Any:
    """Return a value of the mirror in the form that decoded values have."""
    kind = column["type"]
    if kind in _NUMBERS:
        return int(value)
    if kind == "decimal" and not isinstance(value, str):
        return format(value, "f")
    if kind == "date":
        return value.isoformat()
    if kind in _MOMENTS:
        digits = column.get("fraction", 0)
        text = value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
        return text[: _SECONDS + digits + 1] if digits else text[:_SECONDS]
    return value
