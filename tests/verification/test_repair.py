"""The keys of rows that differ become conditions for few copies."""

from __future__ import annotations

from connector.snapshot.condition import CHARACTERS_MAX, Condition
from connector.source.tables.selected_table import KeyColumn
from verification.repair import ALL_ROWS, copies_for
from verification.report import Difference, Kind


def column(name: str, kind: str) -> KeyColumn:
    return KeyColumn(name, f"`{name}`", True, kind, "utf8mb4", "", name)


def different(count: int, kind: Kind = "different") -> list[Difference]:
    return [Difference(kind, {}, None, None)] * count


def test_numbers_of_one_column_are_in_long_lists() -> None:
    keys = [(10**8 + n,) for n in range(1000)]
    found = copies_for([column("id", "int")], keys, different(1000))
    assert len(found) < 5
    assert sum(where.count(",") + 1 for where in found) == 1000


def test_each_condition_is_one_that_the_pipeline_takes() -> None:
    texts: list[tuple[object, ...]] = [("k" * 2500 + str(n),) for n in range(3)]
    found = copies_for([column("name", "varchar")], texts, different(3))
    assert len(found) == 3
    pairs: list[tuple[object, ...]] = [(n, f"it's {n}") for n in range(50)]
    found += copies_for([column("a", "int"), column("b", "varchar")], pairs, different(50))
    for where in found:
        assert len(where) <= CHARACTERS_MAX
        Condition.parse(where)


def test_what_no_condition_can_say_needs_all_rows() -> None:
    one = [column("name", "varchar")]
    assert copies_for(one, [("k" * 5000,)], different(1)) == [ALL_ROWS]
    assert copies_for(one, [("a",)], different(1, "surplus")) == [ALL_ROWS]
