"""Both row images of an update are read side by side.

::

    update   before image │ after image     each as in `row_plan`
             ▲ old          ▲ new           the two cursors move over the same columns

Most columns of an updated row keep their value. Equal bytes are one value, so it is read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.bitmap import bitmap_length
from connector.binlog.columns.row_plan import in_column
from connector.codec.payload import PayloadReader
from connector.codec.same_bytes import has_same_bytes
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.row_plan import RowPlan
    from connector.binlog.columns.values import Value


def fill_named_images(
    plan: RowPlan,
    new: PayloadReader,
    indexes: list[int],
    names: list[str],
    before: dict[str, Value],
    after: dict[str, Value],
) -> None:
    """Read two row images as `RowPlan.fill_named_image` does, and move `new` past both.

    Both hold the columns at `indexes`. A value that the update did not change is the same object in
    `before` and in `after`. Raises DecodeError that names the column.
    """
    readers = plan.readers
    data = new.data
    start = new.offset
    plan.skip_image(new, indexes)
    old = PayloadReader(data, start, new.offset)
    nulls_length: i64 = bitmap_length(len(indexes))
    old_nulls = old.take(nulls_length)
    new_nulls = new.take(nulls_length)
    number: i64 = 0  # of the columns that the images hold
    index = 0
    try:
        for index in indexes:
            byte = number >> 3
            bit = number & 7
            number += 1
            # `is_set`, without a call for each column
            old_bits: i64 = data[old_nulls + byte]
            new_bits: i64 = data[new_nulls + byte]
            if old_bits >> bit & 1:
                if not new_bits >> bit & 1:
                    after[names[index]] = readers[index].read(new)
                continue
            start = old.offset
            value = readers[index].read(old)
            before[names[index]] = value
            if new_bits >> bit & 1:
                continue
            # The bytes of a value say where it ends, so equal bytes are an equal value.
            length = old.offset - start
            at = new.offset
            if length <= new.end - at and has_same_bytes(data, at, start, length):
                new.offset = at + length
            else:
                value = readers[index].read(new)
            after[names[index]] = value
    except DecodeError as error:
        raise in_column(plan.columns[index], index, error) from error
