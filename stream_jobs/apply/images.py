"""The images of some records: an Arrow array for each column of the row.

Arrow's JSON reader hands its work to threads, and takes as long to begin as to read forty records.
Most tables have fewer in a batch, so these are read in Python. It takes only what Arrow's reader
would take, too, and leaves the rest to it.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TIMES: Final = ("ts_ms", "ts_us")
SOURCE: Final = pa.struct([(name, pa.int64()) for name in _TIMES])
# More records than these are read faster by Arrow.
FEW: Final = 50
# What JSON values of a column are in Python. A number without a fraction is no `float`: JSON knows
# the sign of a zero. Other types are left to Arrow's reader.
_KINDS: Final[dict[pa.DataType, type]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16()), int),
    pa.float64(): float,
    pa.string(): str,
    pa.bool_(): bool,
}


class Images(NamedTuple):
    """One image of each record."""

    columns: list[pa.ChunkedArray]  # of the parsed types
    missing: pa.ChunkedArray  # whether the record has no such image
    source: pa.ChunkedArray  # when the source committed it: STRUCT<ts_ms, ts_us>

    @classmethod
    def of_few(
        cls, values: Sequence[bytes], image: str, columns: Sequence[tuple[str, pa.DataType]]
    ) -> Images | None:
        """Read few envelopes; return None if they need a closer look."""
        kinds = [(name, _KINDS.get(kind)) for name, kind in columns]
        try:
            documents = [orjson.loads(value) for value in values]
            rows = _objects(document.get(image) for document in documents)
            sources = _objects(document.get("source") for document in documents)
            # Arrow makes texts of texts alone, but 1 of 1.5 and of a true.
            for name, kind in kinds:
                if kind is not str:
                    _check([row.get(name) for row in rows], kind)
            for name in _TIMES:
                _check([source.get(name) for source in sources], int)
            kind = pa.struct([(image, pa.struct(columns)), ("source", SOURCE)])
            found, source = pa.array(documents, kind).flatten()
        except (ValueError, TypeError, AttributeError, OverflowError, pa.ArrowException):
            return None
        missing, source = pa.chunked_array([found.is_null()]), pa.chunked_array([source])
        return cls(pa.Table.from_struct_array(found).columns, missing, source)


def _objects(found: Iterable[object]) -> list[dict[str, object]]:
    """Return JSON objects, and empty ones for null; raises TypeError for other values."""
    values = list(found)
    _check(values, dict)
    return [each if isinstance(each, dict) else {} for each in values]


def _check(values: Sequence[object], kind: type | None) -> None:
    # A bool is an int for Python, and not for JSON.
    if kind is None or not {kind, NoneType}.issuperset(map(type, values)):
        raise TypeError(kind)
