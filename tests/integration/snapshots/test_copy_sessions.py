"""What a session has seen for one copy, the next one must not see, on real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot.jobs import (
    ChunkRead,
    PassChunk,
    PassJob,
    PassPart,
    PassReady,
    PassSnapshot,
)
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from tests.integration.snapshots.chunks import BYTES_MAX, chunk_job

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


def test_a_copy_that_was_given_up_leaves_no_snapshot_to_the_next(
    source: Source, schema: str
) -> None:
    source.execute(
        f"CREATE TABLE {schema}.keyless (id INT)",
        f"INSERT INTO {schema}.keyless VALUES (1)",
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)",
        f"INSERT INTO {schema}.t VALUES (1)",
    )
    account = source.create_account("SELECT, LOCK TABLES, REPLICATION CLIENT")
    settings = source.settings(user=account)
    with SelectSession(settings) as session:
        keyless, table = (
            SelectedTable.describe(session, schema, name) for name in ("keyless", "t")
        )
        readers = ReaderPool(settings, SnapshotSettings(connections=1), session.identity)
        try:
            part = PassPart(1, keyless, transactional=True, where="")
            readers.submit(PassJob((part,), BYTES_MAX))
            assert isinstance(readers.results.get(timeout=20), PassReady)
            readers.go_on()
            assert isinstance(readers.results.get(timeout=20), PassSnapshot)
            assert isinstance(readers.results.get(timeout=20), PassChunk)
            readers.cancel(1)
            readers.go_on()
            source.execute(f"INSERT INTO {schema}.t VALUES (2)")
            readers.submit(chunk_job(session, table, 2))
            result = readers.results.get(timeout=20)
        finally:
            readers.close()
    assert isinstance(result, ChunkRead)
    assert result.chunk.count == 2
