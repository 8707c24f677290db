"""Whether mirrors are equal to tables of the source, by readers that did not write them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from connector.lake.demo.stack import read_mirror
from connector.lake.demo.verdict import OWN_PREFIX, compare_all_rows, compare_table
from local_stack import connect
from local_stack.stack_errors import LocalStackError
from tests.stream_jobs.iceberg.reader_table import Case
from tests.stream_jobs.iceberg.readers import delta_rs_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from local_stack import Endpoint
    from tests.stream_jobs.iceberg.reader_table import Reader


def differences_of(source: Endpoint, database: str, mirrors: Path) -> list[str]:
    """Return how the mirrors in a folder differ from the tables of an idle server."""
    with closing(connect(source, database)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW FULL TABLES WHERE table_type LIKE 'BASE%' OR table_type LIKE 'SYS%'")
        tables = [str(row[0]) for row in cursor.fetchall()]
        columns = {}
        for table in tables:
            cursor.execute(f"SHOW COLUMNS FROM {table}")
            columns[table] = [str(row[0]) for row in cursor.fetchall()]
    found = []
    for table in tables:
        path = mirrors / table
        try:
            result = compare_table(source, database, table, path)
        except LocalStackError:
            # A table without a primary key has a mirror only if its rows have another key.
            if not path.is_dir():
                continue
            result = compare_all_rows(source, database, table, path)
        found += [f"{table}: {each}" for each in (*result.column_problems, *result.differences)]
        if not result.equal or not path.is_dir():
            continue
        fields = DeltaTable(path).schema().fields
        shown = [field.name for field in fields if not field.name.startswith(OWN_PREFIX)]
        if shown != columns[table]:
            found.append(f"{table}: the order of columns is {', '.join(shown)}")
    found += [
        f"{path.name}: the table is gone, and the mirror has rows"
        for path in (mirrors.iterdir() if mirrors.is_dir() else ())
        if path.name not in tables and read_mirror(path).num_rows
    ]
    return found


def reader_differences_of(readers: Sequence[Reader], mirrors: Path) -> list[str]:
    """Return which readers see other rows in the tables of a folder than delta-rs does."""
    found = []
    for path in mirrors.iterdir() if mirrors.is_dir() else ():
        iceberg = mirrors.parent / "_iceberg" / mirrors.name / path.name
        case = Case(path, iceberg, delta_rs_rows(path))
        for reader in readers:
            rows = reader.read(case)
            if rows != case.expected:
                found.append(f"{path.name}: {reader.name} reads {rows}, not {case.expected}")
    return found
