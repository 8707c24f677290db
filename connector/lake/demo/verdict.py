"""A second verdict, without any code of the product: it reads every row and every record.

`verify` speaks the verdict of the demo; the tests compare it with this one. A table of the source
is compared with its mirror row by row. SQL reads the source, in UTC. delta-rs reads the mirror.
Both sides are in memory.

https://delta-io.github.io/delta-rs/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pymysql
from deltalake.exceptions import TableNotFoundError
from pymysql.converters import encoders

from connector.lake.demo import demo_errors
from connector.lake.demo.canonical_values import Family, family_of
from connector.lake.demo.shop import DATABASE, MIRRORED_TABLES, TABLES
from connector.lake.demo.stack import DemoStack, read_mirror
from connector.lake.demo.topics import TopicCheck
from local_stack.server import Endpoint
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


# The prefix of the mirror's own columns, which the source does not have.
OWN_PREFIX = "_cdc_"
# How many differences are shown; all are counted.
DIFFERENCES_SHOWN_MAX = 5

Key = tuple[object, ...]
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that differs; its text has the key and the difference."""

    key: Key
    problem: str

    def __str__(self) -> str:
        """Return `(7, 'b') is missing from the mirror`."""
        shown = ", ".join(repr(part) for part in self.key)
        return f"({shown}) {self.problem}"


@dataclass(frozen=True, slots=True)
class TableComparison:
    """The result of comparing one table."""

    table: str  # database.table
    source_rows: int
    mirror_rows: int
    column_problems: tuple[str, ...]
    difference_count: int
    differences: tuple[Difference, ...]  # the first ones

    @property
    def equal(self) -> bool:
        """Whether the mirror has the source's columns and exactly its rows."""
        return not self.column_problems and not self.difference_count


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    key: int  # 1-based index in the primary key, 0 outside it
    family: Family


def compare_table(
    source: Endpoint,
    database: str,
    table: str,
    mirror: Path,
    *,
    where: str = "true",
    may_have_more: bool = False,
) -> TableComparison:
    """Compare `database.table` of an idle server with the Delta table at `mirror`.

    Of the mirror, rows are compared for which `where` holds. With `may_have_more` it may have more
    columns than the source.

    A table without any rows so far has no mirror, and counts as equal to a missing one. Raises
    LocalStackError for a table without a primary key, or for a column type without a family.
    """
    name = f"{database}.{table}"
    with closing(_open(source)) as connection, connection.cursor() as cursor:
        columns = _columns(cursor, database, table)
        if not any(column.key for column in columns):
            raise LocalStackError(demo_errors.NO_KEY, table=name)
        source_rows = _source_rows(cursor, database, table, columns)
    key = [column.name for column in sorted(columns, key=_place_in_key) if column.key]
    return _compare(
        name, columns, source_rows, mirror, key, where=where, may_have_more=may_have_more
    )


def compare_all_rows(source: Endpoint, database: str, table: str, mirror: Path) -> TableComparison:
    """Compare as `compare_table`, but each row with all its columns, and how often it is there."""
    with closing(_open(source)) as connection, connection.cursor() as cursor:
        columns = _columns(cursor, database, table)
        source_rows = _source_rows(cursor, database, table, columns)
    return _compare(f"{database}.{table}", columns, source_rows, mirror, ())


def _compare(
    name: str,
    columns: Sequence[_Column],
    source_rows: list[Row],
    mirror: Path,
    key: Sequence[str],
    *,
    where: str = "true",
    may_have_more: bool = False,
) -> TableComparison:
    try:
        arrow = read_mirror(mirror, where)
    except TableNotFoundError:
        missing = ("there is no mirror",) if source_rows else ()
        return TableComparison(name, len(source_rows), 0, missing, 0, ())
    names = [column.name for column in columns]
    shown = arrow.column_names
    if may_have_more:
        shown = [name for name in shown if name in names]
    problems = _column_problems(names, shown)
    differences: list[Difference] = []
    # Rows are compared only if the columns are the same; otherwise all of them would differ.
    if not problems:
        mirror_rows = _mirror_rows(arrow, columns)
        if key:
            differences = compare_rows(source_rows, mirror_rows, names, key)
        else:
            differences = _surplus_rows(source_rows, mirror_rows)
    return TableComparison(
        name,
        len(source_rows),
        arrow.num_rows,
        problems,
        len(differences),
        tuple(differences[:DIFFERENCES_SHOWN_MAX]),
    )


def _surplus_rows(source: Sequence[Row], mirror: Sequence[Row]) -> list[Difference]:
    """Return the rows that one side has more often than the other."""
    expected, actual = Counter(source), Counter(mirror)
    differences = [
        Difference(
            row, f"is in the source {expected[row]} times, in the mirror {actual[row]} times"
        )
        for row in expected | actual
        if expected[row] != actual[row]
    ]
    return sorted(differences, key=lambda difference: repr(difference.key))


def compare_rows(
    source: Sequence[Row], mirror: Sequence[Row], columns: Sequence[str], key: Sequence[str]
) -> list[Difference]:
    """Return the differences between rows with the same `columns`, by the columns of `key`."""
    indexes = [columns.index(name) for name in key]

    def key_of(row: Row) -> Key:
        return tuple(row[index] for index in indexes)

    source_rows = {key_of(row): row for row in source}
    mirror_rows = {key_of(row): row for row in mirror}
    copies = Counter(map(key_of, mirror))
    differences = [
        Difference(row_key, "is missing from the mirror")
        for row_key in source_rows.keys() - mirror_rows
    ]
    for row_key, row in mirror_rows.items():
        if copies[row_key] > 1:
            differences.append(Difference(row_key, f"is in the mirror {copies[row_key]} times"))
        elif row_key not in source_rows:
            differences.append(Difference(row_key, "is in the mirror alone"))
        elif row != source_rows[row_key]:
            pairs = zip(columns, row, source_rows[row_key], strict=True)
            unequal = ", ".join(name for name, ours, theirs in pairs if ours != theirs)
            differences.append(Difference(row_key, f"differs in {unequal}"))
    return sorted(differences, key=lambda difference: repr(difference.key))


def _open(source: Endpoint) -> pymysql.Connection[Cursor]:
    return pymysql.connect(
        host=source.host,
        port=source.port,
        user=source.user,
        password=source.password,
        charset="utf8mb4",
        init_command="SET time_zone = '+00:00'",
        # Only encoders: values arrive as the server's text or bytes.
        conv=dict(encoders.items()),
    )


def _columns(cursor: Cursor, database: str, table: str) -> list[_Column]:
    cursor.execute(
        "SELECT c.column_name, c.data_type, COALESCE(k.ordinal_position, 0)"
        " FROM information_schema.columns c"
        " LEFT JOIN information_schema.key_column_usage k"
        "   ON k.table_schema = c.table_schema AND k.table_name = c.table_name"
        "   AND k.column_name = c.column_name AND k.constraint_name = 'PRIMARY'"
        " WHERE c.table_schema = %s AND c.table_name = %s ORDER BY c.ordinal_position",
        (database, table),
    )
    return [
        _Column(name, int(key), family_of(data_type)) for name, data_type, key in cursor.fetchall()
    ]


def _source_rows(
    cursor: Cursor, database: str, table: str, columns: Sequence[_Column]
) -> list[Row]:
    selected = ", ".join(
        column.family.expression.format(_quoted(column.name)) for column in columns
    )
    cursor.execute(f"SELECT {selected} FROM {_quoted(database)}.{_quoted(table)}")  # noqa: S608 - quoted names
    rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    return [
        tuple(
            None if value is None else column.family.from_source(value)
            for column, value in zip(columns, row, strict=True)
        )
        for row in rows
    ]


def _mirror_rows(mirror: pa.Table, columns: Sequence[_Column]) -> list[Row]:
    values = (
        [
            None if value is None else column.family.from_mirror(value)
            for value in mirror.column(column.name).to_pylist()
        ]
        for column in columns
    )
    return list(zip(*values, strict=True))


def _place_in_key(column: _Column) -> int:
    return column.key


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _column_problems(source: Sequence[str], mirror: Sequence[str]) -> tuple[str, ...]:
    ours = [name for name in mirror if not name.startswith(OWN_PREFIX)]
    missing = [f"column {name} is missing from the mirror" for name in source if name not in ours]
    alone = [f"column {name} is in the mirror alone" for name in ours if name not in source]
    return tuple(missing + alone)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of comparing source, topics and mirror."""

    comparisons: Mapping[str, TableComparison]  # by table; those with a mirror
    checks: Mapping[str, TopicCheck]  # by table
    expected_records: Mapping[str, int]  # by table: what the committed changes lead to
    gtid_set: str

    @property
    def problems(self) -> list[str]:
        """All problems, one line each."""
        lines: list[str] = []
        for comparison in self.comparisons.values():
            lines_of_table = [*comparison.column_problems, *map(str, comparison.differences)]
            lines += [f"{comparison.table}: {problem}" for problem in lines_of_table]
            untold = comparison.difference_count - len(comparison.differences)
            if untold:
                lines.append(f"{comparison.table}: and {untold:,} more rows")
        for table, check in self.checks.items():
            expected = self.expected_records.get(table, 0)
            lines += check.problems
            untold = check.problem_count - len(check.problems)
            if untold:
                lines.append(f"{check.topic}: and {untold:,} more records")
            if check.records != expected:
                lines.append(
                    f"{check.topic} has {check.records:,} records of changes, "
                    f"but {expected:,} were committed"
                )
        return lines

    @property
    def rows(self) -> int:
        """How many rows of the source were compared."""
        return sum(comparison.source_rows for comparison in self.comparisons.values())

    @property
    def copied(self) -> int:
        """How many rows were copied when the connector started."""
        return sum(check.copied for check in self.checks.values())

    @property
    def records(self) -> int:
        """How many records of changes the topics have."""
        return sum(check.records for check in self.checks.values())

    def lines(self) -> list[tuple[str, str, str, str, str]]:
        """Return name, rows of the source, rows of the mirror, records, and the word, by table."""
        lines = []
        for table, check in self.checks.items():
            comparison = self.comparisons.get(table)
            if comparison is None:
                rows = ("no key", "no mirror", f"{check.records:,}", "in Kafka")
            else:
                rows = (
                    f"{comparison.source_rows:,}",
                    f"{comparison.mirror_rows:,}",
                    f"{check.records:,}",
                    "equal" if comparison.equal else "DIFFERENT",
                )
            lines.append((f"{DATABASE}.{table}", *rows))
        return lines


def judge(stage: DemoStack, gtid_set: str) -> Verdict:
    """Compare all parts of an idle stage; `gtid_set` is what the source has executed."""
    comparisons = {
        table: compare_table(stage.source, DATABASE, table, stage.directory.mirror_of(table))
        for table in MIRRORED_TABLES
    }
    checks = stage.topics.check(DATABASE, TABLES)
    return Verdict(comparisons, checks, stage.workload.records, gtid_set)
