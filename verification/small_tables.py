"""Small tables are compared together: one statement of the source sums the rows of many.

A table that is equal needs nothing else. Any other one is compared alone, and so is one whose rows
cannot be summed: nothing that is seen here makes a table different.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import Final, NamedTuple, Self

import numpy as np
import pyarrow as pa

from connector.foundation.errors import ConnectorError, SourceRefused, SourceUnavailable
from connector.stream.snapshot.time_limits import time_limits
from verification import intervals
from verification.baseline import Baseline, compared_of
from verification.checksums import Checksums, sql_of_hash
from verification.mirror_side import MirrorSide
from verification.pipeline import Pipeline
from verification.report import TableResult
from verification.row_text import RowText
from verification.shared_looks import result_of
from verification.source_table import SourceTable
from verification.table_definitions import DefinedTable, TableName

# A table with more rows has ranges of its own.
_ROWS_MAX: Final = 2000
# The estimate of the source may be old: the mirror says how many rows there are.
_ESTIMATED_MAX: Final = 10 * _ROWS_MAX
_TABLES_OF_A_SELECT: Final = 50
_ROWS_OF_A_SELECT: Final = 20_000


class _SmallTable(NamedTuple):
    """A table whose rows are summed on both sides."""

    name: TableName
    source: SourceTable
    mirror: MirrorSide
    text: RowText


class SmallResults(NamedTuple):
    """What became of the small tables among some tables."""

    equal: dict[TableName, TableResult]
    # Small, and not proven to be equal: each as it was opened.
    others: dict[TableName, tuple[SourceTable, MirrorSide]]
    of_other_kinds: set[TableName]  # small, and never summed: histories, and rows without a key


Opened = Callable[["TableName", "DefinedTable"], "tuple[SourceTable, MirrorSide | None]"]


class SmallTables:
    """Finds the small tables that are equal; a context manager ends its thread."""

    def __init__(self, pipeline: Pipeline, opened: Opened) -> None:
        """Read the tables that `opened` returns, and their mirrors."""
        self._pipeline = pipeline
        self._opened = opened
        self._closing = Event()
        self._reader = ThreadPoolExecutor(1, "verify-small")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._reader.shutdown(wait=False, cancel_futures=True)

    def compared(
        self, defined: Mapping[TableName, DefinedTable], *, has_baselines: bool = False
    ) -> SmallResults:
        """Return what became of some tables; the results have baselines, if they are to."""
        began = time.monotonic()
        found = SmallResults({}, {}, set())
        if not defined:
            return found
        at = self._pipeline.moment()
        ends = self._pipeline.ends_of(defined.keys()) if has_baselines else {}
        # The source sums the rows of all groups while the mirrors are read.
        begun = [
            (group, self._reader.submit(self._sums_of, group))
            for group in _groups(self._small_ones(defined, found))
        ]
        for group, sums in begun:
            equal = _equal_of(group, sums, ends)
            found.equal.update(equal)
            found.others.update(
                (table.name, (table.source, table.mirror))
                for table in group
                if table.name not in equal
            )
        seconds = (time.monotonic() - began) / max(1, len(defined))
        for result in found.equal.values():
            result.seconds, result.began_at = seconds, at
        return found

    def _small_ones(
        self, defined: Mapping[TableName, DefinedTable], found: SmallResults
    ) -> Iterator[_SmallTable]:
        """Yield the small tables that can be summed; add other ones to `found`."""
        for name, own in defined.items():
            # What is wrong is reported when the table is compared alone.
            with suppress(ConnectorError):
                table = self._small(name, own)
                if table is None:
                    continue
                source, mirror = table
                if mirror.is_counted or mirror.mode in intervals.MODES:
                    found.of_other_kinds.add(name)
                    continue
                if mirror.missing_columns:
                    # Whether the mirror must have them is seen when it is compared alone.
                    found.others[name] = table
                    continue
                session = self._pipeline.session
                text = RowText.of(session, source.schema, mirror.columns, own.columns)
                if text is None:
                    found.others[name] = table
                else:
                    yield _SmallTable(name, source, mirror, text)

    def _small(
        self, name: TableName, defined: DefinedTable
    ) -> tuple[SourceTable, MirrorSide] | None:
        """Return a table and its mirror if it is small."""
        if defined.plan.estimated_rows > _ESTIMATED_MAX:
            return None
        source, mirror = self._opened(name, defined)
        if mirror is None or mirror.snapshot.live_rows > _ROWS_MAX:
            return None
        if not mirror.is_counted and not (source.has_order and source.schema.key):
            return None
        return source, mirror

    def _sums_of(self, tables: Sequence[_SmallTable]) -> Checksums | None:
        """Return the sums at the source; None if it does not answer, or refuses a table."""
        try:
            rows = self._pipeline.patience.again(lambda: self._read(tables))
        except (SourceUnavailable, SourceRefused):
            return None
        sums = Checksums(len(tables))
        for row in rows:
            place = int(row["place"] or 0)
            sums.rows[place] = int(row["found"] or 0)
            sums.xors[place] = int(row["total"] or 0)
        return sums

    def _read(self, tables: Sequence[_SmallTable]) -> list[dict[str, str | None]]:
        """Return count and sum of each table's rows."""
        selects = [
            f"{place} AS place, COUNT(*) AS found, BIT_XOR({sql_of_hash(table.text.sql)}) AS total "
            f"FROM {table.source.quoted_name}"
            for place, table in enumerate(tables)
        ]
        rows = list[dict[str, str | None]]()
        with self._pipeline.lent_session() as session:
            before, hint = time_limits(session, self._pipeline.settings.snapshot)
            while selects:
                with self._pipeline.pace.read(session, self._closing, "small tables") as turn:
                    # Beside others, each table has a statement of its own.
                    some, turn.tables = 1 if turn.is_divided else len(selects), 0
                    while True:
                        sql = " UNION ALL SELECT ".join(selects[:some])
                        found = session.query(f"{before}SELECT {hint}{sql}")
                        turn.rows += sum(int(row["found"] or 0) for row in found)
                        turn.tables += some
                        rows += found
                        del selects[:some]
                        if not selects or not turn.rest():
                            break
        return rows


def _equal_of(
    group: Sequence[_SmallTable],
    begun: Future[Checksums | None],
    ends: Mapping[TableName, Mapping[int, int]],
) -> dict[TableName, TableResult]:
    """Return the results of the tables that are equal; `begun` finds the sums at the source."""
    own = _mirror_sums(group)
    theirs = result_of(begun)
    if theirs is None:
        return {}
    found = {}
    for place, table in enumerate(group):
        if place not in own.places or not own.sums.are_equal(theirs, place):
            continue
        rows = int(theirs.rows[place])
        result = TableResult.of(table.name, rows=rows, mirror_rows=rows)
        result.summed_rows = rows
        result.version = table.mirror.snapshot.version
        result.transaction = table.mirror.last_transaction
        if table.name in ends:
            of = compared_of(table.source.schema, table.mirror)
            result.baseline = Baseline(of, result.version, ends[table.name])
        found[table.name] = result
    return found


def _groups(tables: Iterable[_SmallTable]) -> Iterator[list[_SmallTable]]:
    """Yield the tables of one statement each."""
    group: list[_SmallTable] = []
    rows = 0
    for table in tables:
        group.append(table)
        rows += table.mirror.snapshot.live_rows
        if len(group) == _TABLES_OF_A_SELECT or rows >= _ROWS_OF_A_SELECT:
            yield group
            group, rows = [], 0
    if group:
        yield group


class _MirrorSums(NamedTuple):
    """The sums of the mirrors of some tables, and the places of those that could be read."""

    sums: Checksums
    places: set[int]


def _mirror_sums(group: Sequence[_SmallTable]) -> _MirrorSums:
    """Return the sums of mirrors. Rows of the same form are written together.

    A call of Arrow takes as long for the rows of one small table as for those of many.
    """
    found = _MirrorSums(Checksums(len(group)), set())
    alike: dict[tuple[str, pa.Schema], list[tuple[int, pa.Table]]] = {}
    for place, table in enumerate(group):
        mirror = table.mirror
        with suppress(ConnectorError):
            numbers = [str(number) for number in range(len(mirror.columns))]
            for data in [each.rename_columns(numbers) for each in mirror.batches(mirror.snapshot)]:
                alike.setdefault((table.text.form, data.schema), []).append((place, data))
            found.places.add(place)
    for tables in alike.values():
        places = np.repeat([place for place, _ in tables], [data.num_rows for _, data in tables])
        first = group[tables[0][0]]
        data = pa.concat_tables(each for _, each in tables).rename_columns(first.mirror.columns)
        found.sums.add(places, first.text.of_rows(data))
    return found
