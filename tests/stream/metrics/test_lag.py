"""How far behind a stream is, from what the source says of its log."""

from __future__ import annotations

from math import inf

import pytest

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.stream.metrics.pipeline_metrics import CommittedPosition, Lag
from connector.stream.metrics.source_watch import SourceLog, lag_of
from connector.stream.progress.progress_record import Progress

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
NOW = 1_700_000_000.0
HOUR = 3600


def log(**changes: object) -> SourceLog:
    values: dict[str, object] = {
        "server_uuid": UUID,
        "files": {"binlog.000007": 1000, "binlog.000008": 500, "binlog.000009": 300},
        "gtid_set": GtidSet.parse(f"{UUID}:1-90"),
        "retention_seconds": 24 * HOUR,
        "bytes_max": 0,
        "now": NOW,
    }
    return SourceLog(**(values | changes))  # type: ignore[arg-type]


def standing(
    file: str, position: int, committed_ago: float = 60, **changes: object
) -> CommittedPosition:
    values: dict[str, object] = {
        "flavour": "mysql",
        "gtid_set": f"{UUID}:1-80",
        "file": file,
        "position": position,
        "epoch": 1,
        "seq": "",
        "server_uuid": UUID,
        "instance": "a",
        "host": "h",
        "pid": 1,
        "committed_at_ms": 0,
    }
    progress = Progress(**(values | changes))  # type: ignore[arg-type]
    return CommittedPosition(progress, int((NOW - committed_ago) * 1_000_000))


def test_bytes_and_transactions_are_those_after_the_position() -> None:
    behind = lag_of(log(), standing("binlog.000008", 400), 0, 0)
    assert behind == Lag(400, 10, 60.0, 24 * HOUR - 60, 24 * HOUR)


def test_a_stream_that_has_everything_is_not_behind_however_old_that_is() -> None:
    position = standing("binlog.000009", 300, committed_ago=9 * HOUR, gtid_set=f"{UUID}:1-90")
    assert lag_of(log(), position, NOW - 5, 0) == Lag(0, 0, 0.0, 24 * HOUR, 24 * HOUR)


def test_what_came_after_an_idle_time_makes_the_stream_as_late_as_it_is() -> None:
    position = standing("binlog.000009", 200, committed_ago=9 * HOUR)
    behind = lag_of(log(), position, NOW - 5, 0)
    assert behind is not None
    assert behind.seconds == 5.0


def test_the_file_that_is_written_is_not_purged() -> None:
    position = standing("binlog.000009", 4, committed_ago=30 * HOUR)
    behind = lag_of(log(), position, 0, 0)
    assert behind is not None
    assert behind.to_purge_seconds == 24 * HOUR


def test_files_that_were_read_to_their_end_may_be_purged_while_the_source_is_idle() -> None:
    for file in ("binlog.000008", "binlog.000001"):
        position = standing(file, 400, committed_ago=30 * HOUR, gtid_set=f"{UUID}:1-90")
        behind = lag_of(log(), position, 0, 0)
        assert behind is not None
        assert behind.to_purge_seconds == 24 * HOUR
    position = standing("binlog.000008", 400, gtid_set=f"{UUID}:1-90")
    behind = lag_of(log(retention_seconds=0), position, 0, 0)
    assert behind is not None
    assert behind.to_purge_seconds == inf
    # By position, the stream goes on from the old file.
    position = standing("binlog.000008", 500, committed_ago=20 * HOUR, gtid_set=None)
    behind = lag_of(log(), position, NOW, 0)
    assert behind is not None
    assert behind.to_purge_seconds == 4 * HOUR


def test_a_stream_that_lacks_something_is_late_by_any_clock() -> None:
    position = standing("binlog.000008", 400, committed_ago=-60)
    behind = lag_of(log(), position, 0, 0)
    assert behind is not None
    assert behind.transactions == 10
    assert 0 < behind.seconds < 1


def test_an_older_file_may_be_purged_when_its_youngest_event_can_be_that_old() -> None:
    position = standing("binlog.000008", 4, committed_ago=30 * HOUR)
    behind = lag_of(log(), position, 0, 0)
    assert behind is not None
    assert behind.to_purge_seconds == 0.0


@pytest.mark.parametrize(("rate", "seconds"), [(10.0, 20.0), (0.0, inf)])
def test_a_bound_of_all_files_is_reached_at_the_rate_of_writing(
    rate: float, seconds: float
) -> None:
    bounded = log(retention_seconds=0, bytes_max=1000)
    behind = lag_of(bounded, standing("binlog.000008", 4), 0, rate)
    assert behind is not None
    assert behind.to_purge_seconds == seconds


def test_logs_that_are_kept_for_ever_are_not_purged() -> None:
    behind = lag_of(log(retention_seconds=0), standing("binlog.000007", 4), 0, 100)
    assert behind is not None
    assert behind.to_purge_seconds == inf


def test_a_file_that_is_gone_leaves_no_time() -> None:
    behind = lag_of(log(), standing("binlog.000001", 4), 0, 0)
    assert behind is not None
    assert (behind.bytes, behind.to_purge_seconds) == (None, 0.0)


def test_a_position_in_a_file_that_was_not_named_yet_is_not_near_a_purge() -> None:
    found = lag_of(log(), standing("", 4), 0, 0)
    assert found is not None
    assert (found.bytes, found.to_purge_seconds) == (None, inf)


def test_a_position_of_another_server_says_nothing_about_this_one() -> None:
    other = standing("binlog.000008", 4, server_uuid="other")
    assert lag_of(log(), other, 0, 0) is None


def test_transactions_of_mariadb_are_counted_by_domain() -> None:
    position = standing("binlog.000008", 4, gtid_set="0-1-80,5-2-7")
    behind = lag_of(log(gtid_set=MariadbGtidSet.parse("0-1-90,5-2-7,9-1-3")), position, 0, 0)
    assert behind is not None
    assert behind.transactions == 13


def test_without_gtids_transactions_are_not_counted() -> None:
    behind = lag_of(log(gtid_set=None), standing("binlog.000008", 4, gtid_set=None), 0, 0)
    assert behind is not None
    assert behind.transactions is None


def test_the_head_of_a_new_file_is_not_a_lag() -> None:
    position = standing("binlog.000008", 500, committed_ago=9 * HOUR, gtid_set=f"{UUID}:1-90")
    behind = lag_of(log(), position, 0, 0)
    assert behind is not None
    assert (behind.bytes, behind.seconds) == (300, 0.0)
    without = standing("binlog.000008", 500, committed_ago=9 * HOUR, gtid_set=None)
    behind = lag_of(log(gtid_set=None), without, 0, 0)
    assert behind is not None
    assert behind.seconds == 0.0


def test_numbers_of_two_servers_of_mariadb_do_not_hide_what_is_left() -> None:
    # Without gtid_strict_mode, each server counts the transactions of a domain for itself.
    ended = log(gtid_set=MariadbGtidSet.parse("0-2-991"))
    behind = lag_of(ended, standing("binlog.000009", 200, gtid_set="0-1-1001"), 0, 0)
    assert behind is not None
    # 100 bytes are no more than the head of a file.
    assert (behind.bytes, behind.transactions, behind.seconds) == (100, None, 0.0)
    behind = lag_of(ended, standing("binlog.000008", 200, gtid_set="0-1-1001"), 0, 0)
    assert behind is not None
    assert (behind.bytes, behind.transactions, behind.seconds) == (600, None, 60.0)


@pytest.mark.parametrize(
    ("gtids", "position", "is_within"),
    [
        ("0-1-1001", "binlog.000009:200", False),
        ("0-1-1001", "binlog.000009:300", True),
        # The server has only begun new files since.
        ("0-2-991", "binlog.000007:900", True),
        ("0-1-1001", "", False),
    ],
)
def test_a_point_has_all_of_a_log_by_the_numbers_of_one_server_or_by_its_position(
    gtids: str, position: str, *, is_within: bool
) -> None:
    ended = log(gtid_set=MariadbGtidSet.parse("0-2-991"))
    assert ended.is_within(gtids, position, lambda *_: True) is is_within


@pytest.mark.parametrize(
    ("position", "is_within"),
    [
        ("binlog.000007:900", False),
        ("binlog.000008:440", False),
        ("binlog.000008:450", True),
        ("binlog.000009:157", True),
        # The log does not have it any more.
        ("binlog.000006:900", False),
    ],
)
def test_without_gtids_new_files_without_a_transaction_are_nothing(
    position: str, *, is_within: bool
) -> None:
    def has_transaction(file: str, offset: int) -> bool:
        return (file, offset) < ("binlog.000008", 450)

    assert log(gtid_set=None).is_within(None, position, has_transaction) is is_within
