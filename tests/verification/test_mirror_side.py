"""The mirror of a table, while the Spark job goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream_jobs.apply.modes import MODES
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.table import TableCommit
from stream_jobs.errors import MirrorError
from stream_jobs.tables.mirror_metadata import MODE_PROPERTY
from tests.verification.past import COLUMNS, NAME, Past
from verification import verify_errors

if TYPE_CHECKING:
    from pathlib import Path


def test_a_column_that_goes_away_during_the_comparison_ends_it_with_its_name(
    tmp_path: Path,
) -> None:
    past = Past(tmp_path)
    past.write({1: 1})
    side = past.side
    past.delta.commit(TableCommit(metadata=Metadata(COLUMNS[:1])), "CHANGE COLUMNS")
    changed = side.refresh()
    for read in (lambda: list(side.batches(changed)), lambda: side.physical_name("v")):
        with pytest.raises(MirrorError) as caught:
            read()
        assert caught.value.message.code is verify_errors.COLUMN_GONE
        assert caught.value.message.facts == {"table": NAME, "column": "v"}
    # The next comparison begins with the new columns.
    assert past.side.missing_columns == ["v"]


@pytest.mark.parametrize("mode", ["current", "of a later version"])
def test_a_mode_that_does_not_say_which_rows_are_current_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    past = Past(tmp_path)
    metadata = Metadata(COLUMNS, {MODE_PROPERTY: mode})
    past.delta.commit(TableCommit(metadata=metadata), "CHANGE COLUMNS")
    monkeypatch.setattr(type(MODES["current"]), "current_rows", None)
    with pytest.raises(MirrorError) as caught:
        past.side  # noqa: B018 - it is opened
    assert caught.value.message.code is verify_errors.MODE
    assert caught.value.message.facts == {"table": NAME, "mode": mode}


@pytest.mark.parametrize(("mode", "keys"), [("journal", 0), ("soft_delete", 0), ("rows", 1)])
def test_without_a_key_only_rows_that_are_counted_are_compared_and_with_one_they_are_not(
    tmp_path: Path, mode: str, keys: int
) -> None:
    past = Past(tmp_path, keys=keys)
    past.delta.commit(
        TableCommit(metadata=Metadata(COLUMNS, {MODE_PROPERTY: mode})), "CHANGE COLUMNS"
    )
    with pytest.raises(MirrorError) as caught:
        past.side  # noqa: B018 - it is opened
    assert caught.value.message.code is verify_errors.MODE
    assert caught.value.message.facts == {"table": NAME, "mode": mode}


def test_a_mirror_with_last_changes_is_not_read_as_if_all_its_rows_were_current(
    tmp_path: Path,
) -> None:
    past = Past(tmp_path)
    past.write({1: 1})
    metadata = Metadata(COLUMNS, {MODE_PROPERTY: "journal"})
    past.delta.commit(TableCommit(metadata=metadata), "CHANGE COLUMNS")
    side = past.side
    with pytest.raises(AssertionError, match="other rows have a side of their own"):
        list(side.batches(side.snapshot))
