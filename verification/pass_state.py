"""A pass over all tables that can be interrupted: the file of `--state`.

The file has the results of finished tables, without values: of rows that differ, it has only the
keys, which are read again. Of tables that were begun, it has the ranges with equal checksums. It is
removed when the pass is over.
"""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Final, NamedTuple, Self

from stream_jobs.source.table_schema import TableSchema
from verification.digests import Digest
from verification.key_ranges import EqualRanges
from verification.key_texts import decode_keys
from verification.report import Difference, TableResult
from verification.same_server import SameServer
from verification.source_moment import SourceMoment
from verification.source_table import RowKey
from verification.state_file import NOT_OURS, StateFile, different_keys

_FORMAT: Final = 2
_SECONDS: Final = 2.0
# With more finished tables, the file is not written for each of them.
_ALWAYS_WRITTEN: Final = 100
_TARGET: Final = "transactions of the replica"
# What the file has of a result as it is.
_PLAIN: Final = (
    "rows", "mirror_rows", "summed_rows", "missing_columns", "version", "transaction", "seconds",
    "compared_at", "late_columns", "rows_without_change",
)  # fmt: skip


class _Begun(NamedTuple):
    """A table that was begun."""

    of: list[str]
    equal: EqualRanges
    at: SourceMoment

    def to_json(self) -> dict[str, Any]:
        return {"of": self.of, "at": self.at.to_json(), **self.equal.to_json()}

    @classmethod
    def of_json(cls, entry: dict[str, Any]) -> Self:
        ranges = EqualRanges.of_json(entry)
        return cls(entry["of"], ranges, SourceMoment.of_json(entry["at"]))


class PassState:
    """One pass, and its file. Several threads may use it."""

    def __init__(
        self, path: Path, of: Mapping[str, object], target: SameServer | None = None
    ) -> None:
        """Begin a pass that compares what `of` says, or go on with the one at `path`.

        `target` is the server of a replica. Raises ConfigError if the file is of another
        comparison, or cannot be used, and SourceUnavailable if the server of the replica lacks
        what it had then.
        """
        self._target = target
        self._file = StateFile(path, _FORMAT, of)
        # By the keys that `report.key_of` gives tables.
        self._finished: dict[str, dict[str, Any]] = {}
        self._begun: dict[str, _Begun] = {}
        self._written_at = -math.inf
        self._is_over = True
        # The file is written while other threads go on.
        self._turn = RLock()
        self._read()
        self.write()

    def is_equal(self, key: str) -> bool:
        """Return whether a table was finished without a difference."""
        entry = self._finished.get(key)
        return entry is not None and not entry["different"]

    def has(self, key: str) -> bool:
        """Return whether a table was finished, or begun."""
        return key in self._finished or key in self._begun

    def different(
        self, key: str, of: Sequence[str], schema: TableSchema
    ) -> dict[Digest, RowKey] | None:
        """Return the keys that differed in a table that was finished so; `of` as `equal_ranges`.

        None if it was not, or if something else was compared.
        """
        entry = self._finished.get(key)
        if not entry or not entry["different"] or entry["of"] != list(of):
            return None
        return decode_keys(entry["different"], schema)

    def restore(self, result: TableResult) -> None:
        """Fill the result of a table that was finished, but for what differs."""
        entry = self._finished[result.key]
        for name in _PLAIN:
            setattr(result, name, entry[name])
        result.began_at = SourceMoment.of_json(entry["at"])
        result.repaired = [Difference(kind, key, None, None) for kind, key in entry["repaired"]]
        result.is_from_state = True

    def begin(self, result: TableResult, of: Sequence[str], at: SourceMoment) -> EqualRanges:
        """Begin a table at some moment; return its ranges that were equal in this pass.

        `of` says what is compared of the table: none if that was something else. The result has
        begun when the first run of the pass has begun with the table.
        """
        with self._turn:
            known = self._begun.get(result.key)
            if known is None or known.of != list(of):
                known = self._begun[result.key] = _Begun(list(of), EqualRanges.none(), at)
            known.equal.on_more = self._write_sometimes
            result.began_at = known.at
            return known.equal

    def finish(self, result: TableResult) -> None:
        """Keep a result if the table was compared to its end."""
        lags = result.iceberg is not None and result.iceberg.lags
        if (result.error is not None and not result.is_left_out) or result.unsettled or lags:
            self._is_over = False
            return
        different = different_keys(result)
        if result.is_left_out or result.began_at is None or different is None:
            return
        repaired = [difference.to_json(with_values=False) for difference in result.repaired]
        with self._turn:
            begun = self._begun.pop(result.key, None)
            self._finished[result.key] = {
                "of": begun.of if begun else [],
                "at": result.began_at.to_json(),
                **{name: getattr(result, name) for name in _PLAIN},
                "different": different,
                "repaired": [[difference["kind"], difference["key"]] for difference in repaired],
            }
        if len(self._finished) <= _ALWAYS_WRITTEN:
            self.write()
        else:
            self._write_sometimes()

    def write(self) -> None:
        """Replace the file. Raises ConfigError if that fails."""
        with self._turn:
            self._write()

    def _write(self) -> None:
        begun = {name: own.to_json() for name, own in self._begun.items()}
        known = {} if self._target is None else {_TARGET: self._target.transactions}
        self._file.write({"finished": self._finished, "begun": begun, **known})
        self._written_at = time.monotonic()

    def end(self) -> None:
        """Remove the file if each table was compared to its end: the pass is over."""
        if self._is_over:
            self._file.remove()
        else:
            self.write()

    def _write_sometimes(self) -> None:
        if time.monotonic() - self._written_at >= _SECONDS:
            self.write()

    def _read(self) -> None:
        members = () if self._target is None else (_TARGET,)
        state = self._file.read("finished", "begun", *members)
        if state is None:
            return
        try:
            self._finished = state["finished"]
            self._begun = {name: _Begun.of_json(own) for name, own in state["begun"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._file.unusable(NOT_OURS) from error
        if self._target is not None:
            self._target.require_transactions(str(state[_TARGET]))
