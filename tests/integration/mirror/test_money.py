"""Transfers between two tables of a real server: no reader of a cut ever sees half of one."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from connector.lake.demo.stack import query_mirror
from local_stack import connect
from stream_jobs.cuts import read_cuts
from stream_jobs.cuts.reader import MirrorAt, mirror_at
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from stream_jobs.tables.mirror_table import MirrorTable
from tests.integration.harness import wait_until_settled
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.tables.mirror_metadata import Progress
    from tests.integration.database_stream import Stream
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.server, pytest.mark.kafka]

BATCHES = length(short=4, full=60)
MOMENTS = length(short=10, full=1000)
# Between two transfers, of which each is sent and applied.
PAUSE_SECONDS = length(short=10, full=2) / 1000
ACCOUNTS = 20
# What all accounts of both tables have together.
TOTAL = 2 * ACCOUNTS * 100


class Bank(threading.Thread):
    """Moves money between the tables, several accounts in a transaction, until it is stopped."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream
        self._dice = random.Random(1)
        self._stopped = threading.Event()
        self.transfers = 0

    def run(self) -> None:
        with connect(self._stream.source, self._stream.database) as connection:
            connection.autocommit(False)
            with connection.cursor() as cursor:
                while not self._stopped.wait(PAUSE_SECONDS):
                    for _ in range(self._dice.randint(1, 5)):
                        here, there = self._dice.sample(("savings", "wallet"), 2)
                        amount = self._dice.randint(1, 50)
                        for table, change in ((here, -amount), (there, amount)):
                            account = self._dice.randrange(ACCOUNTS)
                            cursor.execute(
                                f"UPDATE {table} SET amount = amount + %s WHERE id = %s",
                                (change, account),
                            )
                    connection.commit()
                    self.transfers += 1

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def begin(stream: Stream) -> None:
    rows = ",".join(f"({number},100)" for number in range(ACCOUNTS))
    for table in ("savings", "wallet"):
        stream.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, amount INT)")
    stream.transaction(*(f"INSERT INTO {table} VALUES {rows}" for table in ("savings", "wallet")))


def total(found: MirrorAt) -> int:
    """What the accounts have together, as delta-rs reads the versions of a cut."""
    tables = found.delta_tables()
    assert len(tables) == 2
    sums = [query_mirror(t, "SELECT sum(amount) AS total FROM mirror") for t in tables.values()]
    return sum(each["total"][0].as_py() for each in sums)


def total_by_time_travel(job: Job, stream: Stream, moment: datetime) -> int | None:
    """The same of the versions that Delta has for a time; None before both tables are there."""
    sums = []
    for name in ("savings", "wallet"):
        table = DeltaTable(f"{job.folder}/mirror/{stream.database}/{name}")
        if table.history()[-1]["timestamp"] > moment.timestamp() * 1000:
            return None
        table.load_as_version(moment)
        found = query_mirror(table, "SELECT sum(amount) AS total FROM mirror")["total"][0].as_py()
        sums.append(found or 0)
    return sum(sums)


def newest_total(job: Job, stream: Stream) -> int:
    """The same of the newest versions, without a cut."""
    return sum(
        row["amount"]
        for table in ("savings", "wallet")
        for row in job.data(table, stream.database).to_pylist()
    )


def test_no_transfer_is_half_there_in_a_cut_and_some_are_without_cuts(
    stream: Stream, own_job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(stream)
    path = str(own_job.folder / "mirror")
    without_cuts = []
    with stream.connector() as connector:
        stream.wait_for_changes(2 * ACCOUNTS, connector)
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run()
        bank = Bank(stream)
        bank.start()
        try:
            for _ in range(BATCHES):
                while not crashed_between_commits(own_job, monkeypatch):
                    pass
                without_cuts.append(newest_total(own_job, stream))
                assert total(mirror_at(path)) == TOTAL
                own_job.run()
        finally:
            bank.stop()
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run()

    found = read_cuts(LocalStorage(path))
    assert len(found) > BATCHES
    assert bank.transfers > BATCHES
    # Every cut by its transactions, and moments in between.
    times = [cut.source_time_ms for cut in found if cut.source_time_ms is not None]
    dice = random.Random(2)
    by_time_travel = []
    for _ in range(MOMENTS):
        ms = dice.uniform(min(times), max(times))
        moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
        assert total(mirror_at(path, time=moment)) == TOTAL
        by_time_travel.append(total_by_time_travel(own_job, stream, moment))
    for cut in found:
        assert cut.gtid is not None
        assert total(mirror_at(path, gtid=cut.gtid)) == TOTAL
    # The test can fail: what readers see who ignore the cuts.
    wrong = sum(each != TOTAL for each in without_cuts)
    assert wrong > 0
    late = sum(each is not None and each != TOTAL for each in by_time_travel)
    print(
        f"{bank.transfers} transfers, {len(found)} cuts and {MOMENTS} random times: all sums are "
        f"{TOTAL}. Without cuts, {wrong} of {len(without_cuts)} sums of the newest versions are "
        f"wrong, and {late} of {MOMENTS} of Delta's time travel"
    )
    with pytest.raises(MirrorError, match="has no cut up to"):
        mirror_at(path, time=datetime.fromtimestamp(0, UTC))


def crashed_between_commits(job: Job, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run the job, and let it die when one table is committed and the other is not."""
    commit, done = MirrorTable.commit_rows, list[MirrorTable]()

    def once(mirror: MirrorTable, results: Sequence[PartResult], progress: Progress) -> None:
        if done:
            raise KeyboardInterrupt
        commit(mirror, results, progress)
        done.append(mirror)

    with monkeypatch.context() as patched:
        patched.setattr(MirrorTable, "commit_rows", once)
        try:
            job.run(mirror={"commits_in_parallel": 1})
        except KeyboardInterrupt:
            return True
    return False
