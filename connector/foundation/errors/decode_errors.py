"""The errors of bytes that have a wrong form: of an event, a file, or an answer of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.errors import log
from connector.foundation.errors.kinds import DefiniteError

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode
    from connector.foundation.errors.kinds import ConnectorError


class DecodeError(DefiniteError):
    """Bytes have a wrong form."""


class TruncatedPayload(DecodeError):
    """A payload ends before a field does."""

    def __init__(self, needed: int, offset: int, end: int) -> None:
        """State that `needed` bytes were wanted at `offset` of a payload that ends at `end`."""
        super().__init__(log.PAYLOAD_ENDS, needed=needed, offset=offset, end=end)
        self.needed = needed
        self.offset = offset
        self.end = end


class ProtocolError(DecodeError):
    """The conversation with the server broke its rules."""


class EventError(DecodeError):
    """An event cannot be read: the error inside of it, with file, position and event name.

    Its code is that of the error inside.
    """

    def __init__(self, file: str, position: int, event_name: str, reason: ConnectorError) -> None:
        """State that the event at byte `position` of `file` caused `reason`."""
        super().__init__(
            log.EVENT_DAMAGED, file=file, position=position, event=event_name, why=reason
        )
        self.file = file
        self.position = position
        self.event_name = event_name
        self.reason = reason


class LogTruncated(DecodeError):
    """A log file ends inside an event: its server died, or it was copied while written."""

    def __init__(self, file: str, position: int, needed: int, found: int) -> None:
        """State that `needed` bytes were wanted at `position`, but `found` were there."""
        super().__init__(log.FILE_ENDS, file=file, position=position, needed=needed, found=found)
        self.file = file
        self.position = position  # the end of the last complete event
        self.needed = needed
        self.found = found


class LogRefused(DecodeError):
    """A file is not a binary log, is encrypted, or has a storage format that is not read."""

    def __init__(self, code: ErrorCode, file: str, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__(code, file=file, **facts)
        self.file = file
