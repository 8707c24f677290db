"""kafka-python's producer with waits that end: the one module that uses its private names.

`commit_transaction` and `abort_transaction` wait without limit while no broker answers, and `close`
first tries to deliver what is queued. Ours give up in time, and drop what is queued.

The private names are those of kafka-python 3.0; `pyproject.toml` pins the minor version.
"""

from __future__ import annotations

from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

# Batches that are failed at a forced close need the sender's thread to run once more.
_CLOSE_SECONDS = 5


class TransactionalProducer(KafkaProducer):  # type: ignore[misc]  # the library has no types
    """A transactional producer that was initialised, which fences older ones with its id."""

    def __init__(self, timeout_seconds: float, **arguments: Any) -> None:
        """Connect and take over `transactional_id`; raises KafkaError."""
        super().__init__(**arguments)
        self._timeout_ms = int(timeout_seconds * 1000)
        try:
            self.init_transactions()
        except BaseException:
            self.close_now()
            raise

    def commit_transaction(self) -> None:
        """Commit; raises KafkaTimeoutError when no answer comes, and the outcome is not known."""
        self._complete(self._transaction_manager.begin_commit(), "commit")

    def abort_transaction(self) -> None:
        """Abort; raises KafkaTimeoutError when no answer comes, and Kafka will abort in time."""
        self._complete(self._transaction_manager.begin_abort(), "abort")

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        self._sender.force_close()
        try:
            self.close(timeout=_CLOSE_SECONDS)
        except KafkaError:
            # Nothing that is still queued was committed; the sender's thread is a daemon.
            self._closed = True

    def _complete(self, result: Any, what: str) -> None:
        self._sender.wakeup()
        if not result.wait(self._timeout_ms):
            reason = f"no answer to the {what} within {self._timeout_ms / 1000:g} seconds"
            raise KafkaTimeoutError(reason)
