"""What can fail between us and Kafka, and what is done about each error code of the protocol.

https://kafka.apache.org/protocol.html#protocol_error_codes
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum, auto
from typing import Final

from kafka import errors

from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from connector.kafka.folder import folder_errors


class Action(Enum):
    """What is done about an error code."""

    GO_ON = auto()  # it is done, now or before
    RETRY = auto()  # the broker cannot do it yet: wait, and send the same again
    REFRESH = auto()  # another broker can do it: look for it, and send the same again
    ABORT = auto()  # the transaction cannot be committed
    FENCE = auto()  # somebody else has ended the transaction, and may have begun another one
    STOP = auto()  # not even an abort is accepted


# All others are those of requests that we do not send, or mean ABORT.
_ACTIONS: Final[Mapping[Action, Collection[type[errors.KafkaError]]]] = {
    Action.GO_ON: (errors.NoError, errors.DuplicateSequenceNumberError),
    Action.RETRY: (
        errors.RequestTimedOutError,
        errors.CoordinatorLoadInProgressError,
        errors.NotEnoughReplicasError,
        errors.NotEnoughReplicasAfterAppendError,
        errors.ConcurrentTransactionsError,
        # Another partition of the request says why.
        errors.OperationNotAttemptedError,
        errors.OffsetNotAvailableError,
        errors.ThrottlingQuotaExceededError,
    ),
    Action.REFRESH: (
        errors.UnknownTopicOrPartitionError,
        errors.LeaderNotAvailableError,
        errors.NotLeaderForPartitionError,
        errors.BrokerNotAvailableError,
        errors.ReplicaNotAvailableError,
        errors.NetworkExceptionError,
        errors.CoordinatorNotAvailableError,
        errors.NotCoordinatorError,
        errors.KafkaStorageError,
        errors.FencedLeaderEpochError,
        errors.UnknownLeaderEpochError,
        errors.UnknownTopicIdError,
    ),
    Action.ABORT: (
        errors.UnknownError,
        errors.CorruptRecordError,
        errors.MessageSizeTooLargeError,
        errors.InvalidTopicError,
        errors.RecordListTooLargeError,
        errors.InvalidRequiredAcksError,
        errors.TopicAuthorizationFailedError,
        errors.InvalidTimestampError,
        errors.InvalidRequestError,
        errors.UnsupportedForMessageFormatError,
        errors.PolicyViolationError,
        errors.OutOfOrderSequenceNumberError,
        errors.InvalidTxnStateError,
        errors.UnknownProducerIdError,
        errors.UnsupportedCompressionTypeError,
        errors.InvalidRecordError,
        errors.TransactionAbortableError,
    ),
    Action.FENCE: (
        errors.InvalidProducerEpochError,
        errors.TransactionCoordinatorFencedError,
        errors.ProducerFencedError,
    ),
    Action.STOP: (
        errors.ClusterAuthorizationFailedError,
        errors.UnsupportedSaslMechanismError,
        errors.UnsupportedVersionError,
        errors.InvalidProducerIdMappingError,
        errors.InvalidTransactionTimeoutError,
        errors.TransactionalIdAuthorizationFailedError,
        errors.SaslAuthenticationFailedError,
    ),
}
ACTIONS: Final[Mapping[int, Action]] = {
    kind.errno: action for action, kinds in _ACTIONS.items() for kind in kinds
}
# The codes of one response mean what the gravest of them means.
_GRAVITY: Final = {action: number for number, action in enumerate(Action)}


def action_of(error: BaseException) -> Action:
    """Return what is done about an error of Kafka, or of the network."""
    if isinstance(error, BrokersUnreachable) and error.is_final:
        return Action.STOP
    if isinstance(error, errors.BrokerResponseError):
        return ACTIONS.get(error.errno, Action.ABORT)
    if isinstance(error, (OSError, errors.RetriableError)):
        return Action.REFRESH
    return Action.ABORT


def gravest(codes: Collection[int]) -> errors.KafkaError | None:
    """Return the error that decides what is done about a response; None if all went well."""
    if not any(codes):
        return None
    code = max(codes, key=lambda code: _GRAVITY[ACTIONS.get(code, Action.ABORT)])
    return None if ACTIONS.get(code) is Action.GO_ON else errors.for_code(code)()


class MalformedResponse(errors.KafkaError):  # type: ignore[misc]  # the library has no types
    """A response is not what the protocol says."""


class TimedOut(errors.KafkaTimeoutError):  # type: ignore[misc]  # the library has no types
    """Something takes longer than Kafka or the settings allow."""

    def __init__(self, code: ErrorCode, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message.text)


class BrokersUnreachable(errors.KafkaConnectionError):  # type: ignore[misc]  # no types there
    """No broker accepts the connection, and this is the reason."""

    def __init__(self, message: Message, *, definite: bool) -> None:
        """`message` is the text after the addresses; `definite` says that a retry cannot help."""
        super().__init__(message.text)
        self.message = message
        self.definite = definite

    @property
    def is_final(self) -> bool:
        """Whether it is the log in a folder, and somebody has to fix something first.

        What brokers refuse may be over when others of them answer: a certificate is renewed, or a
        listener changed.
        """
        return self.message.code in folder_errors.FINAL


# The pause before the second attempt; it grows by as much with each one.
_PAUSE_SECONDS: Final = 0.001
_PAUSE_SECONDS_MAX: Final = 0.1


class Attempts:
    """Attempts at one thing, until it is too late for another one."""

    def __init__(
        self,
        seconds: float,
        check: Callable[[], None],
        now: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Begin `seconds` before it is too late; `check` may raise why every wait is in vain."""
        self._until = now() + seconds
        self._check = check
        self._now = now
        self._sleep = sleep
        self._pause_seconds = 0.0

    def wait(self, error: Exception) -> None:
        """Wait before the next attempt; raises the `error` of the last one if it is too late."""
        self._check()
        if self._now() > self._until:
            raise error
        self._pause_seconds = min(self._pause_seconds + _PAUSE_SECONDS, _PAUSE_SECONDS_MAX)
        self._sleep(self._pause_seconds)
