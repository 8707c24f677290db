"""Names that Avro can have: `field.name.adjustment.mode` and `schema.name.adjustment.mode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import UnsupportedChange, table_schemas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.contract import SchemaColumn
    from connector.envelope.debezium.form import DebeziumForm

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_UNITS_OF_TWO_DIGITS = 0x100


def field_names(columns: Sequence[SchemaColumn], form: DebeziumForm | None) -> list[str]:
    """Return the name that each column has in records.

    Raises UnsupportedChange if two have the same.
    """
    if form is None or form.field_names == "none":
        return [column["name"] for column in columns]
    valid = _LETTERS | _DIGITS
    names: dict[str, str] = {}
    for column in columns:
        field = _adjusted(column["name"], form.field_names, valid)
        other = names.setdefault(field, column["name"])
        if other != column["name"]:
            raise UnsupportedChange(
                table_schemas.FIELD_SHARED, one=other, other=column["name"], field=field
            )
    return list(names)


def schema_name(name: str, form: DebeziumForm) -> str:
    """Return the name of a schema whose parts are separated by dots."""
    if form.schema_names == "none":
        return name
    return _adjusted(name, form.schema_names, _LETTERS | _DIGITS | {"."})


def _adjusted(name: str, mode: str, valid: frozenset[str]) -> str:
    return _with_underscores(name, valid) if mode == "avro" else _with_numbers(name, valid)


def _with_underscores(name: str, valid: frozenset[str]) -> str:
    """Return `name` with `_` for each character that Avro does not allow."""
    valid |= {"_"}
    # A character beyond 16 bits is two of Java.
    kept = "".join(each if each in valid else "_" * len(_units(each)) for each in name)
    return f"_{kept}" if kept[0] in _DIGITS else kept


def _with_numbers(name: str, valid: frozenset[str]) -> str:
    """Return `name` with `_u0020` for a character that Avro does not allow, and for `_`."""
    parts = []
    for place, each in enumerate(name):
        if each in (_LETTERS if place == 0 else valid):
            parts.append(each)
        else:
            parts += [f"_u{_java_hex(unit)}" for unit in _units(each)]
    return "".join(parts)


def _units(character: str) -> list[int]:
    encoded = character.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


def _java_hex(unit: int) -> str:
    return f"00{unit:x}" if unit < _UNITS_OF_TWO_DIGITS else f"{unit:x}"
