"""Stored values: converts parsed columns to stored ones, or names the first wrong record.

`stream_jobs.source.column_types` describes the steps. Whole columns are converted at once; only
if that fails are their values tried one by one.
"""

import binascii
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connector.foundation.contract import SchemaColumn
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from stream_jobs.apply.row_images import FEW, RowImages
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.errors import record_errors
from stream_jobs.source.column_types import ColumnType, TextMask, mask_of, type_text

ZeroDates = Literal["error", "null"]
# 0001-01-01: Arrow knows the year 0, but the calendars of others begin with 1.
_FIRST_DAY: Final = pa.scalar(-719162, pa.int32()).cast(pa.date32())


class ErrorCollector:
    """Collects what is wrong, and keeps the first record that is."""

    def __init__(self) -> None:
        self._first: tuple[int, Message] | None = None

    def add(self, wrong: pa.ChunkedArray, code: ErrorCode, **facts: object) -> None:
        """Add a problem of the records for which `wrong` is true; earlier problems come first."""
        if not any(chunk.true_count for chunk in wrong.chunks):
            return
        place = pc.index(wrong.fill_null(False), True).as_py()
        if self._first is None or place < self._first[0]:
            self._first = place, Message(code, facts)

    def add_at(self, places: Sequence[int], code: ErrorCode, **facts: object) -> None:
        """Add a problem of the records at `places`."""
        if places and (self._first is None or places[0] < self._first[0]):
            self._first = places[0], Message(code, facts)

    def check(self) -> None:
        """Raise InvalidRecordError if there is a problem."""
        if self._first is not None:
            raise InvalidRecordError(*self._first)


def stored_columns(
    images: RowImages, columns: Sequence[SchemaColumn], zero_dates: ZeroDates
) -> list[pa.ChunkedArray]:
    """Return the columns of `images` in their stored types.

    Raises InvalidRecordError for the first record that cannot be stored.
    """
    problems = ErrorCollector()
    problems.add(images.missing, record_errors.NO_IMAGE)
    stored = [
        _stored(parsed, column, zero_dates, problems)
        for parsed, column in zip(images.columns, columns, strict=True)
    ]
    problems.check()
    return stored


def _stored(
    parsed: pa.ChunkedArray, column: SchemaColumn, zero_dates: ZeroDates, problems: ErrorCollector
) -> pa.ChunkedArray:
    name, kind = column["name"], ColumnType.of_source(column)
    mask = mask_of(column)
    is_key = bool(column["key"])
    if (is_key or not column["nullable"]) and parsed.null_count:
        problems.add(pc.is_null(parsed), record_errors.NO_COLUMN, column=name)
    if isinstance(mask, TextMask):
        return mask.applied(parsed)
    if kind.form is not None and not _are_of(kind.form, parsed):
        fits = pc.match_substring_regex(parsed, f"^{kind.form}$")
        problems.add(pc.invert(fits), record_errors.WRONG_FORM, column=name, type=type_text(column))
    values, unfit = _converted(parsed, kind)
    if unfit:
        if kind.is_base64:
            problems.add_at(unfit, record_errors.WRONG_FORM, column=name, type=type_text(column))
        elif not kind.is_date:
            problems.add_at(unfit, record_errors.WRONG_VALUE, column=name, type=type_text(column))
        elif is_key:
            problems.add_at(unfit, record_errors.ZERO_KEY, column=name)
        elif zero_dates == "error":
            problems.add_at(unfit, record_errors.ZERO_DATE, column=name)
    return values if mask is None else mask.applied(values, column["type"])


def _are_of(form: str, texts: pa.ChunkedArray) -> bool:
    """Return whether all texts have a form."""
    if len(texts) > FEW:
        fits = pc.match_substring_regex(texts, f"^{form}$")
        return bool(pc.all(fits, min_count=0).as_py())
    # Arrow compiles the pattern each time, which takes longer than few matches in Python.
    matches = re.compile(form).fullmatch
    return all(text is None or matches(text) for text in texts.to_pylist())


def _converted(parsed: pa.ChunkedArray, kind: ColumnType) -> tuple[pa.ChunkedArray, Sequence[int]]:
    """Return the values, NULL where they do not fit, and the places of those."""
    if kind.is_base64:
        is_text = pa.types.is_binary(kind.stored)
        return _each(parsed, kind.stored, _decoded if is_text else _decoded_geometry)
    if kind.parsed == kind.stored:
        return parsed, ()
    try:
        values = parsed.cast(kind.stored)
    except pa.ArrowInvalid:
        return _each(parsed, kind.stored, lambda value: _cast(value, kind.stored))
    if kind.is_date:
        early = pc.less(values, _first_day(kind.stored))
        if any(chunk.true_count for chunk in early.chunks):
            places = np.flatnonzero(early.fill_null(False).to_numpy())
            return pc.if_else(early, None, values), places.tolist()
    return values, ()


@cache
def _first_day(kind: pa.DataType) -> pa.Scalar:
    return _FIRST_DAY.cast(kind)


def _each(
    parsed: pa.ChunkedArray, kind: pa.DataType, convert: Callable[[object], object]
) -> tuple[pa.ChunkedArray, Sequence[int]]:
    values: list[object] = []
    unfit: list[int] = []
    for place, value in enumerate(parsed.to_pylist()):
        converted = None
        if value is not None:
            try:
                converted = convert(value)
            except (ValueError, TypeError, OverflowError, pa.ArrowInvalid):
                unfit.append(place)
        values.append(converted)
    return pa.chunked_array([pa.array(values, kind)]), unfit


def _cast(value: object, kind: pa.DataType) -> object:
    # Python's dates begin with the year 1, too.
    return pa.scalar(value).cast(kind).as_py()


def _decoded(value: object) -> bytes:
    assert isinstance(value, str)
    return binascii.a2b_base64(value.encode("ascii"), strict_mode=True)


def _decoded_geometry(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    wkb = value["wkb"]
    return {"wkb": None if wkb is None else _decoded(wkb), "srid": value["srid"]}
