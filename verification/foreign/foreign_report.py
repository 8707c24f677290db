"""What was found in a table of another program, in words and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.foundation.errors import ConnectorError
from verification.digests import Digest
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.row_states import Change, Kind, Origin, Value
from verification.report import Verdict, report_lines, summary, whole_verdict
from verification.shown_values import values_text, visible_values
from verification.source_moment import SourceMoment
from verification.source_table import RowKey

_US: Final = 1_000_000
# Of the rows that lag, so many are named.
LAGGING_MAX: Final = 100
_SHOWN_LAGGING: Final = 3


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One row that differs."""

    kind: Kind
    key: Mapping[str, object]
    source: Mapping[str, object] | None  # the columns that differ, or all of a lone row
    target: Sequence[Mapping[str, object]]  # of each row with the key
    since: Change | None = None
    # Whether `since` is the first change that the target lacks; else it is the row's last one.
    is_lacking: bool = False
    own: Value = None  # of the row of the target

    @property
    def origin(self) -> Origin | None:
        """What the log may still say of it; None if that is known, or cannot be."""
        is_unread = self.kind == "surplus" and self.own is None
        if self.is_lacking or is_unread or self.kind == "doubled":
            return None
        return Origin(self.own, self.since, is_lacking=False)

    def with_origin(self, origin: Origin) -> "RowDifference":
        """Return the same row with what the log says: an older value is stale."""
        is_older = origin.is_lacking and self.kind == "different"
        kind: Kind = "stale" if is_older else self.kind
        return replace(self, kind=kind, since=origin.since, is_lacking=origin.is_lacking)

    def to_json(self, *, with_values: bool) -> dict[str, Any]:
        """Return the member of the report."""
        return {
            "kind": self.kind,
            "key": visible_values(self.key, with_values=True),
            "source": visible_values(self.source, with_values=with_values),
            "target": [visible_values(row, with_values=with_values) for row in self.target],
            "since": None if self.since is None else self._change(self.since),
        }

    def lines(self, *, with_values: bool) -> Iterator[str]:
        """Yield what people read."""
        count = f": {len(self.target)} rows" if self.kind == "doubled" else ""
        yield f"  {self.kind} {values_text(visible_values(self.key, with_values=True))}{count}"
        # Rows that are there more than once may have no other value.
        if self.source:
            yield f"    source: {values_text(visible_values(self.source, with_values=with_values))}"
        for row in filter(None, self.target):
            yield f"    target: {values_text(visible_values(row, with_values=with_values))}"
        if self.since is not None:
            what = "the target lacks the change at" if self.is_lacking else "changed last at"
            yield f"    {what} {self.since.time} ({self.since.place})"

    def _change(self, change: Change) -> dict[str, Any]:
        place = {"time": change.time, "transaction": change.place}
        return {**place, "is_lacking": self.is_lacking}


@dataclass(frozen=True, slots=True)
class LaggingRow:
    """A row of the target with a value that the source has replaced a moment ago."""

    key: Mapping[str, object]
    age_us: int

    @property
    def seconds(self) -> float:
        """Since when the source has a newer value."""
        return round(self.age_us / _US, 3)


@dataclass(slots=True)
class ForeignResult:
    """What was found in one table."""

    name: str
    target: str
    rows: int = 0  # of the source
    target_rows: int = 0
    summed_rows: int = 0  # of the source, which were compared by sums alone
    state: str = ""  # of the target that was read last
    mapping: ColumnMapping | None = None
    differences: list[RowDifference] = field(default_factory=list)
    has_more: bool = False  # there are more differences, which were not looked for
    lagging: list[LaggingRow] = field(default_factory=list)
    lagging_rows: int = 0
    oldest_lag_us: int = 0
    unsettled: int = 0  # keys about which the log could not tell enough
    # Of --forever: the keys that have changed, if only these were compared; those that have to be
    # compared again, whatever changes; and whether others differ.
    changed_keys: int | None = None
    open_keys: dict[Digest, RowKey] = field(default_factory=dict)
    has_unknown_keys: bool = False
    # Of each row that lagged to the end, the first change that the target lacked.
    lacking: set[Change] = field(default_factory=set)
    # The moment of the source of which the target has all changes, if nothing differs.
    through: SourceMoment | None = None
    notes: list[str] = field(default_factory=list)  # what else people have to know
    is_notable: bool = False  # whether it is listed among many tables, although it is equal
    seconds: float = 0.0
    error: ConnectorError | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        if self.differences or self.has_more:
            return "different"
        return "not finished" if self.error is not None or self.unsettled else "equal"

    @property
    def equal_through(self) -> SourceMoment | None:
        """The moment of the source up to which the target has all changes; None if unknown."""
        return self.through if self.verdict == "equal" else None

    @property
    def difference_count(self) -> int:
        """How many rows differ, as far as they were looked for."""
        return len(self.differences)

    @property
    def repaired_count(self) -> int:
        """Nothing repairs the tables of other programs."""
        return 0

    def lag(self, key: Mapping[str, object], age_us: int) -> None:
        """Note a row that lags."""
        self.lagging_rows += 1
        self.oldest_lag_us = max(self.oldest_lag_us, age_us)
        if len(self.lagging) < LAGGING_MAX:
            self.lagging.append(LaggingRow(key, age_us))

    def to_json(self, *, with_values: bool) -> dict[str, Any]:
        """Return the member of the report."""
        return {
            "table": self.name,
            "target": self.target,
            "verdict": self.verdict,
            "equal_through": through.to_json() if (through := self.equal_through) else None,
            "rows": self.rows,
            "target_rows": self.target_rows,
            "rows_by_checksum": self.summed_rows,
            "target_state": self.state,
            "seconds": round(self.seconds, 3),
            "columns": [] if self.mapping is None else _columns(self.mapping),
            **({} if self.mapping is None else _not_compared(self.mapping)),
            "lagging_rows": self.lagging_rows,
            "oldest_lag_seconds": round(self.oldest_lag_us / _US, 3),
            "lagging": [
                {"key": visible_values(row.key, with_values=True), "seconds": row.seconds}
                for row in self.lagging
            ],
            "unsettled": self.unsettled,
            "has_more_differences": self.has_more,
            "error": None if self.error is None else str(self.error),
            "differences": [each.to_json(with_values=with_values) for each in self.differences],
        }

    def lines(self, *, with_values: bool) -> Iterator[str]:
        """Yield what people read."""
        where = f"{self.name} = {self.target}"
        at = f", {self.state}" if self.state else ""
        at += f", through {self.equal_through}" if self.equal_through else ""
        if self.error is not None:
            yield f"{where}: {self.verdict}: {self.error!s}"
        elif self.verdict == "different":
            more = " or more" if self.has_more else ""
            count = f"{len(self.differences)}{more}"
            yield f"{where}: different: {count} of {self.rows} rows{at}"
        else:
            yield f"{where}: {self.verdict}: {self.rows} rows{at}"
        for difference in self.differences:
            yield from difference.lines(with_values=with_values)
        if self.lagging_rows:
            yield f"  rows that lag: {self.lagging_rows}, {_longest(self)}"
            for row in self.lagging[:_SHOWN_LAGGING]:
                key = values_text(visible_values(row.key, with_values=True))
                yield f"    {key}: the source has a newer value for {row.seconds:.1f} s"
        if self.unsettled:
            yield f"  rows about which the log does not tell enough: {self.unsettled}"
        if self.mapping is not None:
            yield from _mapping_lines(self.mapping)
        yield from self.notes


def _longest(result: ForeignResult) -> str:
    return f"the longest for {result.oldest_lag_us / _US:.1f} s"


def _oldest_lag_us(results: Sequence[ForeignResult]) -> int:
    return max((result.oldest_lag_us for result in results), default=0)


def foreign_lines(
    results: Sequence[ForeignResult], *, with_values: bool, shows_all: bool
) -> Iterator[str]:
    """Yield what people read of a run: what is wrong first, and how many tables and rows lag."""
    yield from report_lines(results, with_values=with_values, shows_all=shows_all)
    late = [result for result in results if result.lagging_rows]
    if late and len(results) > 1:
        rows = sum(result.lagging_rows for result in late)
        seconds = _oldest_lag_us(late) / _US
        yield f"rows that lag: {rows} in {len(late)} tables, the longest for {seconds:.1f} s"


def foreign_report(results: Sequence[ForeignResult], *, with_values: bool) -> dict[str, Any]:
    """Return the report in JSON."""
    return {
        "verdict": whole_verdict({result.verdict for result in results}),
        "summary": {
            **summary(results),
            "lagging_rows": sum(result.lagging_rows for result in results),
            "oldest_lag_seconds": round(_oldest_lag_us(results) / _US, 3),
        },
        "tables": [result.to_json(with_values=with_values) for result in results],
    }


def _columns(mapping: ColumnMapping) -> list[dict[str, Any]]:
    return [
        {
            "source": pair.name,
            "target": pair.target,
            "form": pair.form.name,
            "because": pair.note,
            "tolerance": None if pair.tolerance is None else pair.tolerance.size,
        }
        for pair in mapping.pairs.values()
    ]


def _not_compared(mapping: ColumnMapping) -> dict[str, Any]:
    names = mapping.names
    return {
        "deletion_mark": names.mark,
        "ignored_columns": names.ignored,
        "columns_only_in_source": names.only_source,
        "columns_only_in_target": names.only_target,
    }


def _mapping_lines(mapping: ColumnMapping) -> Iterator[str]:
    """Yield what was guessed of the columns, apart from equal names and the usual form."""
    for pair in mapping.pairs.values():
        renamed = f"column {pair.name} is {pair.target}" if pair.name != pair.target else ""
        form = f"{pair.form.name}, by {pair.note}" if pair.note else ""
        if pair.tolerance is not None:
            yield f"  column {pair.name}: equal within {pair.tolerance}, as asked"
        if renamed or form:
            yield "  " + (
                ": ".join(part for part in (renamed or f"column {pair.name}", form) if part)
            )
    names = mapping.names
    if names.mark:
        yield f"  rows that {names.mark} marks as deleted count as absent"
    parts = (
        ("ignored columns", [name for name in names.ignored if name != names.mark]),
        ("columns that only the source has, not compared", names.only_source),
        ("columns that only the target has, not compared", names.only_target),
    )
    for what, columns in parts:
        if columns:
            yield f"  {what}: {', '.join(columns)}"
