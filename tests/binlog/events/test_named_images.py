"""Both images of an update are read as each one alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.events.row_reader import NamedImages
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from connector.reader import open_binlog

if TYPE_CHECKING:
    from connector.binlog.columns.column import Value
    from connector.binlog.events.rows import RowsEvent

GOLDEN = Path(__file__).parents[2] / "golden" / "files"
LOGS = sorted(path for path in GOLDEN.glob("*/types.000001"))

Row = tuple[dict[str, "Value"], dict[str, "Value"]]


def one_by_one(named: NamedImages, images: PayloadReader) -> Row:
    """Read the two images of one update, one after the other."""
    before = named.read(images)
    return before, named.read(images)


def side_by_side(named: NamedImages, images: PayloadReader) -> Row:
    """Read the two images of one update together."""
    return named.read_update(images)


def full_updates(path: Path) -> list[RowsEvent]:
    """Return the rows events of a log whose updates have the same columns in both images."""
    with open_binlog(path) as log:
        return [
            rows
            for transaction in log.transactions()
            for _, rows in transaction.rows_events()
            if rows.before_columns_present is not None
            and rows.before_columns_present == rows.after_columns_present
            and not rows.partial
        ]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_the_updates_of_a_server_are_read_alike(path: Path) -> None:
    updates = full_updates(path)
    assert updates
    shared = 0
    for rows in updates:
        assert rows.before_columns_present is not None
        indexes = rows.plan.indexes(rows.before_columns_present)
        names = [str(number) for number in range(len(rows.table_map.columns))]
        named = NamedImages(rows.plan, indexes, names)
        alone, together = rows.images(), rows.images()
        while alone.remaining:
            expected = one_by_one(named, alone)
            found = side_by_side(named, together)
            assert repr(found) == repr(expected)  # a NaN is not equal to itself
            assert together.offset == alone.offset
            shared += sum(found[0][name] is found[1][name] for name in found[0])
    assert shared


PLAN = RowPlan(
    [
        Column(ColumnType.LONG, 0, nullable=True, name="a"),
        Column(ColumnType.VARCHAR, 40, nullable=True, name="b", collation=255),
        Column(ColumnType.NEWDECIMAL, 2 << 8 | 12, nullable=True, name="c"),
    ]
)
NAMED = NamedImages(PLAN, [0, 1, 2], ["a", "b", "c"])
INT, TEXT, DECIMAL = "07000000", "03616263", "800000000132"
SHORT_TEXT, NO_DECIMAL = "026162", "8000000001ff"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("00" + INT + TEXT + DECIMAL, "00" + INT + TEXT + DECIMAL),
        ("00" + INT + TEXT + DECIMAL, "02" + INT + DECIMAL),
        ("02" + INT + DECIMAL, "00" + INT + TEXT + DECIMAL),
        ("07", "00" + INT + TEXT + DECIMAL),
        ("00" + INT + TEXT + DECIMAL, "07"),
        ("07", "07"),
        # A shorter text with the same first bytes, and a longer one.
        ("04" + INT + TEXT, "04" + INT + SHORT_TEXT),
        ("04" + INT + SHORT_TEXT, "04" + INT + TEXT),
    ],
)
def test_a_null_or_another_value_is_not_taken_from_the_other_image(before: str, after: str) -> None:
    data = bytes.fromhex(before + after)
    whole = one_by_one(NAMED, PayloadReader(data))
    assert side_by_side(NAMED, PayloadReader(data)) == whole


def test_images_that_end_too_soon_are_an_error_of_the_column() -> None:
    image = bytes.fromhex("00" + INT + TEXT + DECIMAL)
    for end in range(1, 2 * len(image)):
        if end == len(image):
            continue
        errors = []
        for read in (one_by_one, side_by_side):
            with pytest.raises(DecodeError) as caught:
                read(NAMED, PayloadReader((image + image)[:end]))
            errors.append(caught.value.text)
        assert errors[0] == errors[1]


def test_bytes_that_are_no_value_are_an_error_in_either_image() -> None:
    good = bytes.fromhex("00" + INT + TEXT + DECIMAL)
    bad = bytes.fromhex("00" + INT + TEXT + NO_DECIMAL)
    for data in (good + bad, bad + good):
        errors = []
        for read in (one_by_one, side_by_side):
            with pytest.raises(DecodeError) as caught:
                read(NAMED, PayloadReader(data))
            errors.append(caught.value.text)
        assert errors[0] == errors[1]
        assert errors[0].startswith("column c (NEWDECIMAL): ")
