"""The images of a rows event become rows, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from connector.binlog.columns.json_patch import with_diffs_applied
from connector.binlog.columns.row_plan import in_column
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.row_plan import RowPlan
    from connector.binlog.columns.values import Value
    from connector.binlog.events.table_map import TableMapEvent
    from connector.codec.payload import PayloadReader


@dataclass(slots=True)
class Row:
    """One changed row: the columns before and after, in the order of the table.

    An insert has no `before`, a delete no `after`.
    """

    before: list[Value] | None
    after: list[Value] | None


@final
class RowReader:
    """Reads or skips the rows of one event. Raises DecodeError for a row that cannot be read."""

    __slots__ = ("_after", "_before", "_image", "_partial", "_plan")

    def __init__(
        self,
        plan: RowPlan,
        image: PayloadReader,
        before_columns_present: bytes | None,
        after_columns_present: bytes | None,
        *,
        partial: bool,
    ) -> None:
        """Begin at the cursor of `image`; without a bitmap, rows lack that image."""
        self._plan = plan
        self._image = image
        self._before = indexes_of(plan, before_columns_present)
        self._after = indexes_of(plan, after_columns_present)
        self._partial = partial

    @property
    def offset(self) -> i64:
        """Where the next row begins."""
        return self._image.offset

    def has_more(self) -> bool:
        """Return whether bytes are left."""
        return self._image.offset < self._image.end

    def read(self) -> Row:
        """Read the next row."""
        plan = self._plan
        image = self._image
        before: list[Value] | None = None
        after: list[Value] | None = None
        if self._before is not None:
            before = plan.read_image(image, self._before)
        if self._after is not None:
            if self._partial:
                after = plan.read_partial_image(image, self._after)
            else:
                after = plan.read_image(image, self._after)
        return Row(before, after)

    def skip(self) -> None:
        """Skip the next row."""
        plan = self._plan
        image = self._image
        if self._before is not None:
            plan.skip_image(image, self._before)
        if self._after is not None:
            if self._partial:
                plan.skip_partial_image(image, self._after)
            else:
                plan.skip_image(image, self._after)


def indexes_of(plan: RowPlan, columns_present: bytes | None) -> list[int] | None:
    """Return the indexes of the columns that an image holds; None without the image."""
    return None if columns_present is None else plan.indexes(columns_present)


def with_whole_documents(row: Row, table_map: TableMapEvent) -> Row:
    """Return a row of a partial update with whole documents instead of their changes.

    Raises DecodeError that names the column.
    """
    before, after = row.before, row.after
    assert before is not None
    assert after is not None
    whole: list[Value] = []
    index = 0
    try:
        for value in before:
            whole.append(with_diffs_applied(value, after[index]))
            index += 1
    except DecodeError as error:
        raise in_column(table_map.columns[index], index, error) from error
    return Row(before, whole)
