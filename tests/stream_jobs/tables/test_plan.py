"""The ranges of a batch are spread over tasks, each of them once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream_jobs.apply.task_messages import TablePart
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.task_plan import distribute_parts, divide_work


def part(topic: str, *records: int) -> TablePart:
    ranges = tuple(OffsetRange(topic, number, 7, 7 + n) for number, n in enumerate(records))
    return TablePart(topic, ranges, {}, None, None, None)


parts = st.lists(
    st.lists(st.integers(0, 60_000), min_size=1, max_size=5), min_size=1, max_size=12
).map(lambda counts: [part(f"t{number}", *each) for number, each in enumerate(counts)])


@given(parts, st.integers(1, 8), st.sets(st.integers(0, 11)))
def test_each_range_is_in_one_task_and_a_topic_once_in_each(
    given_parts: list[TablePart], tasks: int, whole: set[int]
) -> None:
    topics = frozenset(f"t{number}" for number in whole)
    found = distribute_parts(given_parts, tasks, topics)
    assert 1 <= len(found) <= tasks
    ranges = [each for own in found for piece in own for each in piece.ranges]
    assert sorted(ranges) == sorted(each for piece in given_parts for each in piece.ranges)
    for own in found:
        assert len({piece.topic for piece in own}) == len(own)
    for topic in topics:
        assert sum(piece.topic == topic for own in found for piece in own) <= 1


@given(st.lists(st.integers(0, 1000)), st.integers(1, 8))
def test_shares_have_about_the_same_size(sizes: list[int], tasks: int) -> None:
    found = divide_work(list(enumerate(sizes)), tasks, lambda each: each[1])
    assert sorted(each for own in found for each in own) == list(enumerate(sizes))
    assert len(found) <= tasks
    assert all(found)
    loads = [sum(size for _, size in own) for own in found]
    if len(loads) == tasks:
        assert max(loads) - min(loads) <= max(sizes)


def test_work_of_many_tables_is_divided_without_adding_all_of_it_up_for_each() -> None:
    asked = []

    def size(each: int) -> int:
        asked.append(each)
        return 1

    assert [len(own) for own in divide_work(range(1000), 2, size)] == [500, 500]
    assert len(asked) <= 2 * 1000


def test_few_records_are_one_task() -> None:
    assert len(distribute_parts([part("a", 50), part("b", 40)], 4)) == 1


def test_many_small_tables_are_shared_out_whole() -> None:
    found = distribute_parts([part(f"t{number}", 100, 100, 100) for number in range(40)], 4)
    assert [len(own) for own in found] == [10, 10, 10, 10]


def test_a_large_table_is_split_by_partitions() -> None:
    found = distribute_parts([part("large", 50_000, 50_000), part("small", 10)], 2)
    assert sorted(
        sum(each.end - each.start for p in own for each in p.ranges) for own in found
    ) == [
        50_000,
        50_010,
    ]
