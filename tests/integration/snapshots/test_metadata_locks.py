"""What copies hold of a table while they do not read it: nothing that stops a statement on it."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest

from connector.errors import SourceRefused
from connector.settings.sections import SnapshotSettings
from connector.snapshot.jobs import ChunkJob, TableChanged
from connector.snapshot.reader_pool import ReaderPool
from connector.snapshot.table_state import KeyRange
from connector.snapshot.watermark import Delivered, log_end, read_after_delivered
from connector.source.server.select_session import SelectSession
from connector.source.tables.selected_table import SelectedTable

if TYPE_CHECKING:
    from connector.settings.sections import SourceSettings
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

_BYTES_MAX = 1 << 20
# The server refuses a statement that waits longer for a table.
_IN_TIME = "SET SESSION lock_wait_timeout = 2"


@pytest.fixture
def settings(source: Source, schema: str) -> SourceSettings:
    """Return the settings of an account that reads a table `t` with rows."""
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO {schema}.t VALUES (1, 1), (2, 2)",
    )
    return source.settings(user=source.create_account("SELECT, LOCK TABLES, REPLICATION CLIENT"))


def delivered(session: SelectSession) -> Delivered:
    """Return that the stream has delivered the whole log."""
    gtids = None
    if session.identity.flavour == "mysql":
        gtids = session.query("SELECT @@GLOBAL.gtid_executed AS gtids")[0]["gtids"]
    return Delivered(gtids, log_end(session))


def chunk_job(session: SelectSession, table: SelectedTable) -> ChunkJob:
    """Return the job that reads the beginning of a table."""
    return ChunkJob(
        1,
        table,
        transactional=True,
        part=0,
        range=KeyRange(),
        after=[],
        where="",
        limit=10,
        bytes_max=_BYTES_MAX,
        delivered=delivered(session),
        window=1,
        changes=0,
    )


def test_a_chunk_that_found_another_table_holds_no_lock_on_it(
    source: Source, schema: str, settings: SourceSettings
) -> None:
    with SelectSession(settings) as session:
        table = SelectedTable.describe(session, schema, "t")
        source.execute(f"ALTER TABLE {schema}.t DROP COLUMN v")
        readers = ReaderPool(settings, SnapshotSettings(connections=1), session.identity)
        try:
            readers.submit(chunk_job(session, table))
            assert isinstance(readers.results.get(timeout=20), TableChanged)
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
