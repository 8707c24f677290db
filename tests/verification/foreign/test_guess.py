"""What the columns of a target are taken for, by their names, types and rows."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from stream_jobs.errors import MirrorError
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from tests.stream_jobs.topics import column
from verification.checksums import Checksums
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.forms import forms_of
from verification.foreign.guess import MappingGuess
from verification.foreign.table_choice import ColumnChoice, TableChoice
from verification.foreign.target_rows import TargetRows
from verification.key_ranges import KeyRanges
from verification.row_text import MirrorText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from connector.foundation.contract import SchemaColumn


def schema(*columns: SchemaColumn) -> TableSchema:
    return TableSchema("shop", "t", "a", PackedSequence(0, 0), columns)


class _Source:
    """A table whose collation takes letters of both cases for the same."""

    def __init__(self, table: TableSchema, rows: pa.Table) -> None:
        self.schema = table
        self._rows = rows

    @property
    def no_rows(self) -> pa.Table:
        return self._rows.slice(0, 0)

    def rows_of(self, keys: Sequence[tuple[Any, ...]]) -> Iterator[pa.Table]:
        wanted = {str(key).lower() for (key,) in keys}
        found = [str(own).lower() in wanted for own in self._rows["id"].to_pylist()]
        yield self._rows.filter(pa.array(found))


def guessed(path: Path, source: _Source, data: pa.Table, **columns: ColumnChoice) -> ColumnMapping:
    """Return the mapping of a Delta table with some rows."""
    write_deltalake(path, data)
    target = DeltaTarget(f"delta:{path}", str(path))
    target.refresh()
    choice = TableChoice("shop", "t", target.name, columns)
    own: Any = source
    return MappingGuess(own, target, choice).mapping()


@pytest.mark.parametrize(
    ("names", "skipped", "chosen", "mark"),
    [
        (["id", "deleted_at"], (), {}, None),
        (["id", "deleted_at"], ("deleted_at",), {}, None),
        (["id", "DELETED_AT", "__deleted"], ("deleted_at",), {}, "__deleted"),
        (["id", "gone", "deleted_at"], (), {"deleted_at": "gone"}, None),
        (["id", "is_deleted"], ("isDeleted",), {}, None),
        (["id", "op"], ("deleted_at",), {}, "op"),
    ],
)
def test_no_column_of_the_source_marks_deleted_rows(
    names: list[str], skipped: tuple[str, ...], chosen: dict[str, str], mark: str | None
) -> None:
    columns = [column("id", "int", key=1), column("deleted_at", "datetime")]
    columns += [column("isDeleted", "tinyint")]
    found = ColumnNames.of(schema(*columns), names, chosen, skipped)
    assert found.mark == mark
    assert not set(skipped) & set(found.targets)
    assert set(skipped) <= set(found.only_source)


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["user_name"], {"user_name": "user_name"}),
        (["USERNAME"], {"username": "USERNAME"}),
        (["UserName", "user_name"], {"user_name": "user_name", "username": "UserName"}),
        # It may be either.
        (["user__name"], {}),
    ],
)
def test_a_column_of_the_target_is_one_of_the_source(
    targets: list[str], expected: dict[str, str]
) -> None:
    names = [column(name, "int") for name in ("username", "user_name")]
    found = ColumnNames.of(schema(*names), targets, {})
    assert found.targets == expected
    assert found.only_source == [own["name"] for own in names if own["name"] not in expected]
    chosen = ColumnNames.of(schema(*names), ["user_name"], {"username": "user_name"})
    assert chosen.targets == {"username": "user_name"}


def test_a_column_whose_type_cannot_be_read_has_to_be_skipped(tmp_path: Path) -> None:
    table = schema(
        column("id", "int", key=1), column("note", "varchar"), column("place", "geometry")
    )
    source = _Source(table, pa.table({"id": pa.array([1], pa.int32())}))
    data = pa.table({"id": [1], "note": [["a"]], "place": ["POINT(1 2)"]})
    with pytest.raises(MirrorError) as raised:
        guessed(tmp_path / "t", source, data)
    assert raised.value.code is foreign_errors.TARGET_VALUE
    assert "the column note cannot be read: the source has VARCHAR, the target" in str(raised.value)
    mapping = guessed(tmp_path / "other", source, data, note=ColumnChoice(skip=True))
    assert (mapping.columns, mapping.names.only_source) == (["id"], ["note", "place"])


def test_keys_that_only_a_collation_takes_for_the_same_tell_no_form(tmp_path: Path) -> None:
    table = schema(column("id", "char", key=1, length=36), column("day", "date"))
    rows = pa.table({"id": ["AB", "CD"], "day": pa.array([1, 2], pa.int32()).cast(pa.date32())})
    mapping = guessed(
        tmp_path / "t", _Source(table, rows), pa.table({"id": ["ab", "cd"], "day": [1, 2]})
    )
    assert [pair.note for pair in mapping.pairs.values()] == ["", ""]


class _Batches:
    """A target with some batches."""

    def __init__(self, *batches: pa.Table) -> None:
        self._batches = batches
        self.schema = batches[0].schema

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        for batch in self._batches:
            yield batch.select(list(names))


def guess_of(batches: Sequence[dict[str, Any]], rows: dict[str, Any]) -> ColumnMapping:
    """Return the mapping of a target with batches: `made` is a DATETIME(6), `price` a DECIMAL."""
    table = schema(
        column("id", "int", key=1),
        column("made", "datetime", fraction=6),
        column("price", "decimal", precision=12, scale=2),
    )
    kinds = [pa.int32(), pa.timestamp("us"), pa.decimal128(12, 2)]
    own = pa.schema(list(zip(("id", "made", "price"), kinds, strict=True)))
    source: Any = _Source(table, pa.table(rows, own))
    target: Any = _Batches(*(pa.table(batch) for batch in batches))
    target.name = "delta:/lake/t"
    return MappingGuess(source, target, TableChoice("shop", "t", target.name, {})).mapping()


def test_the_form_of_values_that_all_lag_is_one_that_they_may_have() -> None:
    """Of 1.50 and 2.50, the target has earlier values, whose base64 is no number."""
    made = [datetime(2026, 1, day, tzinfo=UTC).replace(tzinfo=None) for day in (1, 2)]
    rows = {"id": [1, 2], "made": made, "price": [Decimal("1.50"), Decimal("2.50")]}
    mapping = guess_of([{"id": [1, 2], "made": made, "price": ["AP8=", "9Eg="]}], rows)
    pair = mapping.pairs["price"]
    assert (pair.form.name, pair.note) == ("base64 of unscaled bytes", "0 of 2 values")


@pytest.mark.parametrize(
    ("unit", "parts"), [("seconds", 1), ("milliseconds", 1000), ("microseconds", 10**6)]
)
def test_the_unit_of_times_that_all_lag_is_the_nearest_one(unit: str, parts: int) -> None:
    """As in a table all of whose rows change each second."""
    made = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 5)]
    rows = {
        "id": [1, 2, 3, 4],
        "made": [each.replace(tzinfo=None) for each in made],
        "price": [Decimal("1.50")] * 4,
    }
    late = [(round(each.timestamp()) - 3) * parts for each in made]
    batches = [
        {"id": ids, "made": late[ids[0] - 1 : ids[1]], "price": ["1.50"] * 2}
        for ids in ([1, 2], [3, 4])
    ]
    pair = guess_of(batches, rows).pairs["made"]
    assert (pair.form.name, pair.note) == (f"{unit} since 1970", "0 of 4 values")


@pytest.mark.parametrize("fraction", [0, 3, 6])
@pytest.mark.parametrize(
    ("unit", "parts"),
    [("seconds", 1), ("milliseconds", 1000), ("microseconds", 10**6), ("nanoseconds", 10**9)],
)
def test_the_unit_of_clocks_that_all_lag_is_the_nearest_one(
    unit: str, parts: int, fraction: int
) -> None:
    table = schema(column("id", "int", key=1), column("at", "time", fraction=fraction))
    seconds = [30, 3600, -7200, 40_000]
    digits = "." + "0" * fraction if fraction else ""
    texts = [f"{text}{digits}" for text in ("00:00:30", "01:00:00", "-02:00:00", "11:06:40")]
    own = pa.schema([("id", pa.int32()), ("at", pa.string())])
    source: Any = _Source(table, pa.table({"id": [1, 2, 3, 4], "at": texts}, own))
    late = [(each - 3) * parts for each in seconds]
    target: Any = _Batches(pa.table({"id": [1, 2, 3, 4], "at": late}))
    target.name = "delta:/lake/t"
    guess = MappingGuess(source, target, TableChoice("shop", "t", target.name, {}))
    pair = guess.mapping().pairs["at"]
    assert (pair.form.name, pair.note) == (f"{unit} since midnight", "0 of 4 values")


def test_more_rows_are_read_where_those_of_a_sample_lag() -> None:
    made = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 5)]
    ms = [round(each.timestamp() * 1000) for each in made]
    rows = {
        "id": [1, 2, 3, 4],
        "made": [each.replace(tzinfo=None) for each in made],
        "price": [Decimal("1.50")] * 4,
    }
    lagging = {"id": [1, 2], "made": [ms[0] - 5000, ms[1] - 5000], "price": ["1.50"] * 2}
    others = {"id": [3, 4], "made": ms[2:], "price": ["1.50"] * 2}
    pair = guess_of([lagging, others], rows).pairs["made"]
    assert (pair.form.name, pair.note) == ("milliseconds since 1970", "2 of 4 values")
    # One batch tells enough.
    pair = guess_of([others, lagging], rows).pairs["made"]
    assert (pair.form.name, pair.note) == ("milliseconds since 1970", "2 of 2 values")
    # Nothing equals a row of the source.
    nobody = {"id": [8, 9], "made": ms[2:], "price": ["1.50"] * 2}
    pair = guess_of([nobody, others], rows).pairs["made"]
    assert (pair.form.name, pair.note) == ("milliseconds since 1970", "2 of 2 values")


def test_more_rows_are_read_where_a_column_has_no_value_in_a_sample() -> None:
    made = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 5)]
    ms = [round(each.timestamp() * 1000) for each in made]
    rows = {
        "id": [1, 2, 3, 4],
        "made": [None, None, *(each.replace(tzinfo=None) for each in made[2:])],
        "price": [Decimal("1.50")] * 4,
    }
    newest = {"id": [1, 2], "made": pa.nulls(2, pa.int64()), "price": ["1.50"] * 2}
    others = {"id": [3, 4], "made": ms[2:], "price": ["1.50"] * 2}
    pair = guess_of([newest, others], rows).pairs["made"]
    assert (pair.form.name, pair.note) == ("milliseconds since 1970", "2 of 2 values")
    # Nowhere has it a value.
    pair = guess_of([newest, newest], rows).pairs["made"]
    assert pair.note == "no value to learn from"


def test_a_sample_with_few_rows_does_not_decide_the_form_of_the_key() -> None:
    """The key is in milliseconds; one row of a sample is found in microseconds, too."""
    table = schema(column("id", "datetime", key=1), column("made", "datetime", fraction=6))
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 5)]
    own = [each.replace(tzinfo=None) for each in days]
    rows = pa.table(
        {"id": own, "made": own}, pa.schema([(name, pa.timestamp("us")) for name in ("id", "made")])
    )
    source: Any = _Source(table, rows)
    ms, us = ([round(each.timestamp() * part) for each in days] for part in (1000, 10**6))
    most = pa.table({"id": ms[:3], "made": [each - 1 for each in ms[:3]]})
    few = pa.table({"id": us[3:], "made": [us[3] - 1]})
    for batches in ([most, few], [few, most]):
        target: Any = _Batches(*batches)
        target.name = "delta:/lake/t"
        guess = MappingGuess(source, target, TableChoice("shop", "t", target.name, {}))
        pairs = guess.mapping().pairs
        assert pairs["id"].form.name == "milliseconds since 1970"
        assert pairs["made"].note == "0 of 3 values"


def test_the_sum_of_a_range_with_an_unfit_value_equals_none() -> None:
    columns = (column("id", "int", key=1), column("day", "date"))
    kinds = (pa.int32(), pa.string())
    pairs = [
        ColumnPair(own, own["name"], forms_of(own, kind)[0])
        for own, kind in zip(columns, kinds, strict=True)
    ]
    names = ColumnNames({own["name"]: own["name"] for own in columns})
    mapping = ColumnMapping(schema(*columns), pairs, names)
    first, second = (
        pa.table({"id": pa.array(ids, pa.int32()), "day": days})
        for ids, days in (([1, 2], ["2026-02-31", "2026-03-01"]), ([3], ["2026-03-02"]))
    )
    text, target = MirrorText.of_mirror(columns), _Batches(first, second)
    assert text is not None
    own: Any = target
    exact: Any = text
    sums, _ = TargetRows(own, mapping).sums(KeyRanges.whole(), exact, lambda *_: None)
    assert isinstance(sums, Checksums)
    assert sums.rows.tolist() == [-1]
