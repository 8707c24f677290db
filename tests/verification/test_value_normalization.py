"""Values of both sides in the form in which they are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from verification.value_normalization import ValueNormalization

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn


def column(kind: str) -> SchemaColumn:
    return {"name": "v", "type": kind, "nullable": True, "key": 0}


@pytest.mark.parametrize(
    ("ours", "theirs", "type_"),
    [
        ("float", "float", pa.float32()),
        ("float", "double", pa.float32()),
        ("double", "double", pa.float64()),
    ],
)
def test_the_two_zeros_are_one_value(ours: str, theirs: str, type_: pa.DataType) -> None:
    form = ValueNormalization("shop.t", [(column(ours), column(theirs))])
    found = form.of(pa.table({"v": pa.array([-0.0, 0.0, -0.5, None], type_)}))
    assert [str(value) for value in found["v"].to_pylist()] == ["0.0", "0.0", "-0.5", "None"]
