"""Waits for records that ask a running pipeline for something: requests, and signals."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.errors import RequestRefused, fields
from connector.sink import attempts
from connector.sink.connection import connector_error, consumer_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.settings.sections import KafkaSettings

_POLL_MS = 1000
# The broker answers at once if there is a record.
_FETCH_WAIT_MS = 5000
_MS = 1000
_RETRY_SECONDS = 5.0


class RecordListener:
    """Reads the first partition of a topic in a thread of its own."""

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        key: bytes,
        offset: int | None,
        read: Callable[[bytes | None], dict[str, Any]],
        noun: str,
    ) -> None:
        """Listen for records with `key`, beginning at `offset`; None is the end of the topic.

        The end is told by an empty object with the offset before it. `read` makes an object of a
        value, or raises RequestRefused; `noun` is what the log calls a record.
        """
        # Offset and object of each new record.
        self.requests: SimpleQueue[tuple[int, dict[str, Any]]] = SimpleQueue()
        self._settings = settings
        self._key = key
        self._offset = offset
        self._topic = topic
        self._read = read
        self._noun = noun
        self._closing = threading.Event()
        self._log = structlog.get_logger()
        # A daemon: it may wait for the broker when the process ends.
        threading.Thread(target=self._listen, name=f"{noun}s", daemon=True).start()

    def close(self) -> None:
        """Stop listening; the thread is not waited for."""
        self._closing.set()

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen_until_it_breaks()
            except (KafkaError, OSError) as error:
                failed = connector_error(self._settings, attempts.reading(self._topic), error)
                self._log.warning(
                    f"{self._noun}s cannot be read; trying again",
                    **fields(failed),
                    retry_in_seconds=_RETRY_SECONDS,
                )
                self._closing.wait(_RETRY_SECONDS)

    def _listen_until_it_breaks(self) -> None:
        partition = TopicPartition(self._topic, 0)
        consumer = KafkaConsumer(
            **consumer_settings(self._settings),
            auto_offset_reset="earliest",
            # The client refuses to wait longer for a fetch than for any other response.
            fetch_max_wait_ms=min(
                _FETCH_WAIT_MS, int(self._settings.request_timeout_seconds * _MS) // 2
            ),
        )
        try:
            consumer.assign([partition])
            end: int = consumer.end_offsets([partition])[partition]
            if self._offset is None:
                self._offset = end
                self.requests.put((end - 1, {}))
            elif self._offset > end:
                # Somebody has deleted the topic, and its offsets begin again.
                self._log.warning("a topic was created again", topic=self._topic)
                self._offset = 0
            consumer.seek(partition, self._offset)
            while not self._closing.is_set():
                for record in consumer.poll(timeout_ms=_POLL_MS).get(partition, ()):
                    self._offset = record.offset + 1
                    if record.key == self._key:
                        self._take(record.offset, record.value)
        finally:
            consumer.close()

    def _take(self, offset: int, value: bytes | None) -> None:
        try:
            request = self._read(value)
        except RequestRefused as error:
            self._log.error(
                f"a {self._noun} is refused", topic=self._topic, offset=offset, **fields(error)
            )
            return
        self.requests.put((offset, request))
