"""Records of another version in Kafka, and what a replay says of what it cannot write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import DecodeError
from connector.stream.progress import progress_errors
from connector.stream.progress.progress_record import Progress
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.fences import Fence
from connector.stream.quarantine.records import RecordParts
from connector.stream.snapshot.table_state import TableState
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.errors.code import ErrorCode

UNLIKE = b'{"new": 1}'


@pytest.mark.parametrize(
    ("decode", "code", "kind"),
    [
        (Progress.decode, progress_errors.PROGRESS, "Progress"),
        (TableState.decode, progress_errors.COPY, "TableState"),
        (Fence.decode, quarantine_errors.FENCE, "Fence"),
    ],
)
def test_a_record_of_another_version(
    decode: Callable[[bytes, str], object], code: ErrorCode, kind: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(UNLIKE, "shop.control[0]@7")
    why = f"{kind}.__init__() got an unexpected keyword argument 'new'"
    assert caught.value.text == text_of(code, record="shop.control[0]@7", why=why)


def test_a_record_of_another_version_in_the_quarantine() -> None:
    with pytest.raises(DecodeError) as caught:
        RecordParts().take(b"shop/shop.orders", b"[]")
    why = "TypeError('list indices must be integers or slices, not str')"
    assert caught.value.text == text_of(quarantine_errors.QUARANTINE, why=why)
