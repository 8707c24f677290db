"""What all forms of values share: how one is described, and texts in base64."""

import binascii
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa


class Reading(NamedTuple):
    """One way to read a column of the target.

    `of_array` reads many values at once, and raises pa.ArrowException if one does not fit.
    `of_value` reads one, and raises ValueError, TypeError, ArithmeticError or KeyError.
    """

    name: str
    of_value: Callable[[Any], object]
    of_array: Callable[[pa.Array], pa.Array] | None = None


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind)) or kind == (
        pa.string_view()
    )


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether values of a type are bytes."""
    types = pa.types
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def decoded_kind(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary, else `kind`."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def from_base64(text: str) -> bytes:
    """Return the bytes of a text; raises ValueError if it is no base64."""
    return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)


def same(values: pa.Array) -> pa.Array:
    """Return the values: only their type may change."""
    return values
