"""The default of an added column becomes its JSON value in existing rows."""

import re
from base64 import b64encode
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from connector.foundation.contract import SchemaColumn
from connector.foundation.record_formats import utc_text
from connector.stream.changes.column_defaults import NUMBER_TYPES, AddedColumn, DefaultKind

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATETIME = re.compile(r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?")
_TIME = re.compile(r"(-?\d{2,3}:\d{2}:\d{2})(?:\.(\d{1,6}))?")
_YEAR_DIGITS = 4
_ZERO_TIMES = {
    "date": "0000-00-00",
    "datetime": "0000-00-00 00:00:00",
    "timestamp": "0000-00-00 00:00:00",
    "time": "00:00:00",
}


def with_added_default(column: SchemaColumn, added: AddedColumn) -> SchemaColumn:
    """Return `column` with the facts about its value in rows that existed before it."""
    if added.default is DefaultKind.NULL:
        return column
    try:
        value = _value(column, added)
    except (ValueError, InvalidOperation):
        value = None
    if value is None:
        return {**column, "added_default_unknown": True}
    return {**column, "added_default": value}


def _value(column: SchemaColumn, added: AddedColumn) -> object | None:
    """Return the JSON value, or None if the text does not determine it."""
    if added.default is DefaultKind.COMPUTED:
        return None
    kind = column["type"]
    if added.default is DefaultKind.NOW:
        if kind != "timestamp" or column.get("fraction", 0):
            # DATETIME is in the session's time zone; fractions of the second are not in the log.
            return None
        return utc_text(int(added.text))
    if added.default is DefaultKind.IMPLICIT:
        return _implicit(column)
    if added.default is DefaultKind.BITS and kind not in NUMBER_TYPES:
        return None
    convert = _LITERALS.get(kind)
    return None if convert is None else convert(column, added.text)


def _implicit(column: SchemaColumn) -> object | None:
    kind = column["type"]
    labels = column.get("labels", [])
    if kind == "enum":
        return labels[0] if labels else None
    if kind == "timestamp":
        fraction = _fraction(column, "")
        return f"0000-00-00T00:00:00{fraction}Z"
    if kind in _ZERO_TIMES:
        return _ZERO_TIMES[kind] + _fraction(column, "")
    if kind == "json":
        return "null"
    convert = _LITERALS.get(kind)
    text = "" if kind in ("char", "varchar", "text", "set", "binary", "varbinary", "blob") else "0"
    return None if convert is None else convert(column, text)


def _integer(column: SchemaColumn, text: str) -> object:
    value = int(Decimal(text).to_integral_value(ROUND_HALF_UP))
    return str(value) if column["type"] == "bigint" and column.get("unsigned", False) else value


def _year(column: SchemaColumn, text: str) -> object | None:
    del column
    # One or two digits mean a year around 2000.
    return int(text) if len(text) == _YEAR_DIGITS or text == "0" else None


def _decimal(column: SchemaColumn, text: str) -> object:
    step = Decimal(1).scaleb(-column.get("scale", 0))
    value = Decimal(text).quantize(step, ROUND_HALF_UP)
    # No server has a negative zero here.
    return format(abs(value) if value.is_zero() else value, "f")


def _float(column: SchemaColumn, text: str) -> object:
    del column
    return float(text)


def _bit(column: SchemaColumn, text: str) -> object:
    return bool(int(text)) if column.get("length") == 1 else str(int(text))


def _text(column: SchemaColumn, text: str) -> object:
    del column
    return text


def _label(column: SchemaColumn, text: str) -> object | None:
    # Labels compare without case, except by some collations; the value is that of the definition.
    labels = column.get("labels", [])
    same = [text] if text in labels else [one for one in labels if one.lower() == text.lower()]
    return same[0] if len(same) == 1 else None


def _labels(column: SchemaColumn, text: str) -> object | None:
    chosen = {_label(column, part) for part in text.split(",")} if text else set()
    labels = [label for label in column.get("labels", []) if label in chosen]
    return ",".join(labels) if len(labels) == len(chosen) else None


def _bytes(column: SchemaColumn, text: str) -> object | None:
    if not text.isascii():
        # The bytes depend on the character set of the session.
        return None
    data = text.encode("ascii")
    if column["type"] == "binary":
        data = data.ljust(column.get("length", len(data)), b"\0")
    return b64encode(data).decode("ascii")


def _date(column: SchemaColumn, text: str) -> object | None:
    del column
    return text if _DATE.fullmatch(text) else None


def _datetime(column: SchemaColumn, text: str) -> object | None:
    if _DATE.fullmatch(text):
        text = f"{text} 00:00:00"
    return _with_fraction(column, _DATETIME.fullmatch(text))


def _time(column: SchemaColumn, text: str) -> object | None:
    return _with_fraction(column, _TIME.fullmatch(text))


def _with_fraction(column: SchemaColumn, match: re.Match[str] | None) -> object | None:
    if match is None or len(match[2] or "") > column.get("fraction", 0):
        # More digits than the column keeps: the server rounds.
        return None
    return match[1] + _fraction(column, match[2] or "")


def _fraction(column: SchemaColumn, digits: str) -> str:
    width = column.get("fraction", 0)
    return f".{digits.ljust(width, '0')}" if width else ""


_LITERALS: dict[str, Callable[[SchemaColumn, str], object | None]] = {
    "tinyint": _integer,
    "smallint": _integer,
    "mediumint": _integer,
    "int": _integer,
    "bigint": _integer,
    "year": _year,
    "decimal": _decimal,
    "float": _float,
    "double": _float,
    "bit": _bit,
    "char": _text,
    "varchar": _text,
    "text": _text,
    "enum": _label,
    "set": _labels,
    "binary": _bytes,
    "varbinary": _bytes,
    "blob": _bytes,
    "date": _date,
    "datetime": _datetime,
    "time": _time,
}
