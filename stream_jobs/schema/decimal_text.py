"""DECIMAL as the texts that servers print, with all digits."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

# Arrow writes a small number with an exponent if its scale is greater.
_PLAIN_SCALE_MAX: Final = 6


def decimal_texts(values: pa.Array) -> pa.Array:
    """Return decimals of 128 bits as texts; NULL stays NULL."""
    scale = values.type.scale
    if scale <= _PLAIN_SCALE_MAX:
        return values.cast(pa.string())
    whole = pa.decimal128(values.type.precision, 0)
    digits = values.view(whole).cast(pa.string())
    is_negative = pc.starts_with(digits, "-")
    digits = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    before = pc.utf8_slice_codeunits(digits, 0, -scale)
    after = pc.utf8_slice_codeunits(digits, -scale)
    sign = pc.if_else(is_negative, "-", "")
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, before, ""), after, ".")
