"""The progress record."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

from connector.foundation.control_records import ProgressRecord
from connector.foundation.errors import DecodeError
from connector.stream.progress.progress_record import Progress

PROGRESS = Progress(
    flavour="mysql",
    gtid_set="3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5",
    file="binlog.000002",
    position=5_000_000_000,
    epoch=1,
    seq="",
    server_uuid="3e11fa47-71ca-11e1-9e33-c80aa9429562",
    instance="a",
    host="there",
    pid=7,
    committed_at_ms=1_700_000_000_000,
    added_columns={"shop.orders": [["x", "literal", "7"]]},
)


def test_what_is_written_is_read_back() -> None:
    record = PROGRESS.encode("shop", "pipe")
    assert (record.topic, record.key) == ("shop.progress", b"pipe")
    assert record.value is not None
    assert Progress.decode(record.value, "here") == PROGRESS


def test_the_record_has_the_fields_of_the_contract() -> None:
    assert set(get_type_hints(ProgressRecord)) == {field.name for field in fields(Progress)}


@pytest.mark.parametrize("value", [b"{}", b"[]", b"\xff", b'{"flavour": "mysql", "new": 1}'])
def test_a_record_of_another_version_is_refused(value: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        Progress.decode(value, "shop.progress[0]@7")
    text = caught.value.text
    assert text.startswith("shop.progress[0]@7 is not a progress record of this version (")
    fix = "run the version that wrote the record, or give the pipeline a new name"
    assert text.endswith(f"); {fix}")
