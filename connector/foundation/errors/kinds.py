"""The tree of errors: two kinds, and one policy for each.

::

    ConnectorError
    ├── TransientError                 the same attempt may succeed later: retried with back-off
    │   ├── SourceUnavailable          the server cannot be reached, or the connection broke
    │   ├── SinkUnavailable            Kafka cannot be reached, or a delivery failed
    │   │   └── TransactionOutlasted   it took longer than a transaction of Kafka may last
    │   └── RolledBack                 rows that were delivered were rolled back
    └── DefiniteError                  repeating cannot help, or not for long: say what to do
        ├── ConfigError                the configuration is wrong
        ├── SourceRefused              the server said no: credentials, grants, settings, purged log
        ├── SinkRefused                Kafka said no: credentials, rights, sizes
        │   ├── RecordTooLarge         a record is above the limit; it was not sent
        │   └── TopicRefused           a topic that is missing cannot be created
        ├── Superseded                 another instance with the same name took over
        ├── UnsupportedChange          a change that cannot be published without loss
        ├── RequestRefused             a request to a running pipeline has a wrong form
        ├── LocalStackError            a private server cannot be fetched or started
        ├── MirrorError                the Spark job cannot keep the mirror equal to the source
        │   └── SchemaUnfollowed       a table changed in a way that its mirror cannot follow
        └── DecodeError                bytes that have a wrong form
            ├── TruncatedPayload       a payload ends before a field does
            ├── ProtocolError          the conversation with the server broke its rules
            ├── EventError             any of these, with file, position and event name
            ├── LogTruncated           a log file ends inside an event
            └── LogRefused             a file that is no log, or one of a kind that is not read

Kinds of one room lie beside its codes: those below DecodeError in `binlog.log_errors`, RolledBack
in `stream.changes.changes_errors`, LocalStackError in `local_stack.stack_errors`, and the kinds of
the Spark job in `stream_jobs.errors`.

A call site raises a kind with a code of the catalogue and the facts that its templates name. No row
values and no secrets are facts.


An error as fields of a log line.
"""

from typing import Self, TypeVar

from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message, Words


class ConnectorError(Exception):
    """The base of all errors of the product."""

    def __init__(self, code: ErrorCode, /, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__()
        self.message = Message(code, facts)

    @property
    def code(self) -> ErrorCode:
        """The code of the catalogue; in a frame, that of the error inside."""
        return self.message.shown_code

    @property
    def text(self) -> str:
        """The text without the code."""
        return self.message.text

    def __str__(self) -> str:
        """Return the text with its code before it."""
        return f"[{self.code}] {self.text}"

    def __reduce__(self) -> tuple[object, ...]:
        """Return how another process makes a copy: from the facts."""
        return _restored, (type(self),), self.__dict__

    @property
    def may_pass(self) -> bool:
        """Whether the same attempt may succeed later, without anything that a person does."""
        return self.message.may_pass

    def in_words(self, words: Words) -> Self:
        """Return the same error in other words."""
        copy = _restored(type(self))
        copy.__dict__.update(self.__dict__, message=self.message.in_words(words))
        return copy.with_traceback(self.__traceback__)


_Kind = TypeVar("_Kind", bound=ConnectorError)


class TransientError(ConnectorError):
    """Something outside failed for now; a restart from committed progress may succeed."""

    @property
    def may_pass(self) -> bool:
        """True: that is what the kind means."""
        return True


class SourceUnavailable(TransientError):
    """The source cannot be reached, or the connection to it broke.

    `number` is that of the server's error, or 0. `awaits` is for a lagging server: the server_uuids
    of all servers that may still send what it lacks, if they are known. If none of them has it any
    more, `otherwise` replaces this error. `answered` says that the server works, and only cannot
    continue the stream for now.
    """

    def __init__(
        self,
        code: ErrorCode,
        /,
        *,
        number: int = 0,
        awaits: frozenset[str] = frozenset(),
        otherwise: "SourceRefused | None" = None,
        answered: bool = False,
        **facts: object,
    ) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__(code, **_with(code, facts, number=number))
        self.number = number
        self.awaits = awaits
        self.otherwise = otherwise
        self.answered = answered


class SinkUnavailable(TransientError):
    """Kafka cannot be reached, or did not accept a delivery for now.

    `answered` says whether Kafka itself reported it, `superseded` whether another producer may have
    taken over the transactional id.
    """

    def __init__(
        self,
        code: ErrorCode,
        /,
        *,
        answered: bool = True,
        superseded: bool = False,
        **facts: object,
    ) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__(code, **facts)
        self.answered = answered
        self.superseded = superseded


class TransactionOutlasted(SinkUnavailable):
    """Kafka did not accept a batch within the transaction timeout."""

    def __init__(
        self, code: ErrorCode, transaction_id: str, seconds: float, **facts: object
    ) -> None:
        """Name the current source transaction as `Transaction.id` does."""
        facts = _with(code, facts, transaction_id=transaction_id, seconds=seconds)
        super().__init__(code, answered=True, superseded=False, **facts)
        self.transaction_id = transaction_id
        self.seconds = seconds


class DefiniteError(ConnectorError):
    """A retry cannot help, or only for a while (`may_pass`); the text says what does."""


class ConfigError(DefiniteError):
    """The configuration is wrong."""


class SourceRefused(DefiniteError):
    """The source refused: credentials, grants, settings, or a position it no longer has.

    `number` is that of the server's error, or 0. `address` is HOST:PORT of a server that refuses to
    continue with its log, if another server may. `reset_server` is the server_uuid of a server
    whose logs were reset since they were read.
    """

    def __init__(
        self,
        code: ErrorCode,
        /,
        *,
        number: int = 0,
        address: str = "",
        reset_server: str = "",
        **facts: object,
    ) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__(code, **_with(code, facts, number=number, address=address))
        self.number = number
        self.address = address
        self.reset_server = reset_server

    def sent_by(self, address: str) -> Self:
        """Return the same error of the server at `address`, HOST:PORT."""
        copy = _restored(type(self))
        copy.__dict__.update(self.__dict__, address=address)
        return copy


class SinkRefused(DefiniteError):
    """Kafka refused: credentials, rights, or a record above its limits."""


class RecordTooLarge(SinkRefused):
    """A record exceeds `kafka.record_bytes_max`, or what its topic takes; it was not sent."""


class TopicRefused(SinkRefused):
    """Kafka refuses a topic that is missing: its name, its settings, or a right to create it."""


class Superseded(DefiniteError):
    """Another instance with the same name has taken over the stream."""


class UnsupportedChange(DefiniteError):
    """The source changed something that cannot be published without loss.

    `database` and `table` say what was changed, if it is known; `table` is None for more than one.
    `event` has the bytes of the event.
    """

    def __init__(
        self,
        code: ErrorCode,
        /,
        *,
        database: str | None = None,
        table: str | None = None,
        event: bytes | None = None,
        **facts: object,
    ) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__(code, **_with(code, facts, database=database, table=table))
        self.database = database
        self.table = table
        self.event = event


class RequestRefused(DefiniteError):
    """A request to a running pipeline has a wrong form."""


class DecodeError(DefiniteError):
    """Bytes have a wrong form."""


def _with(code: ErrorCode, facts: dict[str, object], **known: object) -> dict[str, object]:
    """Return `facts`, and those of the `known` ones that the templates of `code` name."""
    return facts | {name: fact for name, fact in known.items() if name in code.facts}


def _restored(kind: type[_Kind]) -> _Kind:
    return kind.__new__(kind)


def fields(error: ConnectorError | Message) -> dict[str, str]:
    """Return `error`, the text of an error, and `code`."""
    message = error if isinstance(error, Message) else error.message
    return {"error": message.text, "code": message.shown_code.code}


def line(code: ErrorCode, **facts: object) -> dict[str, str]:
    """Return `event`, a text of the catalogue, and `code`, for a log line without an error."""
    message = Message(code, facts)
    return {"event": message.text, "code": code.code}
