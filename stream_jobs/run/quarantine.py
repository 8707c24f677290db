"""The quarantine of a job: it keeps a failed table away from the others, and retries it on request.

The record of a table is written before its batch is acknowledged, so neither a crash nor a restart
forgets it. Spark's offsets go on meanwhile. They do not matter for the table: what a mirror lacks
is read from its own progress, and the record says where to begin if there is no mirror.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from stream_jobs.apply.changes import TRUNCATE, TRUNCATES
from stream_jobs.errors import MirrorError, job_errors, record_errors
from stream_jobs.iceberg.table_files import TableFiles
from stream_jobs.load.table_loads import TableLoads
from stream_jobs.source.client import KafkaClient, refuse_shorter
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.merged_table import MergedTables
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_creation import mirror_gone
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.quarantine_files import QuarantinedTable, QuarantineFiles, ResumeRequest
from stream_jobs.tables.topic_state import TopicState, TopicStates, path_in

# About as many bytes of values are in memory while a `t` record is looked for.
_PIECE_BYTES: Final = 1 << 25


class Quarantine:
    """The tables that the job leaves alone."""

    def __init__(self, services: MirrorContext) -> None:
        """Read the records of earlier runs. Raises MirrorError if one cannot be read."""
        self._services = services
        self._files = QuarantineFiles(*services.folder)
        self.records = self._files.records()

    def set_aside(
        self,
        topic: str,
        begun: Mapping[int, int],
        error: MirrorError,
        skipped: frozenset[tuple[int, int]],
    ) -> QuarantinedTable:
        """Leave the table of `topic` alone from now on; its mirror lacks the records from `begun`.

        `skipped` were left out by request. Raises MirrorError if the storage fails.
        """
        facts = error.message.facts
        history = self._services.registry.history(topic)
        known = self.records.get(topic)
        record = QuarantinedTable(
            topic,
            _name(topic, known) if not history else history[-1].name,
            uuid.uuid4().hex,
            datetime.now(UTC).isoformat(timespec="seconds") if known is None else known.since,
            error.code.code,
            error.text,
            _number(facts.get("partition")),
            _number(facts.get("offset")),
            dict(begun),
            skipped,
            known is not None and known.is_rebuilt and known.begun == dict(begun),
        )
        self._files.put(record)
        self._files.refuse(topic)
        self.records[topic] = record
        return record

    def begun(self, topic: str, ranges: Sequence[OffsetRange]) -> Mapping[int, int]:
        """Return where a table begins that has no work in `ranges`: its mirror cannot be read."""
        known = self.records.get(topic)
        starts = {span.partition: span.start for span in ranges if span.topic == topic}
        return starts if known is None else known.begun

    def left_out(self) -> dict[str, tuple[str, str]]:
        """Return by topic what the tables are called, and why they are left alone."""
        return {
            record.topic: (record.table, f"[{record.code}] {record.reason}")
            for record in self.records.values()
        }

    def requests(self) -> dict[str, ResumeRequest]:
        """Return the requests that are to be tried, by topic; costs nothing without a record."""
        if not self.records:
            return {}
        open_requests = self._files.requests()
        return {
            topic: replace(request, skipped=request.skipped | self.records[topic].skipped)
            for topic, request in open_requests.items()
            if topic in self.records and request.number == self.records[topic].number
        }

    def ranges(self, topic: str) -> list[OffsetRange]:
        """Return all records of a table that is set aside, from where its record says.

        Raises MirrorError if Kafka does not show the partitions: without records, the table would
        seem to have caught up.
        """
        client = self._services.client
        count = len(client.partitions(topic))
        begun = self.records[topic].begun
        for number, offset in begun.items():
            if number >= count:
                raise MirrorError(
                    record_errors.PARTITIONS_MISSING,
                    topic=topic,
                    partition=number,
                    offset=offset,
                )
        partitions = [(topic, number) for number in range(count)]
        first, ends = client.first_offsets(partitions), client.end_offsets(partitions)
        return [
            OffsetRange(
                topic, partition[1], begun.get(partition[1], first[partition]), ends[partition]
            )
            for partition in partitions
        ]

    def go_on_loading(
        self,
        requests: Mapping[str, ResumeRequest],
        failed: dict[str, MirrorError],
        loads: TableLoads,
        states: TopicStates,
    ) -> dict[str, str]:
        """Go on with tables that wait for rows of the source, whatever their topics have.

        Returns their names by topic. Not with those that have `failed`, or that fail here, because
        their mirrors are missed.
        """
        for topic in requests:
            # Somebody may have put the mirror back.
            states.forget_missing(topic)
        waiting = loads.reading() & (requests.keys() - failed.keys())
        for topic in waiting:
            try:
                self.refuse_lost(states.of(topic), (), requests[topic], loads)
            except MirrorError as error:
                failed[topic] = error
        return {topic: self.go_on(topic) for topic in sorted(waiting - failed.keys())}

    def refuse_lost(
        self,
        state: TopicState,
        ranges: Sequence[OffsetRange],
        request: ResumeRequest,
        loads: TableLoads | None,
    ) -> None:
        """Raise MirrorError if Kafka no longer has what a table needs that is tried again.

        It never had the rows of one of `loads`.
        """
        own = state.mirror
        if own is not None:
            begun = own.progress.offsets
            refuse_shorter(span._replace(start=begun.get(span.partition, 0)) for span in ranges)
            return
        record, history = self.records[state.topic], self._services.registry.history(state.topic)
        # What is before that was in a mirror, for whatever reason the table was set aside.
        was_there = any(record.begun.values()) or (
            loads is not None and loads.is_loaded(state.topic)
        )
        if was_there and history and not (request.rebuild or record.is_rebuilt):
            raise mirror_gone(self._services, history[-1])
        first = self._services.client.first_offsets((span.topic, span.partition) for span in ranges)
        for span in ranges:
            first_offset = first[span.topic, span.partition]
            if first_offset > span.start:
                raise MirrorError(
                    record_errors.RECORDS_GONE,
                    topic=span.topic,
                    partition=span.partition,
                    offset=span.start,
                    first=first_offset,
                )

    def refuse_partial(self, topic: str, loads: TableLoads | None) -> None:
        """Raise MirrorError if a new mirror would lack rows whose records Kafka has deleted.

        It lacks none after a `t` record, with which each copy begins, or if they are loaded.
        """
        first = self._first_offsets(topic)
        deleted = [(number, offset) for number, offset in sorted(first.items()) if offset]
        if not deleted or (loads is not None and loads.is_loaded(topic)):
            return
        if not _has_truncate(self._services.client, topic, first[TRUNCATES]):
            number, offset = deleted[0]
            raise MirrorError(
                record_errors.RECORDS_GONE, topic=topic, partition=number, offset=0, first=offset
            )

    def _first_offsets(self, topic: str) -> dict[int, int]:
        """Return the first offset that Kafka has of each partition."""
        client = self._services.client
        first = client.first_offsets(client.partitions(topic))
        return {number: offset for (_, number), offset in first.items()}

    def rebuild(self, request: ResumeRequest, merged: MergedTables) -> None:
        """Throw the mirror away; the table begins with the first records that Kafka has.

        Of a mirror that is one of those which shards share, only the shard goes. A crash in between
        repeats this. Raises MirrorError if the place of the mirror holds something else, which
        stays.
        """
        topic, services = request.topic, self._services
        history = services.registry.history(topic)
        path, name = "", ""
        if history:
            path, name = path_in(services.storage, history[-1]), history[-1].name
        if history and (shard := history[-1].chosen.shard) is not None:
            merged.at(path).remove(shard, name, services.base)
        elif history:
            _refuse_foreign(services, path, name)
            TableFiles(services.storage, services.base).delete(path)
            for file in list(services.storage.list(path)):
                services.storage.delete(f"{path}/{file.name}")
        begun = self._first_offsets(topic)
        self.records[topic] = replace(self.records[topic], begun=begun, is_rebuilt=True)
        self._files.put(self.records[topic])
        self._files.ask(replace(request, rebuild=False))

    def go_on(self, topic: str) -> str:
        """Forget that a table was set aside: it has caught up. Return its name."""
        self._files.remove(topic)
        return self.records.pop(topic).table


def _name(topic: str, known: QuarantinedTable | None) -> str:
    """Return what a table is called whose schemas have not been read."""
    return topic if known is None else known.table


def _has_truncate(client: KafkaClient, topic: str, start: int) -> bool:
    """Return whether the topic has a committed `t` record from the offset `start` on."""
    place = topic, TRUNCATES
    end = client.end_offsets([place])[place]
    while start < end:
        span = OffsetRange(*place, start, end)
        ((read, columns),) = client.read_ranges([span], _PIECE_BYTES)
        if TRUNCATE in columns.ops.getvalue():
            return True
        start = read.end
    return False


def _refuse_foreign(services: MirrorContext, path: str, name: str) -> None:
    """Raise MirrorError if the table at `path` can be read, and is not the mirror of `name`."""
    try:
        MirrorTable.open(services.storage, path, name, services.base)
    except MirrorError as error:
        if error.code == job_errors.ANOTHER_TABLE:
            raise


def _number(fact: object) -> int | None:
    return fact if isinstance(fact, int) else None
