"""The running pipeline as its records in Kafka show it: what was delivered, and to which offsets.

Also a table's past in these records: its column lists, and whether a copy of it is complete. The
process itself is asked nothing, and nothing is written.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Self

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.binlog.gtid import GtidSet, MariadbGtidSet, has_reached, parse_gtid_set
from connector.binlog.header import file_number
from connector.foundation import contract
from connector.foundation.errors import SinkUnavailable, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import Settings, SourceSettings
from connector.replication.server.addresses import open_same_server
from connector.stream.progress.progress_record import Progress
from connector.stream.sink import connection
from connector.stream.sink.connection import connector_error, consumer_settings
from connector.stream.sink.recovery import read_progress
from connector.stream.sink.state_follower import StateFollower
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.watermark import DeliveredPosition, LogPosition, log_end
from connector.stream.source.select_session import SelectSession
from verification import verify_errors
from verification.checksums import lender_of
from verification.patience import Patience
from verification.shared_looks import Lender, SharedLook
from verification.shared_session import SharedSession
from verification.source_moment import SourceMoment, lost_part, read_moment, short
from verification.table_definitions import TableName
from verification.table_history import TableHistory
from verification.table_topic import TopicRecord, read_records

_LOOK_SECONDS = 0.2
# Consumers of records, each used by one thread at a time.
_CONSUMERS_MAX = 4
_CLOSED = "the connections were closed"


class DeliveredState(NamedTuple):
    """What the pipeline had delivered at some time."""

    delivered: DeliveredPosition
    ends: Mapping[int, int]  # by partition of the table's topic: offsets before that time
    epoch: int  # of the sequences then


class LogEnd(NamedTuple):
    """The end of the source's log at some time."""

    gtid_set: GtidSet | MariadbGtidSet | None
    position: LogPosition


class _PipelineState(NamedTuple):
    """What one look at the pipeline's topics says of a table."""

    progress: Progress
    is_copied: bool  # whether rows of it are still to be copied
    history: TableHistory


class Pipeline:
    """One pipeline; a context manager closes the connections. Several threads may use it.

    Methods raise SinkUnavailable or SinkRefused, and the errors of a session on the source.
    """

    def __init__(
        self, settings: Settings, patience_seconds: float, rows_per_second: int = 0
    ) -> None:
        """Connect to Kafka and to the server that the pipeline reads.

        Raises SourceRefused if the pipeline has never run, SourceUnavailable if none of the
        configured servers is the one that it reads.
        """
        self.settings = settings
        # Of the rows that are read of the source.
        self.pace = SourcePace(settings.snapshot, rows_per_second)
        self._patience_seconds = patience_seconds
        # With the source, when a connection was lost.
        self.patience = Patience(settings.retry, patience_seconds, self._require_server)
        self.is_closed = False
        progress = read_progress(settings.kafka, settings.name)
        if progress is None:
            raise SourceRefused(verify_errors.NO_PROGRESS, pipeline=settings.name)
        self.server_uuid = progress.server_uuid
        # Of its sequences, when the pipeline was met.
        self.epoch = progress.epoch
        # How the server was reached.
        self.server = settings.source
        self._source = progress.source
        # Where the log ended after each moment, and the moment.
        self._moments: list[tuple[LogPosition, SourceMoment]] = []
        self.session: SelectSession = SharedSession(self.open_session, self.patience)
        self._sessions = lender_of(self.open_session, settings.snapshot.connections)
        self._consumers = Lender(self._consumer, KafkaConsumer.close, _CONSUMERS_MAX)
        self._follower = StateFollower(settings.kafka, settings.name)
        self._progress_looks = SharedLook(self._look_at_progress)
        self._end_looks = SharedLook(self._look_at_ends)
        self._source_looks = SharedLook(self._look_at_source)
        self._moment_looks = SharedLook(self._look_at_moment)
        try:
            # It reads no records: it knows all topics.
            self._offsets_consumer = self._consumer()
        except BaseException:
            self.session.close()
            raise

    def open_session(self) -> SelectSession:
        """Return a session on the server that the pipeline reads.

        Raises as the constructor, and RuntimeError after `close`.
        """
        self._refuse_closed()
        seconds = self.settings.snapshot.statement_seconds_max

        def connect(server: SourceSettings) -> SelectSession:
            self.server = server
            return SelectSession(server, seconds)

        session = open_same_server(self.settings.source, self._source, self.server_uuid, connect)
        if session is None:
            raise SourceUnavailable(
                verify_errors.OTHER_SERVER, pipeline=self.settings.name, uuid=self.server_uuid
            )
        try:
            self._require_log(session)
        except BaseException:
            session.close()
            raise
        return session

    def _require_log(self, session: SelectSession) -> None:
        """Raise SourceUnavailable if the source has lost what it had at a moment before."""
        if self._moments:
            end, moment = self._moments[-1]
            self.require_transactions(session, moment.transactions)
            if log_end(session) < end:
                place = f"the log up to file {end.file}, position {end.position}"
                raise _lost(session, place)

    def require_transactions(self, session: SelectSession, transactions: str) -> None:
        """Raise SourceUnavailable if the source lacks some of these, a set of GTIDs."""
        lost = lost_part(session, transactions)
        if lost:
            raise _lost(session, short(lost))

    def lent_session(self) -> AbstractContextManager[SelectSession]:
        """Lend a session for the length of a block: threads share `snapshot.connections`.

        Raises as `open_session`. A thread that has one must not ask for another one.
        """
        return self._sessions.lent()

    def _consumer(self) -> KafkaConsumer:
        try:
            return KafkaConsumer(
                **consumer_settings(self.settings.kafka), auto_offset_reset="earliest"
            )
        except (KafkaError, OSError) as error:
            raise self._kafka_error(error) from error

    def low(self, database: str, table: str) -> DeliveredState:
        """Return what was delivered by now, of the whole log and of one table."""
        # The ends first, so that each change after the progress is beyond them.
        ends = self.ends(database, table)
        progress = self._recovered(database, table).progress
        gtid_set = progress.gtid_set if progress.flavour == "mysql" else None
        return DeliveredState(
            DeliveredPosition(gtid_set, _position(progress)), ends, progress.epoch
        )

    def reached(self) -> LogEnd:
        """Return the end of the source's log now: everything that can be seen is before it."""
        return self._source_looks.ask(None)

    def moment(self) -> SourceMoment:
        """Return the moment of the source now: each later SELECT sees all that came before it.

        A thread that has a lent session must not ask.
        """
        return self._moment_looks.ask(None)

    def _look_at_moment(self, questions: Collection[None]) -> dict[None, SourceMoment]:
        moment, end = self.patience.again(self._read_moment)
        self._moments.append((end, moment))
        return dict.fromkeys(questions, moment)

    def _read_moment(self) -> tuple[SourceMoment, LogPosition]:
        """Return the moment now, and the end of the log after it."""
        with self.lent_session() as session:
            return read_moment(session), log_end(session)

    def moment_before(self, sequence: str) -> SourceMoment | None:
        """Return the last moment that was asked for before a change of the source.

        Everything that the source had committed by then has a lower sequence. None if the moments
        are all later, or of another epoch.
        """
        first = contract.Sequence.parse(sequence)
        if first.epoch != self.epoch:
            return None
        # Threads only add to its end.
        place = LogPosition(first.file, first.position)
        count = bisect_right(self._moments, place, key=lambda known: known[0])
        return self._moments[count - 1][1] if count else None

    def _look_at_source(self, questions: Collection[None]) -> dict[None, LogEnd]:
        return dict.fromkeys(questions, self._log_end())

    def _log_end(self) -> LogEnd:
        gtid_set: GtidSet | MariadbGtidSet | None = None
        if self.session.identity.flavour == "mariadb":
            (row,) = self.session.query("SELECT @@GLOBAL.gtid_binlog_pos AS found")
            gtid_set = MariadbGtidSet.parse(row["found"] or "")
        elif self.session.identity.gtid:
            (row,) = self.session.query("SELECT @@GLOBAL.gtid_executed AS found")
            gtid_set = GtidSet.parse((row["found"] or "").replace("\n", ""))
        return LogEnd(gtid_set, log_end(self.session))

    def wait_until_delivered(self, reached: LogEnd, database: str, table: str) -> Mapping[int, int]:
        """Wait until everything up to there is in the table's topic; return its ends by partition.

        A copy of rows that foreign keys have changed is waited for, too. Raises SinkUnavailable if
        it takes too long.
        """
        deadline = time.monotonic() + self._patience_seconds
        while True:
            state = self._recovered(database, table)
            if _is_after(state.progress, reached) and not state.is_copied:
                return self.ends(database, table)
            if time.monotonic() > deadline:
                raise self.lags(database, table)
            time.sleep(_LOOK_SECONDS)

    def lags(self, database: str, table: str) -> SinkUnavailable:
        """Return the error of a pipeline that does not deliver the changes of a table."""
        return SinkUnavailable(
            verify_errors.CONNECTOR_LAGS,
            pipeline=self.settings.name,
            table=f"{database}.{table}",
            seconds=self._patience_seconds,
        )

    def delivered_ends(
        self, reached: LogEnd, names: Collection[TableName]
    ) -> dict[TableName, Mapping[int, int]] | None:
        """Wait as `wait_until_delivered`, for some tables; return the ends of their topics.

        Those of which rows are still to be copied are left out. None if it takes too long.
        """
        deadline = time.monotonic() + self._patience_seconds
        while True:
            states = self._progress_looks.ask_all(names)
            if all(_is_after(states[name].progress, reached) for name in names):
                found = self.ends_of(names)
                return {name: found[name] for name in names if not states[name].is_copied}
            if time.monotonic() > deadline:
                return None
            time.sleep(_LOOK_SECONDS)

    def ends(self, database: str, table: str) -> Mapping[int, int]:
        """Return the ends of what is committed in the table's topic, by partition."""
        return self.ends_of([(database, table)])[database, table]

    def ends_of(self, names: Collection[TableName]) -> dict[TableName, Mapping[int, int]]:
        """Return the ends of what is committed in the topics of some tables, by partition."""
        topics = {name: self.topic(*name) for name in names}
        found = self._end_looks.ask_all(topics.values())
        return {name: found[topic] for name, topic in topics.items()}

    def topic(self, database: str, table: str) -> str:
        """Return the name of the topic of a table."""
        return contract.row_topic(self.settings.kafka.topic_prefix, database, table)

    def beginnings(self, database: str, table: str) -> dict[int, int]:
        """Return the offsets of the first records that Kafka still has, by partition."""
        topic = self.topic(database, table)
        with self._consumers.lent() as consumer:
            return self._offsets(consumer, consumer.beginning_offsets, [topic])[topic]

    def records(
        self, database: str, table: str, begin: Mapping[int, int], end: Mapping[int, int]
    ) -> Iterator[list[TopicRecord]]:
        """Yield the committed records between two offsets of each partition, without tombstones.

        Raises MirrorError if the topic ends before that, for as long as `Pipeline` is patient.
        """
        wanted = {number: stop for number, stop in end.items() if begin.get(number, 0) < stop}
        if not wanted:
            return
        topic = self.topic(database, table)
        with self._consumers.lent() as consumer:
            try:
                yield from read_records(consumer, topic, begin, wanted, self._patience_seconds)
            except (KafkaError, OSError) as error:
                raise self._kafka_error(error) from error

    def close(self) -> None:
        """Close the connections: threads that still use them fail."""
        self.is_closed = True
        self.patience.close()
        self.session.close()
        self._sessions.close()
        self._consumers.close()
        self._offsets_consumer.close()
        self._follower.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look_at_ends(self, topics: Collection[str]) -> dict[str, dict[int, int]]:
        consumer = self._offsets_consumer
        return self._offsets(consumer, consumer.end_offsets, topics)

    def _offsets(
        self,
        consumer: KafkaConsumer,
        ask: Callable[[list[TopicPartition]], dict[TopicPartition, int]],
        topics: Collection[str],
    ) -> dict[str, dict[int, int]]:
        """Return offsets by partition of each topic; none of a topic that does not exist."""
        found: dict[str, dict[int, int]] = {topic: {} for topic in topics}
        try:
            partitions = [
                TopicPartition(topic, number)
                for topic in topics
                for number in consumer.partitions_for_topic(topic) or ()
            ]
            offsets = ask(partitions) if partitions else {}
        except (KafkaError, OSError) as error:
            raise self._kafka_error(error) from error
        for partition, offset in offsets.items():
            found[partition.topic][partition.partition] = offset
        return found

    def history(self, database: str, table: str) -> TableHistory:
        """Return the past of a table, as the topics of the pipeline have it."""
        return self._progress_looks.ask((database, table)).history

    def _recovered(self, database: str, table: str) -> _PipelineState:
        """Return the progress, and what is still to be copied of a table.

        It waits for the end of open transactions: Kafka may show the records of a transaction in
        one topic before it shows them in another.
        """
        return self._progress_looks.ask((database, table))

    def _look_at_progress(
        self, names: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], _PipelineState]:
        self._refuse_closed()
        follower = self._follower
        try:
            follower.look()
        finally:
            if self.is_closed:
                # It was closed meanwhile, and perhaps has connected again.
                follower.close()
        progress = follower.progress
        if progress is None:
            raise SourceRefused(verify_errors.NO_PROGRESS, pipeline=self.settings.name)
        if progress.server_uuid != self.server_uuid:
            raise SourceUnavailable(
                verify_errors.MOVED, pipeline=self.settings.name, source=progress.source
            )
        states = {}
        for database, table in names:
            history = TableHistory.of(follower, database, table)
            is_copied = history.is_under_way or table in progress.cascaded_rows.get(database, ())
            states[database, table] = _PipelineState(progress, is_copied, history)
        return states

    def _refuse_closed(self) -> None:
        if self.is_closed:
            raise RuntimeError(_CLOSED)

    def _require_server(self) -> None:
        """Raise SourceUnavailable if the pipeline reads another server now."""
        self._progress_looks.ask_all(())

    def _kafka_error(self, error: KafkaError | OSError) -> Exception:
        kafka = self.settings.kafka
        return connector_error(kafka, connection.reading(f"{kafka.topic_prefix}.*"), error)


def _lost(session: SelectSession, what: str) -> SourceUnavailable:
    return SourceUnavailable(verify_errors.LOST, server=session.name, lost=what)


def _position(progress: Progress) -> LogPosition:
    return LogPosition(file_number(progress.file) if progress.file else 0, progress.position)


def _is_after(progress: Progress, reached: LogEnd) -> bool:
    """Return whether everything up to there was delivered."""
    known = progress.gtid_set
    gtid_set = None if known is None else parse_gtid_set(known, progress.flavour)
    # The position stays where it is while the server only begins new files.
    return has_reached(gtid_set, reached.gtid_set) or _position(progress) >= reached.position
