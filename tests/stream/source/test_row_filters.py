"""Conditions on columns become filters of rows; `tests/integration/snapshots` compares servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.columns.column import ABSENT, EnumIndex
from connector.foundation.errors import ConfigError, UnsupportedChange
from connector.foundation.settings.envelope import FilterSettings
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.row_filter import FilteredTable
from connector.stream.source import table_errors
from connector.stream.source.row_filters import ConditionFilters

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn
    from connector.foundation.errors.code import ErrorCode
    from connector.stream.envelope.debezium.row_filter import RowFilter


def column(name: str, kind: str, **others: Any) -> SchemaColumn:
    given: SchemaColumn = {"name": name, "type": kind, "nullable": True, "key": 0, **others}  # type: ignore[typeddict-item]
    return given


COLUMNS = (
    column("id", "int"),
    column("amount", "decimal"),
    column("Status", "varchar", charset="utf8mb4"),
    column("kind", "enum", labels=["new", "old"]),
    column("raw", "varbinary"),
    column("born", "date"),
    column("at", "datetime"),
    column("weight", "double"),
    column("phone", "varchar", charset="utf8mb4"),
)
NAMES = [each["name"] for each in COLUMNS]
# Columns of the table that records leave out come first.
TABLE = FilteredTable("shop", "orders", COLUMNS, range(1, len(COLUMNS) + 1), {"phone"})
ROW: dict[str, Any] = {
    "id": 7,
    "amount": "10.50",
    "Status": "draft",
    "kind": "old",
    "raw": b"\x00\xff",
    "born": "2026-01-31",
    "at": "2026-01-31 08:15:00.250",
    "weight": 1.5,
    "phone": None,
}


def filter_of(*wheres: str, tables: str = "shop.*") -> RowFilter | None:
    chosen = [FilterSettings(tables=tables, where=where) for where in wheres]
    return ConditionFilters(chosen).of(TABLE)


def keeps(where: str, **others: Any) -> bool:
    found = filter_of(where)
    assert found is not None
    return found.keeps_logged([ABSENT, *(ROW | others).values()])


@pytest.mark.parametrize(
    "where",
    [
        "id = 7 AND amount > 10 AND amount < 10.51",
        "ID = 7.0 AND amount = 10.5",
        "-8 < id AND NOT id = -7",
        "status <> 'Draft' AND STATUS = 'draft'",
        "orders.status IN ('a', 'draft') AND shop.orders.id NOT IN (1, 2)",
        "status LIKE 'dr_f%' AND status NOT LIKE 'D%' AND NOT status LIKE 'dr|_ft' ESCAPE '|'",
        "kind = 'old' AND kind <> 'new'",
        "raw = X'00FF' AND raw < X'01'",
        "born = '2026-01-31' AND born BETWEEN '2026-01-01' AND '2026-01-31'",
        "at > '2026-01-31' AND at < '2026-01-31 08:15:00.2501' AND at <> '2026-01-31 08:15:00'",
        "weight IS NOT NULL AND born IS NOT NULL OR FALSE",
        "id AND id IS TRUE AND (id = 8) IS NOT TRUE",
        "id = 7 XOR id = 8",
        "id <=> 7 AND NOT (id <=> NULL)",
        "(id = NULL) IS NULL AND (id IN (1, NULL)) IS NULL AND id IN (7, NULL)",
        "NULL OR id = 7",
        "id BETWEEN 1 AND 7 && (id = 1 OR id = 7)",
    ],
)
def test_a_row_that_meets_the_condition_is_kept(where: str) -> None:
    assert keeps(where)
    assert not keeps(f"NOT ({where})")


@pytest.mark.parametrize("where", ["status = 'x'", "status <> 'x'", "NOT status = 'x'", "NULL"])
def test_a_condition_that_is_unknown_keeps_nothing(where: str) -> None:
    assert not keeps(where, Status=None)


def test_a_row_must_meet_all_conditions_of_its_table() -> None:
    found = filter_of("id = 7", "amount > 11")
    assert found is not None
    assert not found.keeps_logged([ABSENT, *ROW.values()])
    assert filter_of("id = 7", tables="erp.*") is None


def test_the_error_value_of_an_enum_is_an_empty_text() -> None:
    assert keeps("kind = ''", kind=EnumIndex(0))
    with pytest.raises(UnsupportedChange) as caught:
        keeps("kind = ''", kind=EnumIndex(9))
    assert caught.value.code is record_errors.NOT_TEXT


def test_a_value_that_the_log_leaves_out_cannot_be_judged() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        keeps("id = 7", id=ABSENT)
    assert caught.value.code is record_errors.COLUMN_ABSENT


def test_cells_of_a_select_are_the_same_values() -> None:
    found = filter_of("kind = 'old' AND at = '2026-01-31 08:15:00.25' AND status = 'é' AND id = 7")
    assert found is not None
    assert [NAMES[index] for index in found.indexes] == ["kind", "at", "Status", "id"]
    cells = [b"2", b"2026-01-31 08:15:00.250", "é".encode(), b"7"]
    assert found.keeps_selected(cells)
    assert not found.keeps_selected([None, *cells[1:]])
    for wrong in (b"\xff", b"3"):
        with pytest.raises(UnsupportedChange) as caught:
            found.keeps_selected(
                [wrong, *cells[1:]] if wrong == b"3" else [*cells[:2], wrong, b"7"]
            )
        assert caught.value.code is record_errors.NOT_TEXT


@pytest.mark.parametrize(
    ("where", "code", "text"),
    [
        (
            "prize > 1",
            table_errors.FILTER_NO_COLUMN,
            "names prize, which is no column of its records",
        ),
        (
            "erp.orders.id > 1",
            table_errors.FILTER_NO_COLUMN,
            "names erp.orders.id, which is no column",
        ),
        ("phone = '1'", table_errors.MASKED, "names shop.orders.phone, which is masked"),
        ("weight > 1", table_errors.NOT_COMPARABLE, "compares shop.orders.weight (DOUBLE), and"),
        ("1 = weight", table_errors.NOT_COMPARABLE, "compares shop.orders.weight (DOUBLE), and"),
        ("status = 5", table_errors.KINDS, "compares shop.orders.Status (VARCHAR) with 5"),
        ("id IN (1, '2')", table_errors.KINDS, "compares shop.orders.id (INT) with '2'"),
        ("born = at", table_errors.KINDS, "compares shop.orders.born (DATE) with shop.orders.at"),
        ("status > 'a'", table_errors.ORDER, "asks for the order of texts, of shop.orders.Status"),
        ("born > '31.1.2026'", table_errors.NO_MOMENT, "compares a date with '31.1.2026'"),
        ("id LIKE '7%'", table_errors.LIKE, "uses LIKE for something else than a text column"),
        ("status LIKE kind", table_errors.LIKE, "uses LIKE for something else than a text column"),
        ("status", table_errors.NO_TRUTH, "takes shop.orders.Status (VARCHAR) for true or false"),
    ],
)
def test_what_does_not_fit_the_columns_is_refused(where: str, code: ErrorCode, text: str) -> None:
    with pytest.raises(UnsupportedChange) as caught:
        filter_of(where)
    assert caught.value.code is code
    assert caught.value.text.startswith(f"the filter of shop.orders {text}")
    assert caught.value.text.endswith(
        "; correct envelope.filters: docs/topics.md says what one may compare"
    )


@pytest.mark.parametrize(
    "where", ["LOWER(status) = 'a'", "id + 1 = 2", "id % 2", "id = - id", "id = 1e3"]
)
def test_functions_and_calculations_are_refused_at_the_start(where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        filter_of(where)
    assert caught.value.code is table_errors.CALCULATES
    assert caught.value.text == (
        "envelope.filters, shop.*: the condition calls a function or calculates, which a filter "
        "cannot; docs/topics.md says what one may hold"
    )


def test_a_deep_condition_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        filter_of("id XOR " * 100 + "id")
    assert caught.value.code is table_errors.DEPTH
    assert keeps("id = 7" + " OR id = 8" * 300)
