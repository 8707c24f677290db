"""Where the source's log is in doubt, what is complete is committed first: it may never come again.

A server whose logs are reset does not have it any more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.binlog.gtid import GtidSet
from connector.foundation.errors import SourceUnavailable
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.progress import progress_errors
from connector.stream.snapshot.copy_recovery import CopyPeers
from connector.stream.source.select_session import SelectSession
from tests.simulation.copying import NoReaders
from tests.simulation.log_writer import LogWriter
from tests.simulation.run import PREFIX, committed_progress, run_once
from tests.simulation.server import ScriptedServer
from tests.simulation.story import Change, Statement, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.replication.start_point import StartPoint

SERVER = "00000000-0000-0000-0000-000000000001"


class Doubted(ScriptedServer):
    """Whoever watches its log finds it in doubt while event `doubted_at` is on its way."""

    doubted_at = 0
    figures: PipelineMetrics

    def dump(self, point: StartPoint) -> Iterator[bytes]:
        for number, data in enumerate(super().dump(point)):
            if number == self.doubted_at:
                self.figures.control.doubt = SourceUnavailable(
                    progress_errors.FILE_SHRANK,
                    server="source db1:3306",
                    file="binlog.000001",
                    size=4,
                    position=300,
                )
            yield data


def orders(row_id: int) -> Transaction:
    return Transaction((Change("orders", "c", row_id, "text"),))


@pytest.mark.parametrize("transactions", [1, 3])
def test_what_is_complete_is_committed_when_the_end_of_the_log_is_in_doubt(
    transactions: int,
) -> None:
    writer = LogWriter("mysql")
    for row_id in range(transactions):
        writer.step(orders(row_id))
    covered = str(writer.executed)
    writer.step(orders(99))
    server = Doubted(SERVER, "mysql", writer.files, writer.executed, writer.end)
    # With the first event of the last transaction.
    server.figures = PipelineMetrics("pipe")
    server.doubted_at = len(list(ScriptedServer.dump(server, server.earliest))) - 5
    broker = run_once([server], server.figures, by_event=True)
    assert committed_progress(broker)[-1].gtid_set == covered
    seen = [broker.visible((f"{PREFIX}.shop.orders", number)) for number in (0, 1)]
    assert sum(map(len, seen)) == transactions


@pytest.mark.parametrize("seed", range(10))
def test_a_table_that_is_to_be_copied_anew_is_kept_in_mind_when_the_next_file_is_in_doubt(
    seed: int,
) -> None:
    writer = LogWriter("mysql")
    writer.step(orders(1))
    writer.step(Statement("RENAME TABLE shop.somewhere TO shop.items"))
    covered, executed = str(writer.executed), writer.executed
    # As behind RESET BINARY LOGS: the file says that nothing was before it.
    writer.executed = GtidSet()
    writer.rotate()
    writer.files[-1].previous = executed
    server = ScriptedServer(SERVER, "mysql", writer.files, executed, writer.end)
    copying = CopyPeers(SelectSession, NoReaders)
    broker = run_once([server], PipelineMetrics("pipe"), seed=seed, copying=copying)
    assert committed_progress(broker)[-1].gtid_set == covered
    (state,) = broker.visible((f"{PREFIX}.snapshot", 0))
    assert state.key == b"pipe/shop.items"
    assert json.loads(state.value or b"")["phase"] == "waiting"
