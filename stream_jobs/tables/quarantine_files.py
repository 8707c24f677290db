"""The files that record tables in quarantine, and the command `resume`, which retries the tables.

    _cdc/quarantine/<topic>.json    a table that cannot go on: why, since when, and from where
    _cdc/resume/<topic>.json        the command asks the job to try it again

A table may have no mirror, or one that cannot be read, so this is not a part of its log. Only the
job writes records, only the command writes requests, and the job removes both when the table goes
on. A request names the record that it answers, so an old one never resumes a table that was
quarantined later. The running job finds a request within an interval, and the next run at its
start.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from connector.foundation.errors import ConfigError
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.paths import EARLIER_MARK, OWN_FOLDER, path_part
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient

_T = TypeVar("_T")


_RECORDS: Final = f"{OWN_FOLDER}/quarantine"
_REQUESTS: Final = f"{OWN_FOLDER}/resume"


@dataclass(frozen=True, slots=True)
class QuarantinedTable:
    """A table that cannot go on."""

    topic: str
    table: str  # `database.table`; the topic if that is not known
    number: str  # of this record, unlike that of any other
    since: str  # ISO 8601, UTC
    code: str
    reason: str
    # The record that is refused, if it is one.
    partition: int | None
    offset: int | None
    # By partition, the first record that is not in the mirror.
    begun: Mapping[int, int]
    # Records that were left out so far: partition and offset.
    skipped: frozenset[tuple[int, int]] = frozenset()
    # Whether the mirror was thrown away by request, and the table begins with all that Kafka has.
    is_rebuilt: bool = False


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """What a command asks for."""

    topic: str
    number: str  # of the record that it answers
    # Records that are left out: partition and offset.
    skipped: frozenset[tuple[int, int]] = frozenset()
    # Whether the mirror is thrown away first.
    rebuild: bool = False


class QuarantineFiles:
    """The records and requests of a mirror."""

    def __init__(self, storage: Storage, base: str) -> None:
        """Look in `storage`, whose root is `base`."""
        self._storage = storage
        self._base = base.rstrip("/")

    def records(self) -> dict[str, QuarantinedTable]:
        """Return the tables that are set aside, by topic. Raises MirrorError for a wrong file."""
        return {record.topic: record for record in self._read(_RECORDS, _record)}

    def put(self, record: QuarantinedTable) -> None:
        """Write a record; it replaces an earlier one of the topic."""
        content = asdict(record) | {
            "begun": {str(number): offset for number, offset in record.begun.items()},
            "skipped": sorted(record.skipped),
        }
        self._storage.write(_path(_RECORDS, record.topic), _json(content))

    def remove(self, topic: str) -> None:
        """The table goes on: remove its record, and the request."""
        self._storage.delete(_path(_RECORDS, topic))
        self._storage.delete(_path(_REQUESTS, topic))

    def requests(self) -> dict[str, ResumeRequest]:
        """Return what commands ask for, by topic. Raises MirrorError for a wrong file."""
        return {request.topic: request for request in self._read(_REQUESTS, _request)}

    def ask(self, request: ResumeRequest) -> None:
        """Write a request; it replaces an earlier one of the topic."""
        content = asdict(request) | {"skipped": sorted(request.skipped)}
        self._storage.write(_path(_REQUESTS, request.topic), _json(content))

    def refuse(self, topic: str) -> None:
        """The table still cannot go on: remove the request."""
        self._storage.delete(_path(_REQUESTS, topic))

    def _read(self, folder: str, decode: Callable[[dict[str, Any]], _T]) -> Iterator[_T]:
        for file in self._storage.list(folder):
            # Others may remove it meanwhile. Other names are those of files that are being written.
            path = f"{folder}/{file.name}"
            content = self._storage.read(path) if file.name.endswith(".json") else None
            if content is None:
                continue
            try:
                yield decode(json.loads(content))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise MirrorError(job_errors.OWN_FILE, path=f"{self._base}/{path}") from error


def _path(folder: str, topic: str) -> str:
    return f"{folder}/{path_part(topic, EARLIER_MARK)}.json"


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1).encode()


def _record(content: dict[str, Any]) -> QuarantinedTable:
    begun = {int(number): offset for number, offset in content.pop("begun").items()}
    return QuarantinedTable(**content | {"begun": begun, "skipped": _pairs(content["skipped"])})


def _request(content: dict[str, Any]) -> ResumeRequest:
    return ResumeRequest(**content | {"skipped": _pairs(content["skipped"])})


def _pairs(lists: list[list[int]]) -> frozenset[tuple[int, int]]:
    return frozenset((int(partition), int(offset)) for partition, offset in lists)


class ResumedTable(NamedTuple):
    """A table that the job will try again."""

    table: str
    # Whether Kafka no longer has all of its records, so that a new mirror needs a copy.
    needs_copy: bool


def resume(
    settings: Settings,
    config: Path,
    tables: Iterable[str],
    *,
    every: bool = False,
    skipped: Iterable[tuple[int, int]] = (),
    rebuild: bool = False,
) -> list[ResumedTable]:
    """Ask for `tables`, or for `every` one that is set aside; leave the records `skipped` out.

    With `rebuild`, the mirrors are made anew. Raises ConfigError for a table that is not set aside,
    and MirrorError if storage or Kafka fail.
    """
    files = QuarantineFiles(*folder_of(settings))
    records = files.records()
    topics = {record.table: record.topic for record in records.values()}
    wanted = list(records) if every else []
    for name in tables:
        topic = topics.get(name, name)
        if topic not in records:
            raise ConfigError(job_errors.NOT_SET_ASIDE, table=name, config=config)
        wanted.append(topic)
    incomplete = _incomplete(settings, wanted) if rebuild and wanted else set()
    for topic in wanted:
        files.ask(ResumeRequest(topic, records[topic].number, frozenset(skipped), rebuild))
    return [ResumedTable(records[topic].table, topic in incomplete) for topic in wanted]


def _incomplete(settings: Settings, topics: Iterable[str]) -> set[str]:
    """Return the topics whose first records Kafka has deleted."""
    client = KafkaClient(settings.kafka.facts())
    try:
        counts = client.partition_counts()
        partitions = [(topic, n) for topic in topics for n in range(counts.get(topic, 0))]
        return {topic for (topic, _), first in client.first_offsets(partitions).items() if first}
    finally:
        client.close()
