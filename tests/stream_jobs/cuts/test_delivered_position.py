"""How far the connector has delivered, as progress records say it."""

from __future__ import annotations

from typing import Any

import pytest

from connector.foundation.contract import Sequence
from connector.stream.progress.sequences import GapCounter, TransactionOrder
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.source.sequence import PackedSequence, PackedSequences


def delivered(**facts: Any) -> DeliveredPosition:
    record: Any = {
        "flavour": "mysql",
        "gtid_set": None,
        "file": "binlog.000007",
        "position": 5000,
        "epoch": 2,
        "between": 3,
        "cascaded_rows": {"shop": ["items"]},
        "current_schemas": {"shop.items": "5d", "shop.orders": "5d"},
        "stated_schemas": {"shop.orders": "6f", "shop.users": ""},
    }
    return DeliveredPosition.of(record | facts)


def test_changes_before_the_moment_are_below_it() -> None:
    found = delivered()
    assert found.bound == PackedSequence.pack(Sequence(2, 7, 4999, 0, 3))
    assert found.position == "binlog.000007:5000"
    assert found.cascaded == frozenset({"shop.items"})
    # A statement may have given a table another list than its latest row had.
    assert found.column_lists == {"shop.items": "5d", "shop.orders": "6f", "shop.users": ""}


def test_a_transaction_that_ends_above_4_gib_is_below_its_moment_and_the_next_file_is_not() -> None:
    found = delivered(position=2**32 + 12_345, between=0)
    assert PackedSequence.pack(Sequence(2, 7, 2**32 - 2, 99, 99)) < found.bound
    assert found.bound < PackedSequence.pack(Sequence(2, 8, 4, 0, 0))
    assert found.position == f"binlog.000007:{2**32 + 12_345}"


def test_what_is_written_after_a_transaction_above_4_gib_can_be_stored() -> None:
    position = 2**32 + 12_345
    order = TransactionOrder(epoch=2, file="binlog.000007", position=position)
    between = GapCounter(order, "binlog.000007", position, 0)
    written = [between.take("binlog.000007", position, 1) for _ in range(3)]
    sequences = [Sequence(own.epoch, own.file, own.position, own.event, own.row) for own in written]
    packed = PackedSequences("".join(map(str, sequences)).encode())
    assert packed.fits.all()
    bounds = [delivered(position=position, between=count).bound for count in range(4)]
    assert [packed.at(place) for place in range(3)] == bounds[:3]
    assert packed.are_below(bounds[3]).all()


def test_an_epoch_that_a_mirror_cannot_store_is_an_error() -> None:
    with pytest.raises(MirrorError) as caught:
        delivered(epoch=9999)
    assert caught.value.code == job_errors.SEQUENCE_BEYOND
