"""Everything that can go wrong, as one tree with two kinds and one policy.

::

    ConnectorError
    ├── TransientError                 the same attempt may succeed later: retried with back-off
    │   ├── SourceUnavailable          the server cannot be reached, or the connection broke
    │   ├── SinkUnavailable            Kafka cannot be reached, or a delivery failed
    │   │   └── TransactionOutlasted   it took longer than a transaction of Kafka may last
    │   └── RolledBack                 rows that are on their way were rolled back
    └── DefiniteError                  repeating cannot help: stop and say what to do
        ├── ConfigError                the configuration is wrong
        ├── SourceRefused              the server said no: credentials, grants, settings, purged log
        ├── SinkRefused                Kafka said no: credentials, rights, sizes
        │   └── RecordTooLarge         a record is above the limit; it was not sent
        ├── Fenced                     another instance with the same name took over
        ├── UnsupportedChange          a change that this version cannot carry without loss
        ├── LocalStackError            a private server cannot be fetched or started
        └── DecodeError                bytes that are not what they claim to be
            ├── TruncatedPayload       a payload ends before a field does
            ├── ProtocolError          the conversation with the server broke its rules
            ├── EventError             any of these, with file, position and event name
            ├── LogTruncated           a log file ends inside an event
            └── LogRefused             a file that is no log, or one of a kind that is not read

A message says where, what, and what to do. No row values and no secrets appear in messages.
"""

from __future__ import annotations


class ConnectorError(Exception):
    """Base of every error that the product raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return what a copy in another process is made of: the text, and the facts."""
        return _restored, (type(self), self.args), self.__dict__


class TransientError(ConnectorError):
    """Something outside failed for now; a restart from committed progress may succeed."""


class SourceUnavailable(TransientError):
    """The source cannot be reached, or the connection to it broke."""

    number = 0  # of the server's error, where it said so
    # Of a server that lags, the server_uuids of those that it may receive what it lacks from, where
    # they are all that may send it; and what to say where they do not have it any more.
    awaits: frozenset[str] = frozenset()
    otherwise = ""


class SinkUnavailable(TransientError):
    """Kafka cannot be reached, or did not accept a delivery for now."""

    answered = True  # whether it said so itself


class TransactionOutlasted(SinkUnavailable):
    """Kafka did not take a batch within the time that one of its transactions may last."""

    def __init__(self, reason: str, transaction_id: str, seconds: float) -> None:
        """Name the source transaction at hand as `Transaction.id` does."""
        super().__init__(reason)
        self.transaction_id = transaction_id
        self.seconds = seconds


class RolledBack(TransientError):
    """A source transaction took back rows that are on their way: read again, and leave it out."""

    def __init__(self, transaction_id: str) -> None:
        """Name the transaction as `Transaction.id` does."""
        super().__init__(f"transaction {transaction_id} was rolled back behind its rows")
        self.transaction_id = transaction_id


class DefiniteError(ConnectorError):
    """Repeating the attempt cannot help; the message says what will."""


class ConfigError(DefiniteError):
    """The configuration is wrong."""


class SourceRefused(DefiniteError):
    """The source refused: credentials, grants, settings, or a position it no longer has."""

    number = 0  # of the server's error, where it said so
    collides = False  # with another reader that has our server_id
    # HOST:PORT of the server that does not go on sending its log, where another one may.
    address = ""
    # server_uuid of the server, where its logs are not those any more that were read.
    reset_server = ""


class SinkRefused(DefiniteError):
    """Kafka refused: credentials, rights, or a record above its limits."""


class RecordTooLarge(SinkRefused):
    """A record is larger than Kafka is told to take; nothing of it was sent."""


class Fenced(DefiniteError):
    """Another instance with the same name has taken over the stream."""


class UnsupportedChange(DefiniteError):
    """The source changed something that this version cannot carry without loss.

    Where it is known, `database` and `table` say what was changed, `table` None of more than one,
    and `event` has the bytes of the event that did it. `passable` says that a pipeline may continue
    after its transaction once what it changed was repaired.
    """

    def __init__(
        self,
        reason: str,
        *,
        database: str | None = None,
        table: str | None = None,
        event: bytes | None = None,
        passable: bool = False,
    ) -> None:
        """State the whole message."""
        super().__init__(reason)
        self.passable = passable
        self.database = database
        self.table = table
        self.event = event


class LocalStackError(DefiniteError):
    """A private server of the local stack cannot be fetched, started or reached."""


class DecodeError(DefiniteError):
    """Bytes are not what they claim to be."""


class TruncatedPayload(DecodeError):
    """A payload ends before a field does."""

    def __init__(self, needed: int, offset: int, end: int) -> None:
        """State that `needed` bytes were wanted at `offset` of a payload that ends at `end`."""
        super().__init__(f"need {needed} bytes at offset {offset}, but the payload ends at {end}")
        self.needed = needed
        self.offset = offset
        self.end = end


class ProtocolError(DecodeError):
    """The conversation with the server broke its rules."""


class EventError(DecodeError):
    """An event cannot be read; the message names file, position and event."""

    def __init__(self, file: str, position: int, event_name: str, reason: str) -> None:
        """Compose the sentence from the facts; callers never format it."""
        super().__init__(
            f"{file}:{position}: cannot decode {event_name}: {reason}; compare with "
            f"`mysqlbinlog --start-position={position} {file}`"
        )
        self.file = file
        self.position = position
        self.event_name = event_name
        self.reason = reason


class LogTruncated(DecodeError):
    """A log file ends inside an event: its server died, or it was copied while written."""

    def __init__(self, file: str, position: int, needed: int, found: int) -> None:
        """State that `needed` bytes were wanted at `position`, but `found` were there."""
        super().__init__(
            f"{file}:{position}: the file ends inside an event: need {needed} bytes, but {found} "
            f"are left; every event before {position} is complete"
        )
        self.file = file
        self.position = position  # the end of the last complete event
        self.needed = needed
        self.found = found


class LogRefused(DecodeError):
    """A file is not a binary log, is encrypted, or has a storage format that is not read."""

    def __init__(self, file: str, reason: str) -> None:
        """Compose the sentence from the facts; callers never format it."""
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason


def _restored(kind: type[ConnectorError], args: tuple[object, ...]) -> ConnectorError:
    return kind.__new__(kind, *args)
