"""The function that Spark runs for each task: it reads the records of its tables and applies them.

A Python worker runs one task after another, and keeps its connection to Kafka for the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import MirrorError
from stream_jobs.apply.facts import PartResult
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.ranges import read_ranges
from stream_jobs.tasks.part import apply_part
from stream_jobs.tasks.rewrite import compacted_file, rewritten_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.records.record_reader import RecordColumns
    from stream_jobs.apply.facts import TablePart, Task
    from stream_jobs.source.facts import KafkaFacts
    from stream_jobs.source.ranges import OffsetRange

_clients: dict[KafkaFacts, KafkaClient] = {}


def run_task(task: Task) -> list[PartResult]:
    """Do the work of `task`. Errors are results: those of one table do not stop others."""
    return [
        *(_applied(task) if task.parts else ()),
        *(rewritten_file(task, each) for each in task.rewritten),
        *(compacted_file(task, each) for each in task.compacted),
    ]


def _applied(task: Task) -> list[PartResult]:
    """Apply all parts; an error that names a topic is that of its table alone."""
    left = {part.topic: part for part in task.parts}
    results: list[PartResult] = []
    while left:
        try:
            for result in _results(task, list(left.values())):
                results.append(result)
                del left[result.topic]
            break
        except MirrorError as error:
            # The connection may be in any state.
            _forget(task.kafka)
            topic = error.message.facts.get("topic")
            for each in [topic] if isinstance(topic, str) and topic in left else list(left):
                results.append(PartResult(each, error=error))
                del left[each]
    return results


def _results(task: Task, parts: Sequence[TablePart]) -> Iterator[PartResult]:
    """Yield the result of each part as soon as its records are there."""
    by_topic = {part.topic: part for part in parts}
    missing = {part.topic: len(part.ranges) for part in parts}
    pieces: dict[str, list[tuple[OffsetRange, RecordColumns]]] = {topic: [] for topic in by_topic}
    ranges = [each for part in parts for each in part.ranges]
    for each, columns in read_ranges(_client(task.kafka), ranges, task.bytes_max):
        pieces[each.topic].append((each, columns))
        missing[each.topic] -= 1
        if not missing[each.topic]:
            yield apply_part(task, by_topic[each.topic], pieces.pop(each.topic))


def _client(facts: KafkaFacts) -> KafkaClient:
    if facts not in _clients:
        _clients[facts] = KafkaClient(facts)
    return _clients[facts]


def _forget(facts: KafkaFacts) -> None:
    client = _clients.pop(facts, None)
    if client is not None:
        client.close()
