"""The result of a comparison, as objects, as JSON and in words.

A difference names the row, its values on both sides, and since when the mirror has it: the first
version of its table with this row, and the first cut that has this version.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from connector.binlog.sql_text import quoted_name
from connector.foundation.errors import ConnectorError
from verification.baseline import Baseline
from verification.cut_facts import IncrementalScope, RowOrigin
from verification.digests import SideCounts
from verification.iceberg_check import IcebergResult
from verification.intervals import WrongInterval
from verification.shown_values import values_text, visible_values
from verification.source_moment import SourceMoment

Kind = Literal["missing", "surplus", "different"]
Verdict = Literal["equal", "different", "not finished", "not compared"]

EXIT_EQUAL = 0
EXIT_NOT_FINISHED = 1
EXIT_NOT_COMPARED = 2
EXIT_DIFFERENT = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is missing in the mirror or replica, surplus there, or has other values."""

    kind: Kind
    key: Mapping[str, object]
    # The columns that differ, or all of a row that is on one side only.
    source: Mapping[str, object] | None
    mirror: Mapping[str, object] | None
    since: RowOrigin | None = None  # when the mirror got its row, or lost it; None if not known
    # How often both sides have a row of a table without a key.
    counts: SideCounts | None = None
    # The key as the mirror has it: columns may be hashed there.
    own_key: Mapping[str, object] | None = None

    def to_json(self, *, with_values: bool) -> dict[str, Any]:
        """Return the member of the report."""
        return {
            "kind": self.kind,
            "key": self._visible_key(with_values=with_values),
            "source": visible_values(self.source, with_values=with_values),
            "mirror": visible_values(self.mirror, with_values=with_values),
            **({} if self.counts is None else {"counts": self.counts._asdict()}),
            "since": None if self.since is None else self.since.to_json(),
        }

    def lines(self, name: str, *, with_values: bool, is_repaired: bool) -> Iterable[str]:
        """Yield what people read; `name` is that of the side that was compared."""
        what = values_text(self._visible_key(with_values=with_values))
        if self.counts is not None:
            what = f"row: {self.counts.source} at the source, {self.counts.mirror} in the mirror"
        yield f"  {self.kind} {what}" + (", copied again and equal now" if is_repaired else "")
        for side, values in (("source", self.source), (name, self.mirror)):
            if values is not None:
                yield f"    {side}: {values_text(visible_values(values, with_values=with_values))}"
        if self.since is not None:
            yield f"    in the mirror since {self.since}"

    def _visible_key(self, *, with_values: bool) -> dict[str, Any] | None:
        """Return the key; without values, what the mirror hides is not shown."""
        key = self.key if with_values or self.own_key is None else self.own_key
        return visible_values(key, with_values=True)


def key_of(name: tuple[str, str]) -> str:
    """Return what states call a table; `a.b` with a table `c` is not `a` with a table `b.c`."""
    is_plain = not any(mark in part for part in name for mark in ".`")
    return ".".join(name) if is_plain else quoted_name(*name)


class Reported(Protocol):
    """What was found in one table, whatever it was compared with."""

    @property
    def name(self) -> str:
        """`database.table`."""
        ...

    @property
    def rows(self) -> int:
        """Of the source."""
        ...

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        ...

    @property
    def equal_through(self) -> SourceMoment | None:
        """The moment of the source up to which the other side has all changes; None if unknown."""
        ...

    @property
    def is_notable(self) -> bool:
        """Whether it is listed among many tables, although it is equal."""
        ...

    def lines(self, *, with_values: bool) -> Iterable[str]:
        """Yield what people read."""
        ...


@dataclass(slots=True)
class TableResult:
    """What was found in one table."""

    name: str
    side: str = "mirror"  # or "replica": what was compared with the source
    rows: int = 0  # of the source
    mirror_rows: int = 0
    summed_rows: int = 0  # of the source, which were compared by sums alone
    differences: list[Difference] = field(default_factory=list)
    # Of a history or a journal: what its own borders, or the log, show to be wrong.
    intervals: list[WrongInterval] = field(default_factory=list)
    # Of a mirror that is an Iceberg table, too.
    iceberg: IcebergResult | None = None
    # Why borders were not compared with the log; "" if they were, or if there are none.
    borders_note: str = ""
    unsettled: int = 0  # keys that changed each time they were read
    # Rows that differed, and were equal after a copy.
    repaired: list[Difference] = field(default_factory=list)
    has_more: bool = False  # there are more differences, which were not looked for
    missing_columns: list[str] = field(default_factory=list)  # not in the mirror
    # Of these, those that rows of the mirror came with.
    lost_columns: list[str] = field(default_factory=list)
    # Of a journal: columns newer than changes that count, and rows from before it began.
    late_columns: list[str] = field(default_factory=list)
    rows_without_change: int = 0
    sample: str = ""  # what was compared, if not all
    compared_since: IncrementalScope | None = None  # the same, of changes since a cut
    version: int | None = None  # of the mirror, when the last key was settled
    transaction: str | None = None  # the last source transaction in it
    seconds: float = 0.0
    compared_at: str = ""  # when the comparison ended
    # Before anything was read; None if not all rows were compared.
    began_at: SourceMoment | None = None
    # Of --forever: the keys that have changed, if only these were compared, and whether they do not
    # tell what to compare; where the comparison began.
    changed_keys: int | None = None
    needs_all_rows: bool = False
    baseline: Baseline | None = None
    is_from_state: bool = False  # of an earlier run of the same pass; what differed is looked at
    rows_from_state: int = 0  # of `rows`, those that were equal in an earlier run
    error: ConnectorError | None = None
    is_left_out: bool = False  # for good: the error says why
    key: str = ""  # what states call the table

    def __post_init__(self) -> None:
        """Take the name for the key if there is no other one."""
        self.key = self.key or self.name

    @classmethod
    def of(cls, name: tuple[str, str], **facts: Any) -> "TableResult":
        """Return the result of a table, given as database and table."""
        return cls(".".join(name), key=key_of(name), **facts)

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        if self.differences or self.has_more or self.intervals or self.lost_columns:
            return "different"
        if self.iceberg is not None and self.iceberg.is_different:
            return "different"
        if self.is_left_out:
            return "not compared"
        lags = self.iceberg is not None and self.iceberg.lags
        return "not finished" if self.error is not None or self.unsettled or lags else "equal"

    @property
    def equal_through(self) -> SourceMoment | None:
        """The moment of the source up to which the other side has all changes; None if unknown."""
        return self.began_at if self.verdict == "equal" else None

    @property
    def difference_count(self) -> int:
        """How much differs: rows, intervals, columns, and what Iceberg has."""
        own = self.iceberg
        of_iceberg = 0 if own is None else len(own.differences) + len(own.defects)
        of_rows = len(self.differences) + len(self.intervals)
        return of_rows + len(self.lost_columns) + of_iceberg

    @property
    def repaired_count(self) -> int:
        """How many rows differed, and were equal after a copy."""
        return len(self.repaired)

    @property
    def is_notable(self) -> bool:
        """Whether rows were repaired."""
        return bool(self.repaired)

    def to_json(self, *, with_values: bool) -> dict[str, Any]:
        """Return the member of the report."""
        return {
            "table": self.name,
            "compared_with": self.side,
            "verdict": self.verdict,
            "equal_through": through.to_json() if (through := self.equal_through) else None,
            "rows": self.rows,
            "mirror_rows": self.mirror_rows,
            "rows_by_checksum": self.summed_rows,
            "sample": self.sample,
            "compared_since": since.to_json() if (since := self.compared_since) else None,
            "rows_from_state": self.rows_from_state,
            "seconds": round(self.seconds, 3),
            "compared_at": self.compared_at,
            "mirror_version": self.version,
            "mirror_transaction": self.transaction,
            "columns_not_in_mirror": self.missing_columns,
            "columns_lost_in_mirror": self.lost_columns,
            "columns_later_than_journal": self.late_columns,
            "rows_without_change_in_journal": self.rows_without_change,
            "unsettled": self.unsettled,
            "has_more_differences": self.has_more,
            "error": None if self.error is None else str(self.error),
            "wrong_intervals": [interval.to_json() for interval in self.intervals],
            "borders_not_compared_with_the_log": self.borders_note,
            "iceberg": None if self.iceberg is None else _iceberg_json(self.iceberg),
            "differences": [
                difference.to_json(with_values=with_values) for difference in self.differences
            ],
            "repaired": [
                difference.to_json(with_values=with_values) for difference in self.repaired
            ],
        }

    def lines(self, *, with_values: bool) -> Iterable[str]:
        """Yield what people read."""
        where = f" at {self.transaction}" if self.transaction else ""
        where += f", through {self.equal_through}" if self.equal_through else ""
        where += f", compared at {self.compared_at}" if self.is_from_state else ""
        if self.error is not None:
            yield f"{self.name}: {self.verdict}: {self.error!s}"
        elif self.verdict == "different":
            more = " or more" if self.has_more else ""
            count = f"{len(self.differences)}{more}"
            yield f"{self.name}: different: {count} of {self.rows} rows{where}"
        else:
            yield f"{self.name}: {self.verdict}: {self.rows} rows{where}"
        for difference in self.differences:
            yield from difference.lines(self.side, with_values=with_values, is_repaired=False)
        for difference in self.repaired:
            yield from difference.lines(self.side, with_values=with_values, is_repaired=True)
        for interval in self.intervals:
            yield f"  interval {values_text(interval.key)} {interval.words()}"
        if self.iceberg is not None:
            yield from _iceberg_lines(self.iceberg)
        yield from self._notes()

    def _notes(self) -> Iterable[str]:
        """Yield what people have to know of the comparison."""
        if self.borders_note:
            yield f"  borders were not compared with the log: {self.borders_note}"
        if self.unsettled:
            yield f"  rows that changed each time they were read: {self.unsettled}"
        if self.rows_from_state:
            yield f"  rows that were equal in an earlier run: {self.rows_from_state}"
        if self.sample:
            yield f"  sample: {self.sample}"
        if self.compared_since is not None:
            yield f"  {self.compared_since}"
        if self.lost_columns:
            names = ", ".join(self.lost_columns)
            yield f"  columns that the mirror lacks, although it has rows with them: {names}"
        late = [name for name in self.missing_columns if name not in self.lost_columns]
        if late:
            yield f"  columns that the {self.side} gets with the next row: {', '.join(late)}"
        if self.late_columns:
            names = ", ".join(self.late_columns)
            yield f"  columns that are newer than changes in the journal, not compared: {names}"
        if self.rows_without_change:
            yield f"  rows without a change since the journal began: {self.rows_without_change}"


def _iceberg_json(result: IcebergResult) -> dict[str, Any]:
    return {
        "version": result.version,
        "rows": result.rows,
        "not_compared_because": result.note,
        "late_seconds": result.late_seconds,
        "defects": result.defects,
        "has_more_differences": result.has_more,
        "differences": [
            {"kind": kind, "key": visible_values(key, with_values=True)}
            for kind, key in result.differences
        ],
    }


def _iceberg_lines(result: IcebergResult) -> Iterable[str]:
    if result.note:
        yield f"  Iceberg: not compared: {result.note}"
        return
    which = "Iceberg" if result.version is None else f"Iceberg, version {result.version}"
    for defect in result.defects:
        yield f"  {which}: {defect}"
    for kind, key in result.differences:
        yield f"  {which}: {kind} {values_text(visible_values(key, with_values=True))}"
    if result.has_more:
        yield f"  {which}: there is more"
    if not result.is_different:
        yield f"  {which}: the same, {result.rows} rows"
    if result.late_seconds:
        yield f"  {which}: the next version was not published for {result.late_seconds} s"


def exit_code(verdicts: Collection[Verdict]) -> int:
    """Return the exit code of a command whose tables have these verdicts."""
    if "different" in verdicts:
        return EXIT_DIFFERENT
    if "not finished" in verdicts:
        return EXIT_NOT_FINISHED
    # Where nothing was compared, nothing was found to be equal.
    is_none = "not compared" in verdicts and "equal" not in verdicts
    return EXIT_NOT_COMPARED if is_none else EXIT_EQUAL


def whole_verdict(verdicts: Collection[Verdict]) -> Verdict:
    """Return the verdict of all tables together."""
    names: dict[int, Verdict] = {
        EXIT_EQUAL: "equal",
        EXIT_NOT_FINISHED: "not finished",
        EXIT_NOT_COMPARED: "not compared",
    }
    return names.get(exit_code(verdicts), "different")


# What is wrong comes first.
_ORDER: Final[tuple[Verdict, ...]] = ("different", "not finished", "not compared", "equal")
# Of more tables, those that are equal, or not compared for good, are only counted.
_NAMED_TABLES_MAX: Final = 20


def report_lines(
    results: Iterable[Reported], *, with_values: bool, shows_all: bool
) -> Iterable[str]:
    """Yield what people read of a run: what is wrong first, and how many tables there are."""
    tables = sorted(results, key=lambda result: (_ORDER.index(result.verdict), result.name))
    names_all = shows_all or len(tables) <= _NAMED_TABLES_MAX
    left_out = 0
    for table in tables:
        if names_all or table.verdict in _ORDER[:2] or table.is_notable:
            yield from table.lines(with_values=with_values)
        else:
            left_out += 1
    if len(tables) > 1:
        yield _summary(tables)
    if left_out:
        yield f"{left_out} tables are not listed: --all lists them"


def _summary(tables: Sequence[Reported]) -> str:
    counts = Counter(table.verdict for table in tables)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])
    rows = sum(table.rows for table in tables)
    through = _equal_through(tables)
    proven = f"; all equal through {through}" if through else ""
    return f"{len(tables)} tables: {verdicts}; {rows} rows{proven}"


def _equal_through(tables: Sequence[Reported]) -> SourceMoment | None:
    """Return the moment through which all compared tables are equal; None if one is not."""
    compared = [table.equal_through for table in tables if table.verdict != "not compared"]
    moments = [moment for moment in compared if moment is not None]
    return min(moments, default=None) if len(moments) == len(compared) else None


def summary(tables: Sequence[Reported]) -> dict[str, Any]:
    """Return the member of a report that counts the tables."""
    counts = Counter(table.verdict for table in tables)
    through = _equal_through(tables)
    return {
        "tables": len(tables),
        **{verdict.replace(" ", "_"): counts[verdict] for verdict in _ORDER},
        "rows": sum(table.rows for table in tables),
        "equal_through": None if through is None else through.to_json(),
    }


def report(results: Iterable[TableResult], *, with_values: bool) -> dict[str, Any]:
    """Return the report in JSON."""
    tables = list(results)
    return {
        "verdict": whole_verdict({table.verdict for table in tables}),
        "summary": summary(tables),
        "tables": [result.to_json(with_values=with_values) for result in tables],
    }
