"""The rounds of `--forever`: what has changed in each table, and all rows at a pace.

A table without a change since its last comparison is equal through now, at no cost but that of a
look. A small one that has changed is compared as a whole, together with others. Of a large one, the
keys that have changed are compared, beside the comparisons of all rows, which go on over many
rounds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Self

from connector.foundation.errors import ConnectorError
from verification.baseline import compared_of
from verification.baselines import Baselines
from verification.pipeline import Pipeline
from verification.report import TableResult, key_of
from verification.run import WAITING_MAX
from verification.small_tables import SmallResults, SmallTables
from verification.source_moment import SourceMoment
from verification.table_comparison import Scope, TableComparison
from verification.table_definitions import TABLES_OF_A_PART, DefinedTable, TableName, read_tables
from verification.table_queue import Size, TableQueue

Found = tuple[TableName, TableResult]


class Rounds:
    """Compares all tables again and again; a context manager ends its threads."""

    def __init__(
        self,
        pipeline: Pipeline,
        comparison: TableComparison,
        baselines: Baselines | None,
        on_defect: Callable[[str, Exception], None],
    ) -> None:
        """Go on from `baselines`; without them, compare all rows each time.

        `on_defect` gets the name of a table, and what the comparison has raised: several threads
        call it.
        """
        self._pipeline = pipeline
        self._comparison = comparison
        self._baselines = baselines
        self._on_defect = on_defect
        self._opened = ExitStack()
        self._small = self._opened.enter_context(SmallTables(pipeline, comparison.opened))
        queue = TableQueue[TableName, TableResult]()
        self._queue = self._opened.enter_context(queue)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def is_busy(self) -> bool:
        """Whether large tables are compared that the rounds do not wait for."""
        return bool(self._queue.large)

    def round(self, names: Sequence[TableName], *, waits: bool) -> Iterator[Found]:
        """Look at some tables once, and yield results when they are there, also of earlier rounds.

        Unless it `waits`, comparisons of all rows of large tables go on after the round. Raises the
        errors of connections, and ConfigError.
        """
        for start in range(0, len(names), TABLES_OF_A_PART):
            some = names[start : start + TABLES_OF_A_PART]
            yield from self._some(some)
            yield from self._ended(WAITING_MAX, waits=waits)
        yield from self._ended(0, waits=waits)

    def _some(self, names: Sequence[TableName]) -> Iterator[Found]:
        pipeline = self._pipeline
        at = pipeline.moment()
        defined = read_tables(pipeline.session, names)
        quiet: dict[TableName, TableResult] = {}
        if self._baselines is not None and self._baselines.knows_one_of(names):
            ends = pipeline.delivered_ends(pipeline.reached(), names)
            if ends is None:
                yield from ((name, self._lagging(name)) for name in names)
                return
            quiet = self._quiet(defined, ends, at)
        yield from quiet.items()
        rest = {name: own for name, own in defined.items() if name not in quiet}
        found = self._small_ones({} if self._comparison.is_of_replica else rest)
        self._comparison.keep(found.others)
        for name in names:
            if name in found.equal:
                yield name, found.equal[name]
            elif name not in quiet:
                self._add(name, defined.get(name), found, at)

    def _add(
        self,
        name: TableName,
        defined: DefinedTable | None,
        found: SmallResults,
        at: SourceMoment,
    ) -> None:
        scope: Scope = "all"
        size: Size = "large"
        if name in found.others:
            scope, size = "rows", "small"
        elif name in found.of_other_kinds or self._is_small_at_replica(defined):
            size = "medium"
        elif self._baselines is not None and self._baselines.get(key_of(name)) is not None:
            if self._baselines.is_due(key_of(name), at):
                self._add_large(name, defined)
            scope, size = "changes", "medium"
        if size == "large":
            self._add_large(name, defined)
        else:
            self._queue.add(name, size, partial(self._compared, name, defined, scope))

    def _add_large(self, name: TableName, defined: DefinedTable | None) -> None:
        """Compare all rows, unless this goes on already."""
        if name not in self._queue.large:
            self._queue.add(name, "large", partial(self._compared, name, defined, "all"))

    def _is_small_at_replica(self, defined: DefinedTable | None) -> bool:
        return self._comparison.is_of_replica and defined is not None and defined.has_few_rows

    def _quiet(
        self,
        defined: Mapping[TableName, DefinedTable],
        ends: Mapping[TableName, Mapping[int, int]],
        at: SourceMoment,
    ) -> dict[TableName, TableResult]:
        """Return results of tables that are equal, because nothing has changed since they were."""
        found = {}
        assert self._baselines is not None
        for name, own in defined.items():
            key = key_of(name)
            known = self._baselines.get(key)
            if known is None or known.different or known.ends != ends.get(name):
                continue
            if self._baselines.is_due(key, at):
                continue
            # What is wrong is reported when the table is compared.
            with suppress(ConnectorError):
                source, mirror = self._comparison.opened(name, own)
                if mirror is None or mirror.snapshot.version != known.version:
                    continue
                if compared_of(source.schema, mirror) == known.of:
                    found[name] = TableResult.of(
                        name,
                        changed_keys=0,
                        began_at=at,
                        baseline=known,
                        version=known.version,
                        transaction=mirror.last_transaction,
                    )
        return found

    def _small_ones(self, defined: Mapping[TableName, DefinedTable]) -> SmallResults:
        try:
            return self._small.compared(defined, has_baselines=self._baselines is not None)
        except ConnectorError:
            raise
        except Exception as error:  # noqa: BLE001 # each is compared alone, and may have it again
            self._on_defect("", error)
            return SmallResults({}, {}, set())

    def _lagging(self, name: TableName) -> TableResult:
        return TableResult.of(name, error=self._pipeline.lags(*name))

    def _compared(self, name: TableName, defined: DefinedTable | None, scope: Scope) -> TableResult:
        try:
            return self._comparison.compared(name, defined, scope)
        except ConnectorError as error:
            return TableResult.of(name, error=error)
        except Exception as error:  # noqa: BLE001 # a defect must not keep others from their turn
            # The run may have ended meanwhile, because source or Kafka are away.
            if not self._pipeline.is_closed:
                self._on_defect(".".join(name), error)
            return TableResult.of(name, unsettled=1)

    def _ended(self, most: int, *, waits: bool) -> Iterator[Found]:
        for name, _, compared in self._queue.ended(most, waits_for_large=waits):
            result = compared.result()
            if not result.needs_all_rows:
                yield name, result
            else:
                self._add_large(name, None)
