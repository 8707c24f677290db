"""Metadata locks: copies hold none while they do not read, and wait for those of others apart."""

from __future__ import annotations

import threading
from threading import Event
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceRefused
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.jobs import TableChange
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.watermark import read_after_delivered
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from local_stack import connect
from local_stack.server import free_port
from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until
from tests.integration.operation.test_status import wait_for
from tests.integration.snapshots.chunks import chunk_job, delivered
from tests.integration.snapshots.test_snapshot import topics_equal_the_source, wait_for_copies

if TYPE_CHECKING:
    from connector.foundation.settings.sections import SourceSettings
    from tests.integration.database_stream import Stream
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

# The server refuses a statement that waits longer for a table.
_IN_TIME = "SET SESSION lock_wait_timeout = 2"
# Waits until MariaDB has purged old versions of rows; nothing on MySQL. A purge that meets a
# table which a statement waits for spins on one core until that statement has ended.
_AFTER_PURGE = "SET /*M! GLOBAL innodb_max_purge_lag_wait = 0, */ @purged = 1"


@pytest.fixture
def settings(source: Source, schema: str) -> SourceSettings:
    """Return the settings of an account that reads a table `t` with rows."""
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO {schema}.t VALUES (1, 1), (2, 2)",
    )
    return source.settings(user=source.create_account("SELECT, LOCK TABLES, REPLICATION CLIENT"))


def test_a_chunk_that_found_another_table_holds_no_lock_on_it(
    source: Source, schema: str, settings: SourceSettings
) -> None:
    with SelectSession(settings) as session:
        table = SelectedTable.describe(session, schema, "t")
        source.execute(f"ALTER TABLE {schema}.t DROP COLUMN v")
        readers = ReaderPool(settings, SnapshotSettings(connections=1), session.identity)
        try:
            readers.submit(chunk_job(session, table, 1))
            assert isinstance(readers.results.get(timeout=20), TableChange)
            # The reader waits for its next job.
            source.execute(_IN_TIME, f"ALTER TABLE {schema}.t ADD COLUMN w INT")
        finally:
            readers.close()


@pytest.mark.parametrize(
    "change", ["TRUNCATE TABLE {}", "ALTER TABLE {} DROP COLUMN v", "ALTER TABLE {} FORCE"]
)
def test_a_table_that_changes_under_a_snapshot_is_not_locked_after_the_error(
    source: Source, schema: str, settings: SourceSettings, change: str
) -> None:
    name = f"{schema}.t"
    with SelectSession(settings) as session:

        def read(lock: str) -> object:
            source.execute(change.format(name))
            return session.query(f"SELECT id, v FROM {name}{lock}")

        try:
            read_after_delivered(session, delivered(session), read, Event(), transactional=True)
        except SourceRefused as error:
            # ER_BAD_FIELD_ERROR, ER_TABLE_DEF_CHANGED.
            assert error.number in (1054, 1412)  # noqa: PT017 - a snapshot of MariaDB alone has it
        source.execute(_IN_TIME, f"ALTER TABLE {name} ADD COLUMN w INT")


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_tables_that_others_have_locked_stop_no_other_table(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE locked (id INT PRIMARY KEY)",
        "CREATE TABLE queued (id INT PRIMARY KEY)",
        "CREATE TABLE unlocked (id INT PRIMARY KEY)",
        *(f"INSERT INTO {name} VALUES (1), (2)" for name in ("locked", "queued", "unlocked")),
        _AFTER_PURGE,
    )
    names = [f"{stream.database}.{name}" for name in ("locked", "queued", "unlocked")]
    altering = threading.Thread(
        target=stream.execute, args=("ALTER TABLE queued ADD COLUMN v INT",), daemon=True
    )
    port = free_port()
    with (
        connect(stream.source, stream.database) as holder,
        holder.cursor() as cursor,
        connect(stream.source, stream.database) as writer,
        writer.cursor() as writing,
    ):
        cursor.execute("LOCK TABLES locked WRITE")
        writing.execute("BEGIN")
        writing.execute("INSERT INTO queued VALUES (3)")
        altering.start()
        wait_until(
            lambda: "ALTER TABLE queued" in str(processes(stream)), lambda: str(processes(stream))
        )
        with stream.connector(
            source__start="snapshot", metrics__listen=f"127.0.0.1:{port}"
        ) as connector:
            # Both connections have met a table that is locked.
            facts = wait_for(
                port,
                lambda facts: (
                    sum(one.code == copy_errors.LOCKED.code for one in facts.conditions) == 2
                ),
                connector,
            )
            wait_for_copies(stream, connector, names[2])
            stream.execute("INSERT INTO unlocked VALUES (3)")
            topics_equal_the_source(stream, connector, "unlocked")
            waiting = {table.name: table.copy for table in facts.tables if table.copy is not None}
            for name in names[:2]:
                assert waiting[name].error == shown(copy_errors.LOCKED, table=name)
                assert waiting[name].since is not None
            cursor.execute("UNLOCK TABLES")
            writing.execute("COMMIT")
            altering.join()
            wait_for_copies(stream, connector, *names)
            topics_equal_the_source(stream, connector, "locked", "queued", "unlocked")
            assert connector.terminate() == 0


def processes(stream: Stream) -> list[str]:
    """Return the statements that run on the source."""
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT info FROM information_schema.processlist WHERE info IS NOT NULL")
        return [str(row[0]) for row in cursor.fetchall()]
