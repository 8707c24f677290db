"""Which new definitions of a column keep each of its values, in the form that consumers have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.changes.sql_mode import NO_AUTO_VALUE_ON_ZERO
from connector.contract import INTEGER_TYPES

if TYPE_CHECKING:
    from connector.changes.column_definition import ColumnDefinition
    from connector.contract import SchemaColumn

# Types without parameters; FLOAT and DOUBLE with digits round.
_WITHOUT_PARAMETERS: Final = ("float", "double", "date", "year")
_WITH_FRACTION: Final = ("time", "datetime", "timestamp")
_DEFAULT_DIGITS: Final = 10


def keeps_values(old: SchemaColumn, new: ColumnDefinition, mode: int, *, strict: bool) -> bool:
    """Return whether every value of `old` is the same in `new`, in records too.

    Without `strict`, a value that does not fit becomes another one instead of an error.
    """
    if new.auto_increment and (old["nullable"] or not mode & NO_AUTO_VALUE_ON_ZERO):
        # NULL gets a number, and so does 0.
        return False
    # NULL becomes an error or zero; in TIMESTAMP, which can be NOT NULL by itself, the time.
    changes_null = (new.not_null and not strict) or new.kind == "timestamp"
    if old["nullable"] and not new.null and changes_null:
        return False
    return _keeps_type(old, new)


def _keeps_type(old: SchemaColumn, new: ColumnDefinition) -> bool:
    kind = new.kind
    if kind in ("enum", "set"):
        labels, known = new.labels, old.get("labels")
        return (
            old["type"] == kind
            and not new.named_charset
            and labels is not None
            and known is not None
            and labels[: len(known)] == known
        )
    numbers = new.numbers
    if numbers is None or new.named_charset:
        return False
    if kind in INTEGER_TYPES:
        return _keeps_integer(old, new)
    if old["type"] != kind:
        return False
    if kind == "decimal":
        return _keeps_decimal(old, new, numbers)
    if kind in _WITHOUT_PARAMETERS:
        # YEAR(4) is YEAR.
        same_sign = old.get("unsigned", False) == new.unsigned or kind == "year"
        return same_sign and (not numbers or kind == "year")
    if kind in _WITH_FRACTION:
        return old.get("fraction", 0) == (numbers[0] if numbers else 0)
    length = numbers[0] if numbers else 1
    if kind in ("binary", "bit"):
        return old.get("length") == length
    return kind == "varbinary" and old.get("length", length + 1) <= length


def _keeps_integer(old: SchemaColumn, new: ColumnDefinition) -> bool:
    before = old["type"]
    if before not in INTEGER_TYPES or old.get("unsigned", False) != new.unsigned:
        return False
    if new.unsigned and new.kind == "bigint" and before != "bigint":
        # In records, BIGINT UNSIGNED is a string.
        return False
    return INTEGER_TYPES.index(before) <= INTEGER_TYPES.index(new.kind)


def _keeps_decimal(old: SchemaColumn, new: ColumnDefinition, numbers: list[int]) -> bool:
    precision = numbers[0] if numbers else _DEFAULT_DIGITS
    scale = numbers[1] if len(numbers) > 1 else 0
    return (
        old.get("unsigned", False) == new.unsigned
        and old.get("scale") == scale
        and old.get("precision", precision + 1) <= precision
    )
