"""Recovers copies at a pipeline's start: from states of earlier runs and the source's tables."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import line
from connector.foundation.settings.sections import Settings, SnapshotSettings, SourceSettings
from connector.replication.start_point import ServerIdentity
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.metrics.control import Control
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.copies import Copies
from connector.stream.snapshot.copy_backlog import CopyBacklog, LostTopics
from connector.stream.snapshot.copy_output import CopyOutput
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.table_plan import followed_tables
from connector.stream.snapshot.table_state import AT_START, TableState, snapshot_topic
from connector.stream.source.select_session import SelectSession
from connector.stream.source.server_selection import CheckedSource


@dataclass(frozen=True, slots=True)
class CopyPeers:
    """The functions that read the source for copies."""

    select: Callable[[SourceSettings], SelectSession]
    read: Callable[
        [SourceSettings, SnapshotSettings, ServerIdentity, DebeziumProfile | None], ReaderPool
    ]


COPY_PEERS = CopyPeers(SelectSession, ReaderPool)


@dataclass(frozen=True, slots=True)
class CopySource:
    """The source of copies, and how it is read."""

    source: CheckedSource
    peers: CopyPeers

    def session(self) -> SelectSession:
        """Connect; raises SourceUnavailable or SourceRefused."""
        return self.peers.select(self.source.settings)

    def readers(self, settings: SnapshotSettings, debezium: DebeziumProfile | None) -> ReaderPool:
        """Return what reads the rows of tables."""
        return self.peers.read(self.source.settings, settings, self.source.identity, debezium)


def open_copies(
    settings: Settings,
    source: CopySource,
    recovered: Mapping[str, bytes],
    tables: TableFilter,
    output: CopyOutput,
    backlog: CopyBacklog,
    control: Control,
) -> Copies:
    """Return the copies of a pipeline, which continue after `recovered` on `source`.

    With `source.start = "snapshot"`, tables without a state are copied, too, and in any case those
    whose rows are gone from their topics. The records that this function writes are part of the
    first commit. Raises SourceUnavailable or SourceRefused, DecodeError for states of another
    version, and the errors of writing.
    """
    states = _followed_states(copy_states(settings, recovered), tables, output)
    copies = Copies(
        output,
        lambda: source.readers(settings.snapshot, output.debezium),
        backlog,
        settings,
        states,
        control,
    )
    begins = settings.source.start == "snapshot"
    names: list[tuple[str, str]] = []
    if begins or backlog.lost_topics.any_lost(tables):
        with source.session() as session:
            names = followed_tables(session, tables)
    if begins:
        _warn_of_unmatched(settings, tables, names)
    fresh = [name for name in names if begins and copies.state(*name) is None]
    begun = set(fresh)
    _copy_lost(copies, backlog.lost_topics, [name for name in names if name not in begun])
    if fresh:
        copies.copy_all(fresh, AT_START)
    else:
        copies.notifications.skip()
    return copies


def _followed_states(
    states: list[TableState], tables: TableFilter, output: CopyOutput
) -> list[TableState]:
    """Return the states of copies that go on or count, and forget the others."""
    over = [
        state
        for state in states
        if not tables.follows(state.database, state.table) or (state.where and not state.under_way)
    ]
    for state in over:
        # If the table were followed again later, changes in between would be missing.
        output.forget_state(state)
    ended = {state.key_part for state in over}
    kept = [state for state in states if state.key_part not in ended]
    for state in kept:
        if state.phase == "failed":
            structlog.get_logger().error(
                "the copy of a table has failed", table=state.name, error=state.error
            )
    return kept


def _warn_of_unmatched(
    settings: Settings, tables: TableFilter, names: list[tuple[str, str]]
) -> None:
    log = structlog.get_logger()
    if not names:
        log.warning(**line(copy_errors.NONE_FOLLOWED_YET), tables=settings.source.tables)
        return
    for pattern in tables.unmatched_names(names):
        log.warning(**line(copy_errors.NAME_MATCHES_NONE, pattern=pattern))


def _copy_lost(copies: Copies, topics: LostTopics, tables: Iterable[tuple[str, str]]) -> None:
    """Copy the tables whose rows are gone from their topics."""
    for name in tables:
        topic = topics.lost_topic(*name)
        if topic:
            facts = {"topic": topic, "table": ".".join(name)}
            structlog.get_logger().warning(**line(copy_errors.ROWS_DELETED, **facts))
            copies.copy(TableState(*name, reason="its topic was deleted"))


def copy_states(settings: Settings, recovered: Mapping[str, bytes]) -> list[TableState]:
    """Return the states in `recovered`; raises DecodeError for other versions."""
    topic = snapshot_topic(settings.kafka.topic_prefix)
    return [
        TableState.decode(value, f"{topic}, key {settings.name}/{key},")
        for key, value in recovered.items()
    ]
