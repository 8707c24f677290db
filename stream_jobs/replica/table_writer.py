"""The writer of one table's step: it deletes rows first, then inserts rows.

A row that comes again stays where it is, if no other key of the table is unique: then the server
writes only what differs. So a copy of rows that have not changed costs reads alone. The row at
the target decides what differs, and not what the mirror had, so a copy repairs it, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.row_hashes import keys_of
from stream_jobs.replica.statements import deletes, inserts, text_literal
from stream_jobs.replica.table_step import TableStep
from stream_jobs.replica.target import TargetSession

_PAIR = np.dtype([("first", "<i8"), ("second", "<i8")])


class KeySet:
    """The keys of some rows, 16 bytes each."""

    def __init__(self, rows: Iterable[pa.Table], key: Sequence[str]) -> None:
        """Take the columns `key` of `rows`."""
        parts = [_numbers(table, key) for table in rows]
        self._numbers = np.concatenate(parts) if parts else None

    def has(self, rows: pa.Table, key: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows have a key that is in the set."""
        if self._numbers is None:
            return np.zeros(rows.num_rows, np.bool_)
        return np.isin(_numbers(rows, key), self._numbers)


def _numbers(rows: pa.Table, key: Sequence[str]) -> NDArray[Any]:
    keys = keys_of([rows[name] for name in key])
    if keys.second is None:
        return keys.first
    pairs = np.empty(len(keys.first), _PAIR)
    pairs["first"], pairs["second"] = keys.first, keys.second
    return pairs


class WriteCounts(NamedTuple):
    """What was written."""

    deleted: int  # keys, also those that were not there
    inserted: int  # rows, also those that were there


class TableWriter:
    """Writes one step, within the transaction that is open."""

    def __init__(self, target: TargetSession, step: TableStep) -> None:
        self._target = target
        self.step = step
        self._key = [column["name"] for column in step.columns.key]
        # Keys that come again, and whether all rows may be there.
        self._again = KeySet((), self._key)
        self._may_all_exist = False

    def delete(self) -> int:
        """Delete the rows that go; return how many keys that were.

        Raises MirrorError if a file is gone or damaged, and the errors of the target.
        """
        step = self.step
        if step.is_whole:
            live = step.difference.live
            some = live is not None and 0 < self._count() <= live
            self._may_all_exist = some and self._can_update()
            if not self._may_all_exist:
                self._empty()
            return 0
        if not step.difference.dead:
            return 0
        new = KeySet(step.difference.new_rows(self._key) if self._can_update() else (), self._key)
        count, again = 0, []
        for keys in step.difference.dead_keys(self._key):
            comes = new.has(keys, self._key)
            gone = keys.filter(pa.array(~comes))
            again.append(keys.filter(pa.array(comes)))
            count += gone.num_rows
            room = self._target.statement_bytes
            for statement in deletes(step.place, step.columns.key, gone, room):
                self._target.execute(statement, step.place)
        self._again = KeySet((keys for keys in again if keys.num_rows), self._key)
        return count

    def insert(self) -> int:
        """Insert the rows that come; return how many. Raises as `delete`."""
        count = 0
        for rows in self._new_rows():
            if self._may_all_exist:
                count += self._put(rows, may_exist=True)
                continue
            comes_again = self._again.has(rows, self._key)
            if not comes_again.any():
                count += self._put(rows, may_exist=False)
                continue
            count += self._put(rows.filter(pa.array(~comes_again)), may_exist=False)
            count += self._put(rows.filter(pa.array(comes_again)), may_exist=True)
        if self._may_all_exist and self._count() != self.step.difference.live:
            # There are rows besides those that have come.
            self._may_all_exist = False
            self._empty()
            return self.insert()
        return count

    def _can_update(self) -> bool:
        """Return whether a row that comes again may be changed where it is.

        An INSERT finds it by any unique key, so there must be no other one than the primary key.
        """
        step = self.step
        if any(name.lower() in step.generated for name in self._key):
            return False
        # From now on to the end of the transaction, nobody can add a key.
        self._target.execute(f"SELECT 1 FROM {step.place.sql} LIMIT 1", step.place)
        return not self._target.query(
            "SELECT 1 AS found FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 "
            f"AND INDEX_NAME <> 'PRIMARY' AND TABLE_SCHEMA = {text_literal(step.place.database)} "
            f"AND TABLE_NAME = {text_literal(step.place.table)} LIMIT 1",
            step.place,
        )

    def _new_rows(self) -> Iterator[pa.Table]:
        return self.step.difference.new_rows([column["name"] for column in self.step.written])

    def _put(self, rows: pa.Table, *, may_exist: bool) -> int:
        step, count = self.step, 0
        room = self._target.statement_bytes
        for statement in inserts(step.place, step.written, rows, room, may_exist=may_exist):
            count += statement.rows
            if statement.errors_of_enum:
                self._target.execute_relaxed(statement.sql, step.place, statement.errors_of_enum)
            else:
                self._target.execute(statement.sql, step.place)
        return count

    def _count(self) -> int:
        sql = f"SELECT COUNT(*) AS found FROM {self.step.place.sql}"
        (row,) = self._target.query(sql, self.step.place)
        return int(str(row["found"]))

    def _empty(self) -> None:
        self._target.execute(f"DELETE FROM {self.step.place.sql}", self.step.place)
