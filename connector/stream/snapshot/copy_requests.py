"""Requests for copies, from other programs than the pipeline, and the results of copies.

Tables that a user names become a request to the running pipeline, whose progress is shown. A
failed copy can be dismissed: somebody knows that consumers lack its rows.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.binlog.sql_text import quoted_name
from connector.binlog.table_filter import TableFilter
from connector.foundation.contract import SNAPSHOT_TOPIC_SUFFIX
from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import KafkaSettings, Settings
from connector.replication.server.addresses import candidates
from connector.stream.commands.requests import write_command
from connector.stream.sink import connection
from connector.stream.sink.connection import connector_error, consumer_settings
from connector.stream.sink.recovery import read_latest
from connector.stream.sink.topics import TopicCreator
from connector.stream.snapshot import copy_errors, table_plan
from connector.stream.snapshot.copy_commands import DISMISSAL
from connector.stream.snapshot.table_plan import followed_tables, where_of
from connector.stream.snapshot.table_state import TableState, snapshot_topic
from connector.stream.source import table_errors
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable

_POLL_MS = 500


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """A request that was sent."""

    offset: int
    tables: list[tuple[str, str]]
    where: str

    def forgotten(self, key_part: str) -> list[TableState]:
        """Return a failed state for the copy of this request whose state, of that key, is gone."""
        error = str(SourceRefused(copy_errors.ENDED))
        return [
            state
            for database, table in self.tables
            if (
                state := TableState(
                    database, table, "failed", request=self.offset, where=self.where, error=error
                )
            ).key_part
            == key_part
        ]


class StateWatch:
    """Follows the states of the requested copies; a context manager closes it."""

    def __init__(self, settings: Settings) -> None:
        """Follow the states that are written from now on.

        Raises SinkUnavailable or SinkRefused.
        """
        self._settings = settings
        # The copies that have failed; what their states become then says nothing of them.
        self._failed: set[str] = set()
        self._topic = snapshot_topic(settings.kafka.topic_prefix)
        self._prefix = f"{settings.name}/"
        TopicCreator(settings.kafka).ensure(self._topic)
        try:
            self._consumer = KafkaConsumer(**consumer_settings(settings.kafka))
            partition = TopicPartition(self._topic, 0)
            self._consumer.assign([partition])
            self._consumer.seek(partition, self._consumer.end_offsets([partition])[partition])
        except (KafkaError, OSError) as error:
            raise self._error(error) from error

    def changed(self, asked: CopyRequest) -> list[TableState]:
        """Return the states of the request that were committed since; waits at most half a second.

        Raises SinkUnavailable or SinkRefused, and DecodeError for states of another version.
        """
        states = []
        try:
            polled = self._consumer.poll(timeout_ms=_POLL_MS)
        except (KafkaError, OSError) as error:
            raise self._error(error) from error
        for records in polled.values():
            for record in records:
                key = record.key.decode()
                if not key.startswith(self._prefix):
                    continue
                if record.value is None:
                    if key not in self._failed:
                        states += asked.forgotten(key.removeprefix(self._prefix))
                    continue
                state = TableState.decode(record.value, f"{self._topic}@{record.offset}")
                name = (state.database, state.table)
                if name in asked.tables and state.where == asked.where:
                    states.append(state)
                    if state.phase == "failed" and state.request >= asked.offset:
                        self._failed.add(key)
        return [state for state in states if state.request >= asked.offset]

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _error(self, error: KafkaError | OSError) -> Exception:
        return connector_error(self._settings.kafka, connection.reading(self._topic), error)


def request_copies(
    settings: Settings, patterns: Sequence[str], where: str, keys: Sequence[str] = ()
) -> CopyRequest:
    """Ask the pipeline to copy the rows that meet `where`, of tables that match `patterns`.

    Rows with `keys`, which one table has, are taken back if the table does not have them.
    Raises ConfigError for a pattern that matches nothing and for a text that is no condition,
    SourceRefused for a table that the account may not read and a condition that the server refuses,
    and the errors of connecting.
    """
    with open_session(settings) as session:
        names = matching_tables(session, settings, patterns)
        for database, table in names:
            _require_readable(session, database, table, where)
    offset = write_command(
        settings.kafka,
        settings.name,
        "snapshot",
        tables=[list(name) for name in names],
        where=where,
        # A pipeline of an earlier version does not know them.
        **({"keys": list(keys)} if keys else {}),
    )
    return CopyRequest(offset, names, where)


def require_condition(where: str) -> None:
    """Raise ConfigError for a text that is no condition for any table."""
    try:
        table_plan.require_condition(where)
    except ConfigError as error:
        raise ConfigError(table_errors.ARGUMENT, why=error) from error


def open_session(settings: Settings) -> SelectSession:
    """Return a session on the first server that can be reached.

    Raises SourceUnavailable or SourceRefused.
    """
    first, *others = candidates(settings.source)
    try:
        return SelectSession(first)
    except SourceUnavailable:
        for other in others:
            with suppress(SourceUnavailable):
                return SelectSession(other)
        raise


def matching_tables(
    session: SelectSession, settings: Settings, patterns: Sequence[str]
) -> list[tuple[str, str]]:
    """Return (database, table) of the followed tables that match one of the patterns.

    Raises ConfigError for a pattern that matches none, and the errors of the session.
    """
    source = settings.source
    ignores_case = names_ignore_case(session)
    tables = TableFilter(source.tables, source.exclude_tables, ignores_case=ignores_case)
    followed = followed_tables(session, tables)
    names: dict[tuple[str, str], None] = {}
    for pattern in patterns:
        wanted = TableFilter([pattern], ignores_case=ignores_case)
        matching = [name for name in followed if wanted.follows(*name)]
        if not matching:
            if any(wanted.follows(*name) for name in followed_tables(session, wanted)):
                raise ConfigError(copy_errors.NOT_FOLLOWED, pattern=pattern)
            raise ConfigError(copy_errors.NO_TABLE, pattern=pattern, server=session.name)
        names |= dict.fromkeys(matching)
    return list(names)


def names_ignore_case(session: SelectSession) -> bool:
    """Return whether the server takes names of tables for the same that differ in case."""
    (row,) = session.query("SELECT @@lower_case_table_names AS value")
    return row["value"] in ("1", "2")


def _require_readable(session: SelectSession, database: str, table: str, where: str) -> None:
    name = quoted_name(database, table)
    rows = f"SELECT 1 FROM {name}"  # noqa: S608 - quoted names
    try:
        session.query(f"{rows} LIMIT 0")
    except SourceRefused as error:
        if error.number not in (1142, 1143):  # SELECT denied on a table, on a column
            raise
        raise SourceRefused(
            copy_errors.MAY_NOT_READ, server=session.name, table=f"{database}.{table}", grant=name
        ) from error
    if not where:
        return
    try:
        condition = where_of(SelectedTable.describe(session, database, table), where)
        session.query(f"{rows} WHERE {condition} LIMIT 0")
    except ConfigError as error:
        raise ConfigError(
            table_errors.ARGUMENT_OF_TABLE, table=f"{database}.{table}", why=error
        ) from error
    except SourceRefused as error:
        if not error.number:
            raise
        raise SourceRefused(
            copy_errors.CONDITION_REFUSED, table=f"{database}.{table}", why=error
        ) from error


def copy_has_failed(settings: KafkaSettings, pipeline: str, name: str) -> bool:
    """Return whether the last copy of all rows of the table `name` has failed.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a state of another version.
    """
    return any(
        f"{database}.{table}" == name for database, table in failed_copies(settings, pipeline)
    )


def failed_copies(settings: KafkaSettings, pipeline: str) -> list[tuple[str, str]]:
    """Return the tables whose last copy of all rows has failed; raises as `copy_has_failed`."""
    states = [
        TableState.decode(value, f"{pipeline}/{name}")
        for name, value in read_latest(settings, SNAPSHOT_TOPIC_SUFFIX, pipeline).items()
    ]
    return [
        (state.database, state.table)
        for state in states
        if state.phase == "failed" and not state.where
    ]


def ask_to_dismiss(
    settings: KafkaSettings, pipeline: str, patterns: Sequence[str]
) -> list[tuple[str, str]]:
    """Ask the pipeline to let failed copies of tables count as complete; return the tables.

    Raises ConfigError for a pattern that matches none, else as `copy_has_failed`.
    """
    failed = failed_copies(settings, pipeline)
    names: dict[tuple[str, str], None] = {}
    for pattern in patterns:
        wanted = TableFilter([pattern])
        matching = [name for name in failed if wanted.follows(*name)]
        if not matching:
            raise ConfigError(copy_errors.NONE_FAILED, pattern=pattern)
        names |= dict.fromkeys(matching)
    write_command(settings, pipeline, DISMISSAL, tables=[list(name) for name in names])
    return list(names)
