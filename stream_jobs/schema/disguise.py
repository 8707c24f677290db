"""A value that the mirror must not have becomes its hash, or a constant text. NULL stays NULL.

Equal values have equal hashes, also after their column got a wider type: the hash is that of a text
in which 1, 1.0 and 1.00 are the same. For texts it is `sha2(concat(salt, text), 256)` of Spark.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, cast

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from typing import Any, NotRequired

    from connector.contract import SchemaColumn


@dataclass(frozen=True, slots=True)
class Hashed:
    """The values become the SHA-256 of `salt` and their text, in hexadecimal digits."""

    salt: str = field(repr=False)

    def applied(self, values: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
        """Return the texts of `values`, whose column has the type `kind` at the source."""
        start = hashlib.sha256(self.salt.encode())
        found: list[str | None] = []
        for value in _texts(values, kind):
            if value is None:
                found.append(None)
                continue
            digest = start.copy()
            digest.update(value)
            found.append(digest.hexdigest())
        return pa.chunked_array([pa.array(found, pa.string())])

    @property
    def label(self) -> str:
        """What a mirror notes about it, so that another salt is noticed."""
        return f"hash {hashlib.sha256(b'salt of ' + self.salt.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Masked:
    """The values become `text`."""

    text: str

    def applied(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the texts of `values`, of any type."""
        return pc.if_else(pc.is_valid(values), pa.scalar(self.text), pa.scalar(None, pa.string()))

    @property
    def label(self) -> str:
        """What a mirror notes about it, so that another text is noticed."""
        return f"mask {self.text}"


Disguise = Hashed | Masked


class _DisguisedColumn(TypedDict):
    disguise: NotRequired[Disguise]


def disguised(column: SchemaColumn, disguise: Disguise) -> SchemaColumn:
    """Return a column of the source whose values `disguise` changes."""
    return cast("SchemaColumn", {**column, "disguise": disguise})


def disguise_of(column: SchemaColumn) -> Disguise | None:
    """Return what changes the values of a column; None if nothing does."""
    return cast("_DisguisedColumn", column).get("disguise")


def _texts(values: pa.ChunkedArray, kind: str) -> list[bytes | None]:
    types, stored = pa.types, values.type
    if types.is_binary(stored):
        return cast("list[bytes | None]", values.to_pylist())
    if types.is_boolean(stored):
        # BIT(1) can become BIT(8).
        values = values.cast(pa.int8())
    elif types.is_floating(stored):
        values = values.cast(pa.float64())
    elif types.is_date(stored) or types.is_timestamp(stored):
        values = values.cast(pa.string())
    return [None if each is None else _text(each, kind).encode() for each in values.to_pylist()]


def _text(value: Any, kind: str) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=bytes.hex)
    text = format(value, "f") if kind == "decimal" and not isinstance(value, str) else str(value)
    if kind == "decimal" and "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if kind == "decimal" and text == "-0" else text
