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

from connector.binlog.columns.row_plan import describe
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.row_plan import RowPlan
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
    if not any(place in plan.old_temporal for places in images for place in places):
        return None
    image = rows.images()
    try:
        while image.offset < image.end:
            for places in images:
                _require_fit(plan, image, places)
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


def _require_fit(plan: RowPlan, image: PayloadReader, places: list[int]) -> None:
    """Move behind one row image; raise DecodeError where its bytes cannot be one."""
    count: i64 = len(places)
    nulls = image.take((count + 7) >> 3)
    unused = count & 7
    if unused:
        last: i64 = image.data[nulls + (count >> 3)]
        ones: i64 = 0xFF
        if last >> unused != ones >> unused:
            reason = "a null bitmap is not filled up with ones"
            raise DecodeError(reason)
    for number, place in enumerate(places):
        bits: i64 = image.data[nulls + (number >> 3)]
        if bits >> (number & 7) & 1:
            continue
        if place in plan.old_temporal:
            plan.readers[place].read(image)
        else:
            plan.readers[place].skip(image)
