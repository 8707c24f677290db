"""What the topics have shown, what the writers have committed, and what the source has: all equal?

Only asked while the writers are held and everything has arrived.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pymysql.cursors import DictCursor

from connector.foundation.contract import OP_READ
from local_stack import connect
from tests.chaos.tables import HOT_ROWS, TABLES, RowId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_stack import Endpoint
    from tests.chaos.ledger import Change, Ledger
    from tests.chaos.topic_reader import TopicReader

_TOLD_MAX = 20
KINDS = ("gap", "repeat", "order", "missing", "surplus", "state")


@dataclass(slots=True)
class Verdict:
    """What was compared, and what was wrong."""

    transactions: int = 0
    records: int = 0
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)  # the first ones

    def add(self, kind: str, problem: str) -> None:
        self.counts[kind] += 1
        if len(self.problems) < _TOLD_MAX:
            self.problems.append(f"{kind}: {problem}")

    def __str__(self) -> str:
        counts = ", ".join(f"{kind} {self.counts[kind]}" for kind in KINDS)
        return (
            f"{self.transactions:,} transactions, {self.records:,} records, {self.rows:,} rows: "
            f"{counts}"
        )


def judge(
    source: Endpoint,
    database: str,
    ledgers: Sequence[Ledger],
    reader: TopicReader,
    defaults: dict[str, dict[str, Any]],
) -> Verdict:
    """Compare everything; `defaults` are of the columns that were added, by table."""
    verdict = Verdict(
        transactions=sum(ledger.transactions for ledger in ledgers),
        records=reader.records,
        counts=Counter(reader.problem_counts),
        problems=list(reader.problems),
    )
    with reader.lock:
        _compare_changes(verdict, ledgers, reader)
    with closing(connect(source, database)) as connection, connection.cursor(DictCursor) as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM {table}")
            _compare_rows(
                verdict, table, list(cursor.fetchall()), reader.rows(table), defaults.get(table, {})
            )
    return verdict


def _compare_changes(verdict: Verdict, ledgers: Sequence[Ledger], reader: TopicReader) -> None:
    owned = {row for row in reader.changes if row.table not in {"hot", "marker"}}
    hot: Counter[int] = Counter()
    for ledger in ledgers:
        with ledger.lock:
            hot.update(ledger.hot)
            for row, committed in ledger.changes.items():
                owned.discard(row)
                _compare_row(verdict, row, committed, reader.changes.get(row, []))
    for row in owned:
        verdict.add("surplus", f"{row.table} {row.key}: {len(reader.changes[row])} changes")
    for number in range(HOT_ROWS):
        shown = reader.changes.get(RowId("hot", number), [])
        expected = 1 + hot[number]  # the first inserted it
        if len([op for op, _ in shown if op != OP_READ]) != expected:
            kind = "missing" if len(shown) < expected else "surplus"
            verdict.add(kind, f"hot {number}: {len(shown)} changes, {expected} were committed")


def _compare_row(
    verdict: Verdict, row: RowId, committed: list[Change], shown: list[Change]
) -> None:
    shown = [change for change in shown if change[0] != OP_READ]
    if shown == committed:
        return
    pairs = zip(committed, shown, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(committed), len(shown)))
    kind = "missing" if len(shown) < len(committed) else "surplus"
    verdict.add(
        kind,
        f"{row.table} {row.key}: change {same} on: {committed[same : same + 3]} were committed, "
        f"{shown[same : same + 3]} are there ({len(committed)} and {len(shown)})",
    )


def _compare_rows(
    verdict: Verdict,
    table: str,
    on_source: list[dict[str, Any]],
    folded: list[dict[str, Any]],
    defaults: dict[str, Any],
) -> None:
    verdict.rows += len(on_source)
    expected = Counter(tuple(sorted(row.items())) for row in on_source)
    # Columns that were dropped have no record of their end.
    columns = set(on_source[0]) if on_source else set()
    found = Counter(
        tuple(sorted((name, value) for name, value in (defaults | row).items() if name in columns))
        for row in folded
    )
    for row, number in (expected - found).items():
        verdict.add("state", f"{table}: {number} x {_named(row)} of the source is not in the topic")
    for row, number in (found - expected).items():
        verdict.add("state", f"{table}: {number} x {_named(row)} of the topic is not in the source")


def _named(row: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"{name}={value}" for name, value in row if name != "note")
