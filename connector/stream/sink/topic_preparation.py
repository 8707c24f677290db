"""Creates topics in another thread, before their first records come.

A cluster needs some milliseconds for each new topic, and more until its leaders are at work. For
many tables that are copied, that is most of the time, and the stream does not wait for it.
"""

import threading
from collections.abc import Callable, Collection
from typing import TypeAlias

from connector.foundation.errors import ConnectorError

# Begins some work; what it returns says whether the work has ended.
Background: TypeAlias = Callable[[Callable[[], None]], Callable[[], bool]]


def in_thread(work: Callable[[], None]) -> Callable[[], bool]:
    """Work in a thread that does not outlast the process."""
    thread = threading.Thread(target=work, name="kafka-topics", daemon=True)
    thread.start()
    return lambda: not thread.is_alive()


class TopicPreparation:
    """Creates one batch of topics at a time; only the thread of the stream asks."""

    def __init__(
        self,
        create: Callable[[Collection[str]], list[str]],
        note: Callable[[list[str]], None],
        is_known: Callable[[str], bool],
        background: Background,
    ) -> None:
        """Let `create` make topics, in the `background`, that are not known yet.

        It returns those that exist then: not those that Kafka refuses. `note` makes them known.
        """
        self._create = create
        self._note = note
        self._is_known = is_known
        self._background = background
        # Those that Kafka may have refused: they are not tried again.
        self._tried: set[str] = set()
        self._batch: list[str] = []
        self._made: list[str] = []
        self._has_ended: Callable[[], bool] | None = None
        self._error: ConnectorError | None = None

    def are_ready(self, topics: Collection[str]) -> bool:
        """Return whether topics exist, or Kafka has refused them; begin to create others.

        Raises what ended the creation of a batch.
        """
        self._take()
        missing = self._missing(topics)
        if missing and self._has_ended is None:
            self._batch = missing
            self._has_ended = self._background(self._work)
            self._take()
            missing = self._missing(topics)
        return not missing

    def _missing(self, topics: Collection[str]) -> list[str]:
        return [topic for topic in topics if topic not in self._tried and not self._is_known(topic)]

    def _work(self) -> None:
        try:
            self._made = self._create(self._batch)
        except ConnectorError as error:
            self._error = error

    def _take(self) -> None:
        """Note the end of a batch; raises what ended it."""
        if self._has_ended is None or not self._has_ended():
            return
        self._has_ended = None
        made, self._made = self._made, []
        if self._error is not None:
            raise self._error
        self._note(made)
        self._tried.update(self._missing(self._batch))
