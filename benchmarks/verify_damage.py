"""Damage to a mirror: each kind of difference, put there by a commit that no change explains.

The rows are replaced as another program would do it: they are dead in their files, and a new file
has the wrong ones. Rows that the load never changes are damaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from benchmarks.process import RunFailed
from stream_jobs.delta.parquet_file import rows_at, write_file
from stream_jobs.delta.table import TableCommit
from stream_jobs.errors import CommitConflict
from verification.mirror_side import live_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream_jobs.delta.table import DeltaTable

    Row = dict[str, Any]

# Keys above these are damaged, and the load leaves them alone.
RESERVED: Final = 1000
_TRIES: Final = 100


def _step(name: str) -> Callable[[Row], Row]:
    """Return what moves a value by one step."""

    def change(row: Row) -> Row:
        value = row[name]
        if isinstance(value, str):
            moved: object = value[:-1] + chr(ord(value[-1]) ^ 1)
        elif isinstance(value, bytes):
            moved = value[:-1] + bytes([value[-1] ^ 1])
        elif hasattr(value, "microsecond"):
            moved = value.replace(microsecond=value.microsecond ^ 1)
        elif hasattr(value, "scaleb"):
            moved = value + type(value)(1).scaleb(value.as_tuple().exponent)
        elif hasattr(value, "toordinal"):
            moved = value.replace(day=value.day % 28 + 1)
        else:
            moved = value + 1
        return row | {name: moved}

    return change


def _null(row: Row) -> Row:
    return row | {"blank": None}


def injected(columns: Mapping[str, pa.DataType]) -> dict[int, tuple[str, Callable[[Row], Row]]]:
    """Return by key which rows are replaced, by what, and which columns then differ."""
    found: dict[int, tuple[str, Callable[[Row], Row]]] = {2: ("blank", _null)}
    for place, name in enumerate(columns, start=3):
        found[place] = (name, _step(name))
    return found


def damage(
    table: DeltaTable,
    missing: set[int],
    replaced: Mapping[int, tuple[str, Callable[[Row], Row]]],
    stale: Mapping[int, Row],
    copied: Mapping[int, int],
) -> None:
    """Damage the mirror in one commit.

    Rows `missing` go, those `replaced` change, `stale` rows come in place of theirs or of none, and
    `copied` says which new keys get rows like others. Raises RunFailed if the table is never still.
    """
    for _ in range(_TRIES):
        snapshot = table.refresh()
        wanted = missing | replaced.keys() | stale.keys() | set(copied.values())
        dead, rows = _found(table, wanted, set(copied.values()))
        new = [change(rows[key]) for key, (_, change) in replaced.items()]
        new += list(stale.values())
        new += [rows[like] | {"id": key} for key, like in copied.items()]
        columns = snapshot.columns
        schema = pa.schema([(column.name, column.type) for column in columns])
        data = pa.Table.from_pylist(new, schema)
        file = write_file(table.storage, table.path, columns, data, key=("id",))
        try:
            table.commit(TableCommit(new=[file], dead=dead), "DAMAGE")
        except CommitConflict:
            continue
        return
    reason = "the job commits all the time: the mirror could not be damaged"
    raise RunFailed(reason)


def rows_of(table: DeltaTable, keys: set[int]) -> dict[int, Row]:
    """Return rows of the mirror by key."""
    table.refresh()
    return _found(table, keys, set())[1]


def _found(
    table: DeltaTable, wanted: set[int], kept: set[int]
) -> tuple[dict[str, bytes], dict[int, Row]]:
    """Return the places of rows, apart from those `kept`, and the rows."""
    snapshot = table.snapshot
    key = [column for column in snapshot.columns if column.name == "id"]
    dead: dict[str, bytes] = {}
    marks: dict[str, BitMap] = {}
    rows: dict[int, Row] = {}
    for file, positions in live_positions(table.storage, table.path, snapshot, ["id"]):
        keys = rows_at(table.storage, table.path, file, key, positions)["id"].to_numpy()
        places = positions[np.isin(keys, list(wanted))]
        if not len(places):
            continue
        data = rows_at(table.storage, table.path, file, snapshot.columns, places).to_pylist()
        for place, row in zip(places.tolist(), data, strict=True):
            rows[row["id"]] = row
            if row["id"] not in kept:
                marks.setdefault(file.path, BitMap()).add(place)
    for path, positions_of_file in marks.items():
        dead[path] = positions_of_file.serialize()
    return dead, rows
