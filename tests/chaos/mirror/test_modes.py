"""The judge of the mirrors finds what is missing, and what is there too often."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import write_deltalake

from local_stack import Endpoint
from stream_jobs.apply import modes
from tests.chaos.mirror.modes import MODES, _distinct, _uncounted
from tests.chaos.mirror.source_log import SourceLog

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = Endpoint("127.0.0.1", 1)


def test_a_copied_row_that_did_not_change_is_no_other_version() -> None:
    assert _distinct([(1, 0), (2, 5), (1, 0), (1, 1), (1, 0)]) == {1: [0, 1, 0], 2: [5]}


def test_rows_are_counted() -> None:
    assert _uncounted("rows", Counter([1, 1, 2]), Counter([1, 3, 3])) == [
        "t: 2 rows are missing, such as 1",
        "t: 2 rows are too many, such as 3",
    ]


def test_a_journal_with_a_change_that_the_log_does_not_have_is_wrong(tmp_path: Path) -> None:
    log = SourceLog(tmp_path)
    rows: list[dict[str, Any]] = [
        {"id": 1, "tick": 0, "_cdc_op": "r"},
        {"id": 1, "tick": 1, "_cdc_op": "u"},
        {"id": 2, "tick": 4, "_cdc_op": "d"},
        {"id": None, "tick": None, "_cdc_op": "t"},
    ]
    for place, row in enumerate(rows):
        row |= {"_cdc_ts": datetime(2026, 1, 1, tzinfo=UTC), "_cdc_hi": 1, "_cdc_lo": place}
    write_deltalake(str(tmp_path / "t"), pa.Table.from_pylist(rows))
    assert MODES["journal"].differences(NOWHERE, log, "c00", tmp_path) == [
        "t: 1 rows are too many, such as (1, 1)",
        "t: 1 deletes are too many, such as 2",
        "t: 4 times are wrong",
        *(f"({key},): 2026-01-01 00:00:00+00:00 is None in the log" for key in (1, 1, 2, None)),
    ]


def test_every_mode_of_the_mirror_has_a_judge() -> None:
    assert modes.MODES.keys() - MODES.keys() == set()


def test_each_mode_is_an_entry_of_the_configuration() -> None:
    assert MODES["history"].settings(["c00", "c05"]) == (
        '[[tables]]\nmatch = ["c00.*", "c05.*"]\nmode = "history"\n'
    )
