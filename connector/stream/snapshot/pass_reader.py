"""Reads tables at one position of the log, each by one SELECT.

Tables without an order of rows need it, and a user may ask for it (BLOCKING). Their rows can be
written only while the stream is at that position: without a key, consumers could not know which
rows are outdated. So the stream waits there until they are all written.

*MariaDB* says which position its snapshot has. *MySQL* does not, so tables are locked against
writers for a moment, in which the snapshot is taken and the log's end is read. *Engines without
snapshots*: the lock stays as long as the rows are read.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import Event

from connector.foundation.errors import SourceUnavailable
from connector.foundation.operating_system import CLOCK
from connector.replication.server.server_error_numbers import LOCK_WAIT_TIMEOUT
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.snapshot import copy_errors, jobs
from connector.stream.snapshot.keyset import select_rows
from connector.stream.snapshot.watermark import log_end, open_snapshot
from connector.stream.source.select_session import SelectSession

# While the stream and Kafka are busy, the server waits with the rows.
_WRITE_SECONDS = 7 * 24 * 3600


def read_pass(
    session: SelectSession,
    open_session: Callable[[], AbstractContextManager[SelectSession]],
    job: jobs.PassJob,
    closing: Event,
    debezium: DebeziumProfile | None = None,
) -> Iterator[jobs.Result]:
    """Yield `PassReady`, then `PassSnapshot` and each `PassChunk`, or `TableBusy`.

    After `PassReady` the stream stands still, until `PassSnapshot` or `TableBusy`. Unless all rows
    are taken, the session cannot be used again. The rows have the form `debezium`, if there is one.
    Raises the errors of the session.
    """
    session.query(f"SET SESSION net_write_timeout = {_WRITE_SECONDS}")
    mariadb = session.identity.flavour == "mariadb"
    if mariadb:
        # Between two tables, the transaction waits until the rows are written.
        session.query("SET SESSION idle_transaction_timeout = 0")
    yield jobs.PassReady(job)
    read_us = CLOCK.now_us()
    if not all(part.transactional for part in job.parts):
        if not _lock(session, job):
            yield jobs.TableBusy(job, SourceUnavailable(copy_errors.NOT_LOCKED, table=job.names))
            return
        position = log_end(session)
    elif mariadb:
        position = open_snapshot(session, log_end(session), closing)
    else:
        with open_session() as locking:
            if not _lock(locking, job):
                yield jobs.TableBusy(
                    job, SourceUnavailable(copy_errors.NOT_LOCKED, table=job.names)
                )
                return
            # No session writes while the snapshot is taken.
            session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            position = log_end(locking)
    yield jobs.PassSnapshot(job, position, read_us)
    for part in job.parts:
        writer = part.table.writer(debezium)
        sql = select_rows(part.table, (), part.where)
        for chunk, is_last in session.read_chunks(sql, writer, job.bytes_max):
            yield jobs.PassChunk(job, part, chunk, is_last)
    session.query("COMMIT")
    session.query("UNLOCK TABLES")


def _lock(session: SelectSession, job: jobs.PassJob) -> bool:
    """Lock the tables against writers; return whether that succeeded in time."""
    try:
        names = ", ".join(f"{part.table.quoted_name} READ" for part in job.parts)
        session.query(f"LOCK TABLES {names}")
    except SourceUnavailable as error:
        if error.number != LOCK_WAIT_TIMEOUT:
            raise
        return False
    return True
