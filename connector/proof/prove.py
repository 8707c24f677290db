"""One proof: reads the source's log and the topics side by side, and compares them."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from connector.binlog.framing.log_position import file_number
from connector.changes.table_filter import TableFilter
from connector.contract import (
    QUARANTINE_TOPIC_SUFFIX,
    TRANSACTION_TOPIC_SUFFIX,
    Sequence,
    control_topic,
)
from connector.envelope.schemas.table_schema import schema_topic
from connector.errors import RolledBack, SourceRefused, TransientError, proof
from connector.progress.progress_record import progress_topic
from connector.proof.comparison import Comparison
from connector.proof.delivered import read_delivered
from connector.proof.ends import End
from connector.proof.headers import Writers
from connector.proof.kept_back import KeptBack
from connector.proof.known_schemas import KnownSchemas
from connector.proof.log_reading import LogReading
from connector.proof.outcome import OTHERS, PROGRESS, SCHEMA, EpochOutcome, Example, Outcome
from connector.proof.pipeline_topics import (
    followed_topics,
    shared_topics,
    topics_of,
    topics_with_rows,
)
from connector.proof.readable_values import ReadableValues
from connector.proof.spans import find_spans
from connector.proof.topic_records import TopicRecords
from connector.proof.transaction_topic import TransactionTopic
from connector.settings.lower_case import in_lower_case
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.recovery import reading, reading_since
from connector.sink.schema_registry import open_registry
from connector.snapshot.copy_request import names_ignore_case, open_session
from connector.source.server.outbox_form import outbox_form
from connector.source.server.table_topics import table_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.progress.progress_record import Progress
    from connector.proof.transaction_topic import ReadSince
    from connector.settings.sections import Settings

    # Bytes of the log that were read, all bytes of the range, and the outcome so far.
    Show = Callable[[int, int, Outcome], None]


def prove(
    settings: Settings,
    first: str | None = None,
    until: str | None = None,
    show: Show | None = None,
    clients: KafkaClients = KAFKA_CLIENTS,
) -> Outcome:
    """Compare the topics of a pipeline with its source's log, from `first` to `until`.

    Each is FILE:POSITION or a GTID set. None stands for the oldest position that topics and log
    tell of, and for the newest committed progress. The pipeline may be running. Raises
    TransientError or DefiniteError.
    """
    with open_session(settings) as session:
        ignores_case = names_ignore_case(session)
    if ignores_case:
        settings = in_lower_case(settings)
    tables = TableFilter(
        settings.source.tables, settings.source.exclude_tables, ignores_case=ignores_case
    )
    rolled_back: frozenset[str] = frozenset()
    while True:
        with ExitStack() as opened:
            try:
                whole = _Proof(settings, tables, first, until, clients, rolled_back, opened)
                return whole.run(show)
            except RolledBack as error:
                # Its rows were expected before its end was known; the pipeline has taken them back.
                rolled_back |= {error.transaction_id}


class _Proof:
    """One reading of the range."""

    def __init__(
        self,
        settings: Settings,
        tables: TableFilter,
        first: str | None,
        until: str | None,
        clients: KafkaClients,
        rolled_back: frozenset[str],
        opened: ExitStack,
    ) -> None:
        self._began = time.monotonic()
        self._settings = settings
        self._clients = clients
        self._opened = opened
        self._rolled_back = rolled_back
        self._delivered = delivered = read_delivered(settings, clients)
        epochs = [epoch for epoch in delivered.epochs if epoch.newest is not None]
        prefix = settings.kafka.topic_prefix
        if not epochs or delivered.newest is None:
            raise TransientError(proof.NOTHING_DELIVERED, pipeline=settings.name, prefix=prefix)
        flavour = delivered.newest.flavour
        start = None if first is None else End.parse("--from", first, flavour)
        end = None if until is None else End.parse("--to", until, flavour)
        mariadb = flavour == "mariadb"
        with reading(settings.kafka, schema_topic(prefix), clients) as (_, records):
            self._schemas = KnownSchemas(records, settings.name, mariadb=mariadb)
        self._tables = tables
        self._table_topics = table_topics(settings)
        known = topics_with_rows(self._table_topics, self._tables, self._schemas.names)
        outbox = outbox_form(settings.envelope.outbox)
        self._existing = topics_of(settings.kafka, clients, known, outbox)
        own = followed_topics(prefix, self._existing, self._tables, known)
        shared = shared_topics(self._table_topics, self._schemas.names, outbox, own)
        writers = Writers(settings.name, shared)
        self._topics = opened.enter_context(TopicRecords(settings.kafka, own, writers, clients))
        self._outcome = outcome = Outcome()
        # Without a beginning, the range begins with the first record.
        lowest = self._lowest(epochs[0].number) if start is None else None
        self._spans = find_spans(settings.source, epochs, lowest, start, end)
        outcome.epochs += self._spans.unproven
        first_proven = self._spans.found[0].epoch
        outcome.has_gap = any(
            start is not None or epoch.number > first_proven for epoch in outcome.epochs
        ) or any(span.why for span in self._spans.found[1:])
        outcome.progress_records = delivered.count
        for example in delivered.goes_back:
            outcome.differs(example)
        self._comparison = self._open_comparison()

    def _lowest(self, epoch: int) -> bytes | None:
        """Return the lowest sequence of the topics that is not of an epoch before this one."""
        lane = self._topics.lowest()
        if lane is not None:
            before = Sequence.parse(lane.records[0][0].decode()).epoch
            if before < epoch:
                why = str(SourceRefused(proof.NO_PROGRESS, epoch=before))
                self._outcome.epochs.append(EpochOutcome(before, "", "", unproven=why))
                self._topics.skip_to(str(Sequence(epoch, 0, 0, 0, 0)).encode())
                lane = self._topics.lowest()
        return None if lane is None else lane.records[0][0]

    def _open_comparison(self) -> Comparison:
        settings, existing = self._settings, self._existing
        prefix, shared = settings.kafka.topic_prefix, self._delivered.shared
        transactions = None
        if settings.delivery.transaction_records:
            topic = control_topic(prefix, TRANSACTION_TOPIC_SUFFIX)
            read_since: ReadSince = _nothing_since
            if topic in existing:
                read_since = self._opened.enter_context(
                    reading_since(settings.kafka, topic, self._clients)
                )
            transactions = TransactionTopic(self._outcome, prefix, read_since, shared_prefix=shared)
        return Comparison(
            self._outcome,
            self._topics,
            KeptBack(
                settings,
                self._table_topics,
                exists=control_topic(prefix, QUARANTINE_TOPIC_SUFFIX) in existing,
            ),
            transactions,
            frozenset(topic for topic, compacted in existing.items() if compacted),
            prefix,
            shared_prefix=shared,
            values=ReadableValues(open_registry(settings)),
        )

    def run(self, show: Show | None) -> Outcome:
        """Read the logs up to the end of the range, and the topics up to their ends."""
        outcome = self._outcome
        for span in self._spans.found:
            log = LogReading(
                self._settings,
                span,
                self._tables,
                self._comparison,
                self._schemas,
                self._rolled_back,
            )
            source = span.source
            epoch = EpochOutcome(span.epoch, source.address, source.identity.server_uuid, log.place)
            epoch.unproven = span.why
            outcome.epochs.append(epoch)
            outcome.epochs.sort(key=lambda found: found.number)
            log.read(lambda done, total: show(done, total, outcome) if show is not None else None)
            epoch.end = log.place
            epoch.transactions = log.count
        self._comparison.finish()
        self._look_for_progress()
        for key in sorted(self._comparison.schema_keys - self._schemas.keys):
            topic = schema_topic(self._settings.kafka.topic_prefix)
            what = f"{key.decode()} is missing"
            outcome.differs(Example(SCHEMA, topic, 0, None, "", "", what))
        for topic, count in self._topics.others.items():
            outcome.of(topic).others[OTHERS] += count
        for lane in self._topics.lanes:
            if lane.begin:
                number = lane.partition.partition
                outcome.of(lane.topic).kept_since[number] = lane.first.decode()
        outcome.seconds = time.monotonic() - self._began
        return outcome

    def _look_for_progress(self) -> None:
        """Look whether the newest record is counted by a progress record, as it has to be."""
        newest = self._comparison.newest
        if not newest or self._delivered.shared or _counts(self._delivered.newest, newest):
            return
        # The pipeline may have gone on since the first look; open transactions are waited for.
        progress = read_delivered(self._settings, self._clients).newest
        if progress is not None and not _counts(progress, newest):
            topic = progress_topic(self._settings.kafka.topic_prefix)
            what = f"the newest one, of {progress.file}:{progress.position}, is before this record"
            self._outcome.differs(Example(PROGRESS, topic, 0, None, newest.decode(), "", what))


def _counts(progress: Progress | None, digits: bytes) -> bool:
    """Return whether a record with this sequence was delivered, as the progress says."""
    if progress is None:
        return False
    sequence = Sequence.parse(digits.decode())
    number = file_number(progress.file) if progress.file else 0
    place = progress.epoch, number, progress.position
    return (sequence.epoch, sequence.file, sequence.position) < place


def _nothing_since(since_ms: int) -> tuple[bool, Iterator[Any]]:
    """Read a topic that does not exist."""
    del since_ms
    return False, iter(())
