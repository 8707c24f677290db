"""watch_latency.py BOOTSTRAP TOPIC: how old rows are when a read_committed consumer has them.

Each row carries the time just before its statement was sent, in microseconds, as `t=…` in one of
its columns; so the commit and the fetch are included. Commands come as lines of standard input::

    first     answers with the time of the next message
    reset     forgets what was seen
    report    answers with the count and the percentiles of what was seen, in milliseconds

and its end ends the program. Answers are lines of JSON.
"""

import json
import queue
import sys
import threading
import time

from confluent_kafka import Consumer, TopicPartition

MARK = b'"t='


def consumer_of(bootstrap: str) -> Consumer:
    """Return a consumer that gives each message as soon as it is there."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "latency",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "fetch.min.bytes": 1,
            "topic.metadata.refresh.interval.ms": 1000,
            "log_level": 0,
        }
    )


def assign(consumer: Consumer, topic: str) -> bool:
    """Read all partitions from their start; return whether the topic is there."""
    found = consumer.list_topics(timeout=5).topics.get(topic)
    if found is None or found.error or not found.partitions:
        return False
    consumer.assign([TopicPartition(topic, partition, 0) for partition in found.partitions])
    return True


def percentiles(seen: list[float]) -> dict[str, object]:
    """Describe latencies, given in seconds."""
    ordered = sorted(seen)
    document: dict[str, object] = {"received": len(ordered)}
    for name, share in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("max_ms", 1.0)):
        index = min(len(ordered) - 1, int(len(ordered) * share))
        document[name] = round(ordered[index] * 1000, 2) if ordered else None
    return document


def answer(document: dict[str, object]) -> None:
    """Print a line."""
    print(json.dumps(document), flush=True)


class Watch:
    """What was seen, and what was asked for."""

    def __init__(self) -> None:
        """Listen to standard input."""
        self.ended = False
        self._commands: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._seen: list[float] = []
        self._wants_first = False
        threading.Thread(target=self._listen, daemon=True).start()

    def obey(self) -> None:
        """Do what was asked for since the last time."""
        while not self._commands.empty():
            match self._commands.get():
                case "reset":
                    self._seen.clear()
                case "report":
                    answer(percentiles(self._seen))
                case "first":
                    self._wants_first = True
                case _:
                    self.ended = True

    def take(self, value: bytes) -> None:
        """Take the message that has come now."""
        now = time.time()
        if self._wants_first:
            answer({"at": now})
            self._wants_first = False
        at = value.rfind(MARK) + len(MARK)
        self._seen.append(now - int(value[at : value.index(b'"', at)]) / 1e6)

    def _listen(self) -> None:
        for line in sys.stdin:
            self._commands.put(line.strip())
        self._commands.put("end")


def main() -> None:
    """Watch until standard input ends."""
    bootstrap, topic = sys.argv[1:]
    watch, consumer = Watch(), consumer_of(bootstrap)
    assigned = False
    while not watch.ended:
        watch.obey()
        if not assigned:
            assigned = assign(consumer, topic)
            time.sleep(0 if assigned else 0.02)
            continue
        # One by one: a call for many would wait for its time-out.
        message = consumer.poll(0.02)
        value = None if message is None or message.error() else message.value()
        if value is not None:
            watch.take(value)
    consumer.close()


if __name__ == "__main__":
    main()
