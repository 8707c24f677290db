"""Numbers whose bytes Debezium writes in base64, many at once.

A DECIMAL of up to 15 digits has at most 7 bytes, so its text has 4, 8 or 12 characters, and 12 only
with two of padding. Longer texts, and those that are no base64, are left to the slow way.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BITS: Final = 6
_BYTE: Final = 8
_PADDING: Final = 64
_UNKNOWN: Final = 255
_CODES: Final = np.full(256, _UNKNOWN, np.uint8)
_CODES[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(64, dtype=np.uint8)
_CODES[ord("=")] = _PADDING
# Of those that are read here; of the last one, these characters are numbers.
_LENGTHS: Final = (4, 8, 12)
_DIGITS: Final = 10
_ZERO: Final = "AA=="


def whole_numbers(texts: pa.Array) -> NDArray[np.int64]:
    """Return the numbers of texts, and 0 for NULL; raises pa.ArrowInvalid if one is left.

    The bytes of a number are those of its two's complement, the highest first.
    """
    if not len(texts):
        return np.empty(0, np.int64)
    texts = pc.fill_null(texts.cast(pa.large_string()), _ZERO)
    buffers, count = texts.buffers(), len(texts)
    offsets = np.frombuffer(buffers[1], np.int64)[texts.offset : texts.offset + count + 1]
    lengths = np.diff(offsets)
    if not np.isin(lengths, _LENGTHS).all():
        raise pa.ArrowInvalid
    codes = _CODES[np.frombuffer(buffers[2], np.uint8)]
    found = np.empty(count, np.int64)
    for length in _LENGTHS:
        places = np.flatnonzero(lengths == length)
        if len(places):
            found[places] = _decoded(codes[offsets[places][:, None] + np.arange(length)])
    return found


def _decoded(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers of texts of one length, a row each."""
    is_padding = codes == _PADDING
    padding = is_padding.sum(axis=1)
    digits = min(codes.shape[1], _DIGITS)
    if (
        (codes == _UNKNOWN).any()
        or is_padding[:, :-2].any()
        or (is_padding[:, -2] > is_padding[:, -1]).any()
        or (digits < codes.shape[1] and (padding != codes.shape[1] - digits).any())
    ):
        raise pa.ArrowInvalid
    values = np.zeros(len(codes), np.int64)
    for place in range(digits):
        values = (values << _BITS) | (codes[:, place] & (_PADDING - 1))
    sizes = codes.shape[1] * _BITS // _BYTE - padding
    values >>= digits * _BITS - sizes * _BYTE
    sign = np.int64(1) << (sizes * _BYTE - 1)
    found: NDArray[np.int64] = (values ^ sign) - sign
    return found
