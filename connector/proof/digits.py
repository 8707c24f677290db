"""Parts of the 38 digits of a sequence."""

from __future__ import annotations

from typing import Final

from connector.contract import (
    SEQ_DIGITS,
    SEQ_EPOCH_DIGITS,
    SEQ_FILE_DIGITS,
    SEQ_POSITION_DIGITS,
    SEQ_ROW_DIGITS,
)
from connector.envelope.event_encoder import HALVES

# The digits that all records of an event share.
EVENT_DIGITS: Final = SEQ_DIGITS - SEQ_ROW_DIGITS
# The digits that all records of a transaction share, or all records between two transactions.
TRANSACTION_DIGITS: Final = SEQ_EPOCH_DIGITS + SEQ_FILE_DIGITS + SEQ_POSITION_DIGITS


def row_of(sequence: bytes) -> int:
    """Return the number of the row in its event."""
    return int(sequence[EVENT_DIGITS:]) // HALVES
