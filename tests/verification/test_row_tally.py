"""Rows without a key: how often both sides have each, and which transactions a snapshot has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from connector.binlog.gtid import GtidSet
from connector.foundation.contract import OP_CREATE, Sequence
from connector.stream.snapshot.watermark import DeliveredPosition, LogPosition
from verification import digests
from verification.digests import RowCounter, SideCounts, digest_pairs, row_digests
from verification.keyless_check import ConcurrentChanges, SnapshotPosition
from verification.pipeline import DeliveredState
from verification.table_topic import TopicRecord

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.apply.row_hashes import Keys

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def rows(*values: str | None) -> Keys:
    return row_digests(pa.table({"v": pa.array(values, pa.string())}), ["v"])


@pytest.mark.parametrize("bucket_records", [1, 1 << 20])
def test_rows_are_unequal_that_one_side_has_more_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_records: int
) -> None:
    monkeypatch.setattr(digests, "_BUCKET_RECORDS", bucket_records)
    tally = RowCounter(tmp_path, 12)
    tally.add(rows("a", "a", "", None, "b"), source=1)
    tally.add(rows("a", "a", "a", "", "c"), mirror=1)
    tally.add(rows("b"), mirror=1)
    tally.add(rows("d", "d"), mirror=1)
    tally.add(rows("d", "d"), mirror=-1)
    tally.add(rows(), mirror=1)
    found = dict(tally.unequal())
    a, nothing, c = (digest_pairs(rows(value))[0] for value in ("a", None, "c"))
    assert found == {a: SideCounts(2, 3), nothing: SideCounts(1, 0), c: SideCounts(0, 1)}


def record(position: int, transaction: str) -> TopicRecord:
    return TopicRecord(OP_CREATE, b"", str(Sequence(1, 7, position, 0, 0)), transaction)


def test_a_snapshot_of_mysql_has_old_transactions_and_perhaps_those_that_were_being_committed() -> (
    None
):
    moment = SnapshotPosition(GtidSet.parse(f"{UUID}:1-5"), LogPosition(7, 1000))
    assert moment.has(record(900, f"{UUID}:5")) is True
    assert moment.has(record(900, f"{UUID}:6")) is None
    assert moment.has(record(900, "binlog.000007:900")) is None
    assert moment.has(record(1000, f"{UUID}:6")) is False


def test_a_snapshot_of_mariadb_has_what_begins_before_its_position() -> None:
    moment = SnapshotPosition(None, LogPosition(7, 1000))
    assert [moment.has(record(at, "0-1-5")) for at in (999, 1000)] == [True, False]


def test_a_count_is_open_if_changes_explain_it_that_the_snapshot_perhaps_has() -> None:
    (digest,) = digest_pairs(rows("a"))
    low = DeliveredState(DeliveredPosition(None, None), {}, 1)
    meanwhile = ConcurrentChanges(low, perhaps={digest: [1, 1, -1]})
    more = [each for each in range(-3, 4) if meanwhile.is_open(digest, SideCounts(5 + each, 5))]
    assert more == [-1, 0, 1, 2]
    assert not ConcurrentChanges(low).is_open(digest, SideCounts(1, 1))
