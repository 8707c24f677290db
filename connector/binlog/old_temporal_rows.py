"""Rows of MariaDB that have TIME, DATETIME or TIMESTAMP in the old format, checked as a whole.

With mysql56_temporal_format=OFF such a column may have digits after the second. Then its values
are longer, by as many bytes as the log does not tell. Read as if there were no digits, rows can
come out that nobody wrote. So all rows of such an event are checked before one of them is read:
each value is one of its type, each null bitmap is filled up with ones as the server does it, and
the last row ends where the event does.

https://mariadb.com/kb/en/microseconds-in-mariadb/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.bitmap import bitmap_length
from connector.binlog.columns.row_plan import describe
from connector.binlog.columns.values import ABSENT
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.row_plan import RowPlan
    from connector.binlog.columns.values import Value
    from connector.binlog.events.rows import RowsEvent
    from connector.codec.payload import PayloadReader


def misfit(rows: RowsEvent) -> str | None:
    """Return why the rows of an event of MariaDB cannot be read; None where they can be.

    Of rows without such columns, and of those that are refused already, it is always None.
    """
    try:
        plan = rows.plan
    except DecodeError:
        return None  # the plan says why
    if not plan.old_temporal:
        return None
    images = [
        plan.places(present)
        for present in (rows.before_columns_present, rows.after_columns_present)
        if present is not None
    ]
    old = frozenset(plan.old_temporal)
    if not any(place in old for places in images for place in places):
        return None
    image = rows.images()
    try:
        while image.offset < image.end:
            for places in images:
                _require_fit(plan, image, places, old)
    except DecodeError:
        columns = rows.table_map.columns
        names = " or ".join(describe(columns[place], place) for place in plan.old_temporal)
        return (
            f"{names} has digits after the second in MariaDB's old format "
            "(mysql56_temporal_format=OFF), and the log does not tell how many: rebuild the table "
            "(SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE ... FORCE) and read from there "
            "on, or exclude the table"
        )
    return None


def _require_fit(
    plan: RowPlan, image: PayloadReader, places: list[int], old: frozenset[int]
) -> None:
    """Move to the end of one row image; raise DecodeError if its bytes cannot be one."""
    count: i64 = len(places)
    length = bitmap_length(count)
    nulls = image.take(length)
    unused = count & 7
    if unused:
        last: i64 = image.data[nulls + length - 1]
        ones: i64 = 0xFF
        if last >> unused != ones >> unused:
            reason = "a null bitmap is not filled up with ones"
            raise DecodeError(reason)
    image.offset = nulls
    values: list[Value] = [ABSENT] * len(plan.readers)
    plan.read_chosen(image, places, plan.readers, old, values)
