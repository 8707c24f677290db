"""A mirror of each mode holds what its model says, however the changes were cut and repeated."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.delta.table import DeltaTable
from stream_jobs.source.sequence import PackedSequence
from tests.integration.mirror.mode_story import Story
from tests.length import length
from tests.stream_jobs import mode_models
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.contract import Sequence
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

NOTE = column("note", "varchar", length=9)
RUNS = length(short=2, full=20)
SEEDS = range(length(short=1, full=4))


def seq(hi: int | None, lo: int | None) -> Sequence | None:
    return None if hi is None or lo is None else PackedSequence(hi, lo).unpack()


def ms(time: Any) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def journal_of(rows: list[dict[str, Any]]) -> object:
    found = []
    for row in rows:
        values = (row["id"], row["note"]) if row["_cdc_op"] != "t" else None
        where = seq(row["_cdc_hi"], row["_cdc_lo"])
        found.append((where, ms(row["_cdc_ts"]), row["_cdc_op"], values))
    return sorted(found, key=str)


def soft_deleted_of(rows: list[dict[str, Any]]) -> object:
    return sorted(((row["id"], row["note"]), row["_cdc_deleted"]) for row in rows)


def history_of(rows: list[dict[str, Any]]) -> object:
    assert all(row["_cdc_is_current"] == (row["_cdc_valid_to"] is None) for row in rows)
    found = [
        mode_models.Version(
            (row["id"], row["note"]),
            ms(row["_cdc_valid_from"]) or 0,
            ms(row["_cdc_valid_to"]),
            row["_cdc_end_op"],
            PackedSequence(row["_cdc_hi"], row["_cdc_lo"]).unpack(),
            seq(row["_cdc_end_hi"], row["_cdc_end_lo"]),
        )
        for row in rows
    ]
    joined: list[mode_models.Version] = []
    for version in sorted(found, key=lambda version: (version.row[0], version.seq)):
        last = joined[-1] if joined else None
        # While truncates can be missing, a copied row begins a version with the same values.
        if last and (last.row, last.end_op, last.end_seq) == (version.row, "r", version.seq):
            joined[-1] = version._replace(seq=last.seq, valid_from=last.valid_from)
        else:
            joined.append(version)
    return sorted(joined, key=lambda version: version.seq)


def row_counts_of(rows: list[dict[str, Any]]) -> object:
    return Counter((row["id"], row["note"]) for row in rows)


def journal(changes: list[mode_models.Change]) -> object:
    return sorted(mode_models.journal(changes), key=str)


MODES: list[tuple[str, int, Callable[..., object], Callable[..., object]]] = [
    ("journal", 1, journal, journal_of),
    ("journal", 0, journal, journal_of),
    ("soft_delete", 1, mode_models.soft_deleted, soft_deleted_of),
    ("history", 1, mode_models.history, history_of),
    ("rows", 0, mode_models.row_counts, row_counts_of),
]


class Death(Exception):
    """The end of a process."""


def mortal_commit(lives: int) -> Callable[..., object]:
    """A commit that the process does not survive the last time."""
    commit = DeltaTable.commit
    left = count(lives, -1)

    def mortal(*arguments: Any) -> object:
        if next(left) <= 1:
            raise Death
        return commit(*arguments)

    return mortal


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("mode", "key", "model", "found"), MODES)
def test_the_mirror_is_what_the_model_says_after_every_run(
    kafka: Kafka,
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    mode: str,
    key: int,
    model: Callable[..., object],
    found: Callable[..., object],
) -> None:
    dice = random.Random(f"{seed}{mode}{key}")
    columns = (column("id", "int", key=key), NOTE)
    story = Story(SourceTable(kafka, "items", columns).create(), dice, keys=6)
    sections: dict[str, Any] = {
        "tables": [{"match": ["shop.*"], "mode": mode}],
        "kafka": {"max_offsets_per_trigger": 25},
    }
    for _ in range(RUNS):
        story.go_on(60)
        with monkeypatch.context() as patched, suppress(Death):
            patched.setattr(DeltaTable, "commit", mortal_commit(dice.randint(1, 6)))
            job.run(**sections)
        if dice.random() < 0.3:
            job.delete_checkpoint()
        lines = job.run(**sections)
        assert job.exit_code == 0, lines
        rows = job.data("items").to_pylist()
        assert found(rows) == model(story.changes)
