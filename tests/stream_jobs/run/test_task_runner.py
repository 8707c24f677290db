"""Which tasks are small enough for the driver."""

import pytest

from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task_messages import CompactedFiles, TablePart, Task
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.run.task_runner import small_task
from stream_jobs.source.topics import BrokerConfig, OffsetRange

TEMPLATE = Task(
    BrokerConfig((), 1.0, ()), LocalStorage("unused"), IndexFolder("unused", 0), "error", 1
)


def part(table: int, *records: int) -> TablePart:
    """The part of a table with so many records in each partition."""
    topic = f"cdc.shop.t{table}"
    ranges = [OffsetRange(topic, number, 7, 7 + count) for number, count in enumerate(records)]
    return TablePart(topic, tuple(ranges), {}, None, None, None)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[part(1, 2000)]], True),
        ([[part(1, 2001)]], False),
        ([[part(1, 1000, 1001)]], False),
        ([[part(1, 1000)], [part(2, 1000)]], True),
        ([[part(1, 1000)], [part(2, 1001)]], False),
        ([[part(table, 1) for table in range(8)]], True),
        (
            [[part(table, 1) for table in range(5)], [part(table, 1) for table in range(5, 9)]],
            False,
        ),
    ],
)
def test_few_records_of_few_tables_are_one_small_task(
    parts: list[list[TablePart]], *, expected: bool
) -> None:
    small = small_task([TEMPLATE.doing(parts=tuple(own)) for own in parts])
    every = tuple(part for own in parts for part in own)
    assert (small.parts if small else None) == (every if expected else None)


def test_work_on_data_files_is_never_small() -> None:
    files = CompactedFiles("cdc.shop.t1", "shop/t1", (), (), (), ())
    work = [TEMPLATE.doing(parts=(part(1, 1),)), TEMPLATE.doing(compacted=(files,))]
    assert small_task(work) is None
