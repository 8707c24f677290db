from __future__ import annotations

import pytest

from connector.binlog.events.rows_header import ExtraRowInfo
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


def decode(data: str, *, update: bool = False) -> ExtraRowInfo:
    return ExtraRowInfo.decode(PayloadReader(bytes.fromhex(data)), update=update)


@pytest.mark.parametrize(
    ("data", "update", "info"),
    [
        ("", False, ExtraRowInfo()),
        (
            "00" + "05" + "01" + "aabbcc",
            False,
            ExtraRowInfo(ndb_format=1, ndb_data=b"\xaa\xbb\xcc"),
        ),
        ("00" + "02" + "ff", True, ExtraRowInfo(ndb_format=255, ndb_data=b"")),
        ("01" + "0201", False, ExtraRowInfo(partition_id=258)),
        (
            "01" + "0200" + "0100",
            True,
            ExtraRowInfo(partition_id=2, source_partition_id=1),
        ),
        (
            "00" + "02" + "00" + "01" + "0700",
            False,
            ExtraRowInfo(ndb_format=0, ndb_data=b"", partition_id=7),
        ),
        (
            "01" + "0700" + "02" + "0102",
            False,
            ExtraRowInfo(partition_id=7, unknown=b"\x02\x01\x02"),
        ),
    ],
)
def test_extra_row_info_has_facts_by_their_type(
    data: str, update: bool, info: ExtraRowInfo
) -> None:
    assert decode(data, update=update) == info


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("00" + "01" + "00", "extra row data of NDB has 1 bytes instead of 2 or more"),
        ("00" + "05" + "01" + "aabb", "need 3 bytes at offset 3, but the payload ends at 5"),
        ("01" + "07", "need 2 bytes at offset 1, but the payload ends at 2"),
    ],
)
def test_extra_row_info_that_ends_early_is_an_error(data: str, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(data)
    assert caught.value.text == reason
