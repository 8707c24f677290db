"""Rows that only the target has: one scan finds many keys, and their rows come in groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connector.foundation.settings.sections import RetrySettings
from tests.stream_jobs.topics import column
from tests.verification.foreign.test_guess import schema
from verification.foreign import foreign_check
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.foreign_check import ForeignCheck, ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.guess import MappingGuess
from verification.foreign.settlement import Sides
from verification.foreign.table_choice import TableChoice
from verification.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ROWS = 500
GROUP = 20


class _Target(DeltaTarget):
    """Counts its scans, by the columns that they read."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"delta:{path}", str(path))
        self.scans: list[list[str]] = []

    def chosen(self, names: Sequence[str], *arguments: Any) -> Iterator[pa.Table]:
        self.scans.append(list(names))
        return super().chosen(names, *arguments)


def test_one_scan_finds_the_keys_of_many_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_check, "_CANDIDATES", (GROUP, 100_000))
    # Each row is wider than all that may be in memory.
    monkeypatch.setattr(foreign_check, "_CANDIDATES_BYTES", 1)
    types = {"id": pa.int32(), "note": pa.string()}
    columns = {"id": range(ROWS), "note": ["x"] * ROWS}
    data = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    write_deltalake(tmp_path, data)
    target = _Target(tmp_path)
    target.refresh()
    source: Any = SimpleNamespace(
        schema=schema(column("id", "int", key=1), column("note", "text")),
        no_rows=data.slice(0, 0),
        estimated_rows=0,
        chunks=lambda _: iter(()),
        rows_of=lambda _: iter(()),
        server_time_us=lambda: 0,
    )
    # It tells of everything in the time that the target may lag.
    log: Any = SimpleNamespace(
        states=lambda _: {}, hides=lambda *_: False, lacks_changes=False, reach_us=-(10**9)
    )
    mapping = MappingGuess(source, target, TableChoice("shop", "t", target.name, {})).mapping()
    target.scans.clear()
    result = ForeignResult("shop.t", target.name)
    limits = ForeignLimits(differences_max=ROWS)
    sides = Sides(source, target, mapping, log, Patience(RetrySettings(), 0.0))
    check = ForeignCheck(sides, limits, result, lambda *_: None)
    check._read_rows(None)
    assert {difference.key["id"] for difference in check._found.values()} == set(range(ROWS))
    assert len(check._found) == ROWS
    assert target.scans.count(["id"]) == 1
    assert target.scans.count(["id", "note"]) == ROWS // GROUP
