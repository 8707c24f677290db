"""One comparison of topics: reads the source's log and the topics side by side.

It also finds the topics: those of the prefix and of routes, which of them hold the rows of followed
tables, and which Kafka compacts.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from connector.binlog.header import file_number
from connector.binlog.table_filter import TableFilter
from connector.foundation import contract
from connector.foundation.control_records import QuarantineRecord
from connector.foundation.errors import SourceRefused, TransientError
from connector.foundation.settings.configuration import in_lower_case
from connector.foundation.settings.sections import KafkaSettings, Settings
from connector.stream.changes.changes_errors import RolledBack
from connector.stream.envelope.options import OutboxOptions, Topics
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.quarantine.topics import read_all
from connector.stream.sink import connection, recovery
from connector.stream.sink.registered_formats import open_registry
from connector.stream.snapshot.copy_requests import names_ignore_case, open_session
from connector.stream.snapshot.table_state import TableState, snapshot_topic
from connector.stream.source.record_options import outbox_form, table_topics
from verification import verify_errors
from verification.topics import outcome
from verification.topics.comparison import Comparison
from verification.topics.expected_records import LogReader
from verification.topics.log_ranges import RangeEnd, find_log_ranges, read_progress_history
from verification.topics.missing_records import MissingRecords, QuarantinedRecords
from verification.topics.record_difference import RegistryValues
from verification.topics.schema_history import SchemaHistory
from verification.topics.topic_records import TopicRecords, Writers
from verification.topics.transaction_topic import ReadSince, TransactionTopic

Show = Callable[[int, int, outcome.Outcome], None]


_POLICY = "cleanup.policy"


def topics_with_rows(topics: Topics, tables: TableFilter, names: Iterable[str]) -> set[str]:
    """Return the topics of the followed tables among `names`, which have had rows."""
    return {
        topics.of(database, table)
        for database, _, table in (name.partition(".") for name in names)
        if tables.follows(database, table)
    }


def shared_topics(
    topics: Topics, names: Iterable[str], outbox: OutboxOptions | None, own: Iterable[str]
) -> frozenset[str]:
    """Return the topics to which other pipelines may write, too: those of routes and of events.

    `names` are the tables that have had rows, `own` the topics that the pipeline may write to.
    """
    events = () if outbox is None else filter(outbox.may_have, own)
    places = (name.partition(".") for name in names)
    routes = ((topics.route(place[0], place[2]), place) for place in places)
    return frozenset(events) | {
        route.of(place[0], place[2]) for route, place in routes if route is not None
    }


def followed_topics(
    prefix: str, existing: dict[str, bool], tables: TableFilter, known: set[str]
) -> list[str]:
    """Return the topics of followed tables, and that of DDL; `known` as `topics_with_rows`."""
    topics = [prefix] if prefix in existing else []
    for topic in existing:
        database, _, table = topic.removeprefix(f"{prefix}.").partition(".")
        if topic in known or (table and "." not in table and tables.follows(database, table)):
            topics.append(topic)
    return topics


def topics_of(
    settings: KafkaSettings,
    clients: connection.KafkaClients,
    known: set[str],
    outbox: OutboxOptions | None = None,
) -> dict[str, bool]:
    """Return the topics of the prefix and those of `known`, and whether Kafka compacts them.

    Those of the events of `outbox` are among them, and are added to `known`.

    Raises SinkUnavailable or SinkRefused.
    """
    prefix = settings.topic_prefix
    try:
        admin = clients.open_admin(**connection.client_settings(settings))
        try:
            existing = admin.list_topics()
            if outbox is not None:
                known.update(filter(outbox.may_have, existing))
            names = [
                name for name in existing if name in known or f"{name}.".startswith(f"{prefix}.")
            ]
            return _compacted(admin, names)
        finally:
            admin.close()
    except (KafkaError, OSError) as error:
        raise connection.connector_error(settings, connection.reading(prefix), error) from error


def _compacted(admin: Any, names: list[str]) -> dict[str, bool]:
    resources = [ConfigResource(ConfigResourceType.TOPIC, name, {_POLICY: None}) for name in names]
    if not resources:
        return {}
    (responses,) = admin.describe_configs(resources, config_filter="all").values()
    # A topic whose settings the account may not see has none here. Then a record that Kafka has
    # compacted away counts as missing.
    return {name: "compact" in str(responses[name].get(_POLICY, {}).get("value")) for name in names}


def compare_topics(
    settings: Settings,
    first: str | None = None,
    until: str | None = None,
    show: Show | None = None,
    clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
) -> outcome.Outcome:
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
                whole = _TopicComparison(
                    settings, tables, first, until, clients, rolled_back, opened
                )
                return whole.run(show)
            except RolledBack as error:
                # Its rows were expected before its end was known; the pipeline has taken them back.
                rolled_back |= {error.transaction_id}


class _TopicComparison:
    """One reading of the range."""

    def __init__(
        self,
        settings: Settings,
        tables: TableFilter,
        first: str | None,
        until: str | None,
        clients: connection.KafkaClients,
        rolled_back: frozenset[str],
        opened: ExitStack,
    ) -> None:
        self._began = time.monotonic()
        self._settings = settings
        self._clients = clients
        self._opened = opened
        self._rolled_back = rolled_back
        self._has_start = first is not None
        self._delivered = delivered = read_progress_history(settings, clients)
        epochs = [epoch for epoch in delivered.epochs if epoch.newest is not None]
        prefix = settings.kafka.topic_prefix
        if not epochs or delivered.newest is None:
            raise TransientError(
                verify_errors.NOTHING_DELIVERED, pipeline=settings.name, prefix=prefix
            )
        flavour = delivered.newest.flavour
        start = None if first is None else RangeEnd.parse("--from", first, flavour)
        end = None if until is None else RangeEnd.parse("--to", until, flavour)
        mariadb = flavour == "mariadb"
        with recovery.open_records(settings.kafka, schema_topic(prefix), clients) as (_, records):
            self._schemas = SchemaHistory(records, settings.name, mariadb=mariadb)
        self._tables = tables
        self._table_topics = table_topics(settings)
        known = topics_with_rows(self._table_topics, self._tables, self._schemas.names)
        outbox = outbox_form(settings.envelope.outbox)
        self._existing = topics_of(settings.kafka, clients, known, outbox)
        # Before the ends of the topics are known: a copy that is complete by now has records there.
        self._copied = self._copies_under_way()
        own = followed_topics(prefix, self._existing, self._tables, known)
        shared = shared_topics(self._table_topics, self._schemas.names, outbox, own)
        writers = Writers(settings.name, shared)
        self._topics = opened.enter_context(TopicRecords(settings.kafka, own, writers, clients))
        self._outcome = found = outcome.Outcome()
        # Without a beginning, the range begins with the first record.
        lowest = self._lowest(epochs[0].number) if start is None else None
        self._spans = find_log_ranges(settings.source, epochs, lowest, start, end)
        found.epochs += self._spans.unproven
        first_proven = self._spans.found[0].epoch
        found.has_gap = any(
            start is not None or epoch.number > first_proven for epoch in found.epochs
        ) or any(span.why for span in self._spans.found[1:])
        found.progress_records = delivered.count
        for example in delivered.goes_back:
            found.differs(example)
        self._comparison = self._open_comparison()

    def _lowest(self, epoch: int) -> bytes | None:
        """Return the lowest sequence of the topics that is not of an epoch before this one."""
        lane = self._topics.lowest()
        if lane is not None:
            before = contract.Sequence.parse(lane.records[0][0].decode()).epoch
            if before < epoch:
                why = str(SourceRefused(verify_errors.TOPICS_NO_PROGRESS, epoch=before))
                self._outcome.epochs.append(outcome.EpochOutcome(before, "", "", unproven=why))
                self._topics.skip_to(str(contract.Sequence(epoch, 0, 0, 0, 0)).encode())
                lane = self._topics.lowest()
        return None if lane is None else lane.records[0][0]

    def _copies_under_way(self) -> frozenset[str]:
        """Return the tables that the pipeline is copying, or is going to copy, completely."""
        settings = self._settings
        topic = snapshot_topic(settings.kafka.topic_prefix)
        if topic not in self._existing:
            return frozenset()
        with recovery.open_records(settings.kafka, topic, self._clients) as (_, records):
            latest = recovery.of_pipeline(recovery.last_values(records), settings.name)
        states = (
            TableState.decode(value, f"{settings.name}/{key}") for key, value in latest.items()
        )
        return frozenset(state.name for state in states if state.under_way and not state.where)

    def _open_comparison(self) -> Comparison:
        settings, existing = self._settings, self._existing
        prefix, shared = settings.kafka.topic_prefix, self._delivered.shared
        transactions = None
        if settings.delivery.transaction_records:
            topic = contract.control_topic(prefix, contract.TRANSACTION_TOPIC_SUFFIX)
            read_since: ReadSince = _nothing_since
            if topic in existing:
                read_since = self._opened.enter_context(
                    recovery.open_records_since(settings.kafka, topic, self._clients)
                )
            transactions = TransactionTopic(self._outcome, prefix, read_since, shared_prefix=shared)
        kept_back: Iterator[QuarantineRecord] = iter(())
        if contract.control_topic(prefix, contract.QUARANTINE_TOPIC_SUFFIX) in existing:
            kept_back = (record for _, record, _ in read_all(settings.kafka, settings.name))
        quarantine = QuarantinedRecords(kept_back, self._table_topics)
        compacted = frozenset(topic for topic, is_compacted in existing.items() if is_compacted)
        return Comparison(
            self._outcome,
            self._topics,
            MissingRecords(self._outcome, quarantine, compacted, self._copied),
            transactions,
            prefix,
            shared_prefix=shared,
            values=RegistryValues(open_registry(settings)),
        )

    def run(self, show: Show | None) -> outcome.Outcome:
        """Read the logs up to the end of the range, and the topics up to their ends."""
        found = self._outcome
        for span in self._spans.found:
            log = LogReader(
                self._settings,
                span,
                self._tables,
                self._comparison,
                self._schemas,
                self._rolled_back,
            )
            source = span.source
            epoch = outcome.EpochOutcome(
                span.epoch, source.address, source.identity.server_uuid, log.place
            )
            epoch.unproven = span.why
            found.epochs.append(epoch)
            found.epochs.sort(key=lambda other: other.number)
            log.read(lambda done, total: show(done, total, found) if show is not None else None)
            epoch.end = log.place
            epoch.transactions = log.count
        self._comparison.finish()
        self._look_for_progress()
        for key in sorted(self._comparison.schema_keys - self._schemas.keys):
            topic = schema_topic(self._settings.kafka.topic_prefix)
            what = f"{key.decode()} is missing"
            found.differs(outcome.Example(outcome.SCHEMA, topic, 0, None, "", "", what))
        # Without a beginning, the range is whatever is left.
        found.has_gap = found.has_gap or (self._has_start and found.others[outcome.EXPIRED] > 0)
        for topic, count in self._topics.others.items():
            found.of(topic).others[outcome.OTHERS] += count
        for lane in self._topics.lanes:
            if lane.begin:
                number = lane.partition.partition
                found.of(lane.topic).kept_since[number] = lane.first.decode()
        found.seconds = time.monotonic() - self._began
        return found

    def _look_for_progress(self) -> None:
        """Look whether the newest record is counted by a progress record, as it has to be."""
        newest = self._comparison.newest
        if not newest or self._delivered.shared or _counts(self._delivered.newest, newest):
            return
        # The pipeline may have gone on since the first look; open transactions are waited for.
        progress = read_progress_history(self._settings, self._clients).newest
        if progress is not None and not _counts(progress, newest):
            topic = progress_topic(self._settings.kafka.topic_prefix)
            what = f"the newest one, of {progress.file}:{progress.position}, is before this record"
            self._outcome.differs(
                outcome.Example(outcome.PROGRESS, topic, 0, None, newest.decode(), "", what)
            )


def _counts(progress: Progress | None, digits: bytes) -> bool:
    """Return whether a record with this sequence was delivered, as the progress says."""
    if progress is None:
        return False
    sequence = contract.Sequence.parse(digits.decode())
    number = file_number(progress.file) if progress.file else 0
    place = progress.epoch, number, progress.position
    return (sequence.epoch, sequence.file, sequence.position) < place


def _nothing_since(since_ms: int) -> tuple[bool, Iterator[Any]]:
    """Read a topic that does not exist."""
    del since_ms
    return False, iter(())
