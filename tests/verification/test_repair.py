"""The keys of rows that differ become conditions, or lists of keys, for few copies."""

from __future__ import annotations

from connector.stream.snapshot.keyset import KEYS_CHARACTERS_MAX
from connector.stream.source import CONDITION_CHARACTERS_MAX
from connector.stream.source.condition_parser import Condition
from connector.stream.source.selected_table import KeyColumn
from verification.repair import ALL_ROWS, copies_for


def column(name: str, kind: str) -> KeyColumn:
    return KeyColumn(name, f"`{name}`", True, kind, "utf8mb4", "", name)


def test_numbers_of_one_column_are_in_long_lists() -> None:
    keys = [(10**8 + n,) for n in range(1000)]
    found = copies_for([column("id", "int")], keys, [])
    assert len(found) < 5
    assert sum(each.where.count(",") + 1 for each in found) == 1000


def test_each_condition_is_one_that_the_pipeline_takes() -> None:
    texts: list[tuple[object, ...]] = [("k" * 2500 + str(n),) for n in range(3)]
    found = copies_for([column("name", "varchar")], texts, [])
    assert len(found) == 3
    pairs: list[tuple[object, ...]] = [(n, f"it's {n}") for n in range(50)]
    found += copies_for([column("a", "int"), column("b", "varchar")], pairs, [])
    found += copies_for([column("a", "int")], [], ['{"a":1}'])
    for each in found:
        assert len(each.where) <= CONDITION_CHARACTERS_MAX
        Condition.parse(each.where)


def test_what_no_condition_and_no_key_can_say_needs_all_rows() -> None:
    one = [column("name", "varchar")]
    assert copies_for(one, [("k" * 5000,)], []) == [ALL_ROWS]
    assert copies_for(one, [("a",)], None) == [ALL_ROWS]


def test_surplus_keys_are_in_lists_that_a_request_can_have() -> None:
    one = [column("name", "varchar")]
    short = [f'{{"name":"{n}"}}' for n in range(501)]
    assert [len(each.keys) for each in copies_for(one, [], short)] == [500, 1]
    long = [f'{{"name":"{n:03000}"}}' for n in range(100)]
    found = copies_for(one, [], long)
    assert [key for each in found for key in each.keys] == long
    assert len(found) == 4
    assert all(sum(map(len, each.keys)) <= KEYS_CHARACTERS_MAX for each in found)
