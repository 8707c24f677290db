"""What readers of both formats can read: the lines of the table in docs/tables.md.

A cell says what a reader did with a table; nobody writes it by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from tests.stream_jobs.delta.sample import Sample, rows
from tests.stream_jobs.iceberg.readers import Rows, sorted_rows
from tests.stream_jobs.iceberg.table_story import Published

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAGE = Path(__file__).parents[3] / "docs" / "tables.md"


class Case(NamedTuple):
    """A table of a kind, and what readers must find in it."""

    delta: Path
    iceberg: Path
    expected: Rows
    version: int | None = None  # that is read; None: the newest


def every_type(root: Path) -> Case:
    sample, published = _sample(root)
    sample.append(range(3))
    return _case(sample, published, rows(range(3)))


def dead_rows(root: Path) -> Case:
    sample, published = _sample(root)
    file = sample.append(range(9))
    sample.kill(**{file.path: [0, 4]})
    return _case(sample, published, rows([1, 2, 3, 5, 6, 7, 8]))


def changed_columns(root: Path) -> Case:
    """A column is renamed, another one dropped, and one added that is called as it was."""
    sample, published = _sample(root)
    sample.append(range(3))
    metadata = sample.table.snapshot.metadata
    kept = [
        column._replace(name="renamed") if column.name == "tiny" else column
        for column in sample.table.snapshot.columns
        if column.name != "big"
    ]
    (added,) = new_columns([("big", pa.string(), {})], metadata.last_id)
    sample.table.commit(TableCommit(metadata=metadata.with_columns([*kept, added])), "ALTER")
    expected = rows(range(3)).drop_columns(["big"])
    return _case(sample, published, expected.append_column("big", pa.nulls(3, pa.string())))


def partitions(root: Path) -> Case:
    storage = LocalStorage(str(root))
    columns = new_columns([("id", pa.int64(), {}), ("country", pa.string(), {})])
    metadata = Metadata(columns, partition_columns=("country",))
    table = DeltaTable.create(storage, "shop/t", metadata)
    own = table.snapshot.metadata.file_columns
    new = [
        write_file(
            storage,
            "shop/t",
            own,
            pa.table({"id": pa.array([number], pa.int64())}),
            partition_values={columns[1].physical_name: country},
        )
        for number, country in enumerate(("de", "a/b %=", None))
    ]
    table.commit(TableCommit(new=new), "WRITE")
    published = Published(storage, "shop/t")
    published.publish(table)
    expected = pa.table({"id": [0, 1, 2], "country": ["de", "a/b %=", None]})
    return Case(published.delta, published.folder, sorted_rows(expected))


def older_version(root: Path) -> Case:
    sample, published = _sample(root)
    sample.append(range(3))
    published.publish(sample.table)
    version = sample.table.snapshot.version
    sample.append(range(3, 6))
    case = _case(sample, published, rows(range(3)))
    return case._replace(version=version)


def _sample(root: Path) -> tuple[Sample, Published]:
    storage = LocalStorage(str(root))
    return Sample(storage, "shop/t"), Published(storage, "shop/t")


def _case(sample: Sample, published: Published, expected: pa.Table) -> Case:
    published.publish(sample.table)
    return Case(published.delta, published.folder, sorted_rows(expected))


CASES: dict[str, Callable[[Path], Case]] = {
    "all types": every_type,
    "deleted rows": dead_rows,
    "partitions": partitions,
    "changed columns": changed_columns,
    "older versions": older_version,
}


class Reader(NamedTuple):
    """A way to read tables."""

    name: str
    format: str
    how: str
    read: Callable[[Case], Rows]


def line(reader: Reader, cases: Mapping[str, Case]) -> str:
    """Return the line of the page; a reader that finds other rows without an error is `wrong`."""
    cells = [_cell(reader, cases[title]) for title in CASES]
    return f"| {reader.name} | {reader.format} | `{reader.how}` | {' | '.join(cells)} |"


def _cell(reader: Reader, case: Case) -> str:
    try:
        found = reader.read(case)
    except Exception:  # noqa: BLE001 - each reader has errors of its own
        return "refused"
    return "yes" if found == case.expected else "wrong"


def title_lines() -> list[str]:
    titles = ["reader", "format", "how", *CASES]
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]


def made(root: Path) -> dict[str, Case]:
    """Make a table of each kind below `root`."""
    found: dict[str, Case] = {}
    for number, (title, make) in enumerate(CASES.items()):
        folder = root / str(number)
        folder.mkdir()
        found[title] = make(folder)
    return found


def require(*lines: str) -> None:
    """The page must have these lines."""
    there = PAGE.read_text().splitlines()
    lacking = [line for line in lines if line not in there]
    assert not lacking, "docs/tables.md lacks:\n" + "\n".join(lacking)
