"""What the pipeline says it has delivered: its progress records, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connector.binlog.framing.log_position import file_number
from connector.progress.progress_record import Progress, progress_topic
from connector.proof.outcome import PROGRESS, Example
from connector.sink.recovery import reading

if TYPE_CHECKING:
    from connector.settings.sections import Settings
    from connector.sink.clients import KafkaClients


@dataclass(slots=True)
class Epoch:
    """The progress in one epoch: all of its sequences are positions in the log of one server."""

    number: int
    # The newest progress of the epoch before, from which this one goes on; None if the topic does
    # not hold it any more.
    before: Progress | None
    # The first and the last progress that name a file of the log.
    oldest: Progress | None = None
    newest: Progress | None = None
    # The first progress, if another program had delivered a part of the next transaction.
    begun: Progress | None = None


@dataclass(slots=True)
class Delivered:
    """The progress of one pipeline, as far back as the topic holds it."""

    newest: Progress | None = None
    epochs: list[Epoch] = field(default_factory=list)
    count: int = 0
    goes_back: list[Example] = field(default_factory=list)
    # Whether other pipelines write to the same topics.
    shared: bool = False


def read_delivered(settings: Settings, clients: KafkaClients) -> Delivered:
    """Read the progress records of the pipeline, and find where they go back.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    topic = progress_topic(settings.kafka.topic_prefix)
    found = Delivered()
    with reading(settings.kafka, topic, clients) as (_, records):
        for record in records:
            if record.key != settings.name.encode():
                found.shared = True
                continue
            if record.value is None:
                found.newest = None
                found.epochs.clear()
                continue
            progress = Progress.decode(record.value, f"{topic}[0]@{record.offset}")
            before = found.newest
            if before is not None and _place(progress) < _place(before):
                what = f"it goes back to {progress.file}:{progress.position}"
                found.goes_back.append(
                    Example(PROGRESS, topic, 0, record.offset, progress.seq, "", what)
                )
            if not found.epochs or found.epochs[-1].number != progress.epoch:
                found.epochs.append(Epoch(progress.epoch, before))
            epoch = found.epochs[-1]
            if progress.begun_events or progress.begun_rows:
                epoch.begun = epoch.begun or progress
            if progress.file:
                epoch.oldest = epoch.oldest or progress
                epoch.newest = progress
            found.newest = progress
            found.count += 1
    return found


def _place(progress: Progress) -> tuple[int, int, int]:
    number = file_number(progress.file) if progress.file else 0
    return progress.epoch, number, progress.position
