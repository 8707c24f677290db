"""One story of a pipeline's life, on each server that the local stack has."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.integration.database_stream import new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.life.servers import KINDS, servers_of
from tests.integration.life.story import MODES, Life
from tests.integration.verification.pair import pair_of
from tests.length import FULL, length

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker

pytestmark = [
    pytest.mark.server,
    pytest.mark.kafka,
    pytest.mark.timeout(length(short=300, full=1800)),
]

ROWS = length(short=200, full=5000)
ROUNDS = length(short=1, full=5)
# In the short form one server by positions, and the newest of each product with settings that are
# unusual: together they run each step of the story. Tests without a pipeline read the logs of the
# other versions (`tests/integration/decoding`, `tests/integration/source`), and one without a GTID
# index (`tests/integration/stream/test_restarts.py`).
SHORT = (
    "MySQL 8.0 with gtid_mode=OFF, enforce_gtid_consistency=OFF",
    "MySQL 9 with lower_case_table_names=1",
    "MariaDB 11.8 with binlog_alter_two_phase=ON, log_bin_compress=ON, lower_case_table_names=1",
)
NAMES = KINDS if FULL else SHORT
CHOICES = [{"match": [f"*.{table}"], "mode": mode} for table, mode in MODES.items()]


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_lives_on(name: str, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    kind = KINDS[name]
    with servers_of(kind, tmp_path) as (server, replicas):
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        life = Life(kind, server, replicas, stream, Random(name))
        life.create(ROWS)
        others = []
        if replicas is not None:
            others = [f"{server.endpoint.host}:{replicas.replica.endpoint.port}"]
        with pair_of(
            stream,
            CHOICES,
            source__start="snapshot",
            source__failover_hosts=others,
            snapshot__chunk_rows=ROWS // 4,
            schema__cascade_seconds=0,
            kafka__partitions=1,
        ) as pair:
            connector = pair.connector
            life.copy(connector)
            for number in range(ROUNDS):
                if number:
                    life.undo_schemas(connector)
                life.die_in_a_file(connector)
                life.rotate_and_purge(connector)
                pair.apply()
                life.change_schemas(connector)
                life.cascade(connector)
                life.delete_domain(connector)
                life.prepare(connector)
            life.fail_over(connector)
            report = life.end(pair)
            assert connector.terminate() == 0
        assert life.delivered_marks() == list(range(1, life.marks + 1))
        assert {table["table"].partition(".")[2] for table in report["tables"]} >= {*MODES, "child"}
    end_topics(stream.broker, stream.prefix)
