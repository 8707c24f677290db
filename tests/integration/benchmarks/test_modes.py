"""All of our modes read the same data from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import ours
from benchmarks.workload.generate import WORKLOADS
from benchmarks.workload.session import session
from benchmarks.workload.tables import FLEET_FOLLOWED, schema
from local_stack import MysqlServer

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

pytestmark = pytest.mark.server


def test_all_modes_read_the_same(tmp_path: Path) -> None:
    with MysqlServer(tmp_path / "source") as server, session(server.endpoint) as connection:
        connection.execute(*schema(), "FLUSH BINARY LOGS")
        oltp = WORKLOADS["oltp"].generate(connection, 1500)
        bulk = WORKLOADS["bulk"].generate(connection, 3000)
        WORKLOADS["text"].generate(connection, 100)
        fleet = WORKLOADS["fleet"].generate(connection, 300)
        (followed,) = connection.rows(f"SELECT COUNT(*), SUM(id) FROM {FLEET_FOLLOWED}")[0:1]
        file = server.directory / "data" / str(connection.rows("SHOW BINARY LOGS")[-1][0])
    read = {mode: ours.MODES[mode](file, "shop.*") for mode in ("arrow", "records")}
    whole = ours.values(file, "*.*")

    assert facts(read["arrow"]) == facts(read["records"])
    assert read["records"]["ins"] == oltp.inserts + bulk.inserts
    assert read["records"]["upd"] == oltp.updates + bulk.updates
    assert read["records"]["del"] == oltp.deletes
    assert whole["ins"] == oltp.inserts + bulk.inserts + 100 + fleet.inserts
    assert ours.envelope(file, "shop.*")["records"] == oltp.changes + bulk.changes + 2
    assert facts(whole) == facts(ours.records(file, "*.*"))
    one = ours.records(file, FLEET_FOLLOWED)
    assert (one["ins"], one["pk_sum"]) == tuple(map(int, map(str, followed)))


def facts(found: Counter[str]) -> list[int]:
    return [found[kind] for kind in ("ins", "upd", "del", "cells", "pk_sum")]
