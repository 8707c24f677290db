"""Rows of MariaDB with TIME, DATETIME or TIMESTAMP in the old format are checked as a whole.

With mysql56_temporal_format=OFF such a column may have digits after the second. Then its values
are longer, and the log does not say by how many bytes. If they were read without the digits, rows
could come out that no client wrote. So all rows of such an event are checked before the first is
read: each value must be valid for its type, each null bitmap must be filled up with ones as the
server does it, and the last row must end where the event ends.

https://mariadb.com/kb/en/microseconds-in-mariadb/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.bitmap import bitmap_length
from connector.binlog.columns.row_plan import describe
from connector.binlog.columns.values import ABSENT
from connector.errors import DecodeError, log_rows

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.row_plan import RowPlan
    from connector.binlog.columns.values import Value
    from connector.binlog.events.rows import RowsEvent
    from connector.codec.payload import PayloadReader


def misfit(rows: RowsEvent) -> DecodeError | None:
    """Return why the rows of an event of MariaDB cannot be read; None if they can be.

    It is always None for rows without such columns, and for rows that are refused already.
    """
    try:
        plan = rows.plan
    except DecodeError:
        return None  # the plan says why
    if not plan.old_temporal:
        return None
    images = [
        plan.indexes(present)
        for present in (rows.before_columns_present, rows.after_columns_present)
        if present is not None
    ]
    old = frozenset(plan.old_temporal)
    if not any(index in old for indexes in images for index in indexes):
        return None
    if _fit(plan, rows.images(), images, old):
        return None
    columns = rows.table_map.columns
    names = [describe(columns[index], index) for index in plan.old_temporal]
    return DecodeError(log_rows.OLD_FRACTION, columns=names)


def _fit(plan: RowPlan, image: PayloadReader, images: list[list[int]], old: frozenset[int]) -> bool:
    """Return whether the bytes up to the end are rows, each with images of these columns."""
    try:
        while image.offset < image.end:
            for indexes in images:
                if not _skip(plan, image, indexes, old):
                    return False
    except DecodeError:
        return False
    return True


def _skip(plan: RowPlan, image: PayloadReader, indexes: list[int], old: frozenset[int]) -> bool:
    """Skip one row image; return False, or raise DecodeError, if the bytes are not one."""
    count: i64 = len(indexes)
    length = bitmap_length(count)
    nulls = image.take(length)
    unused = count & 7
    if unused:
        last: i64 = image.data[nulls + length - 1]
        ones: i64 = 0xFF
        if last >> unused != ones >> unused:
            return False
    image.offset = nulls
    values: list[Value] = [ABSENT] * len(plan.readers)
    plan.read_chosen(image, indexes, plan.readers, old, values)
    return True
