"""What was read must be in front of each file that a server begins behind it."""

from __future__ import annotations

import pytest

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.stream.progress.stream_position import GtidHistory

OWN = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "4350f323-7565-4e59-8763-4b1b83a0ce0e"


@pytest.mark.parametrize(
    ("start", "read", "before", "missing"),
    [
        # Everything that was read is in front of the file.
        (f"{OWN}:1-5", f"{OWN}:1-9", f"{OWN}:1-9", ""),
        # Reset: the server counts anew, whether something came in this stream or not.
        (f"{OWN}:1-5", f"{OWN}:1-9", f"{OWN}:1-2", f"{OWN}:3-9"),
        (f"{OWN}:1-9", f"{OWN}:1-9", f"{OWN}:1-2", f"{OWN}:3-9"),
        # What another server committed may come later here, unless it came in this stream.
        (f"{OTHER}:1-9", f"{OTHER}:1-9", f"{OTHER}:1-4", ""),
        (f"{OTHER}:1-5", f"{OTHER}:1-9", f"{OTHER}:1-7", f"{OTHER}:8-9"),
    ],
)
def test_what_must_be_in_front_of_a_file_of_mysql(
    start: str, read: str, before: str, missing: str
) -> None:
    history = GtidHistory(GtidSet.parse(start), OWN, 1)
    found = history.missing(GtidSet.parse(read), GtidSet.parse(before))
    assert found == GtidSet.parse(missing)


@pytest.mark.parametrize(
    ("start", "read", "before", "missing"),
    [
        ("0-1-5", "0-1-9", "0-1-9", ""),
        ("0-1-9", "0-1-9", "0-1-2", "0-1-9"),
        ("0-2-9", "0-2-9", "0-2-4", ""),
        ("0-2-5", "0-2-9", "0-2-7", "0-2-9"),
        ("0-2-5,7-2-1", "0-2-5,7-2-3", "0-2-5", "7-2-3"),
    ],
)
def test_what_must_be_in_front_of_a_file_of_mariadb(
    start: str, read: str, before: str, missing: str
) -> None:
    history = GtidHistory(MariadbGtidSet.parse(start), "", 1)
    found = history.missing(MariadbGtidSet.parse(read), MariadbGtidSet.parse(before))
    assert found == MariadbGtidSet.parse(missing)


def test_a_stream_by_position_has_nothing_to_compare() -> None:
    assert GtidHistory(None, OWN, 1).missing(None, GtidSet.parse(f"{OWN}:1")) is None
