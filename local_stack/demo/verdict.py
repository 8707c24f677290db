"""A second verdict, without any code of the product: it reads every row and every record.

`verify` speaks the verdict of the demo; the tests compare it with this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_stack.demo.comparison import TableComparison, compare_table
from local_stack.demo.shop import DATABASE, MIRRORED_TABLES, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local_stack.demo.stage import Stage
    from local_stack.demo.topics import TopicCheck


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
            found = [*comparison.column_problems, *map(str, comparison.differences)]
            lines += [f"{comparison.table}: {each}" for each in found]
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


def judge(stage: Stage, gtid_set: str) -> Verdict:
    """Compare all parts of an idle stage; `gtid_set` is what the source has executed."""
    comparisons = {
        table: compare_table(stage.source, DATABASE, table, stage.directory.mirror_of(table))
        for table in MIRRORED_TABLES
    }
    checks = stage.topics.check(DATABASE, TABLES)
    return Verdict(comparisons, checks, stage.workload.records, gtid_set)
