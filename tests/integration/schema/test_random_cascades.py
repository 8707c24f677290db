"""Random cascades while tables are copied and the connector is killed: consumers end equal."""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.integration.database_stream import new_stream
from tests.integration.schema.cascading_tables import wait_until_equal
from tests.integration.schema.random_cascades import TABLES, Writer, create
from tests.length import full_only, length

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker, Server

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(1_200)]

SEEDS = length(short=1, full=20)
# As long as the load lasts before each comparison.
LOAD_SECONDS = 3.0


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    "server_name",
    ["mysql_server", "mariadb_server", "mysql_9"][: length(short=1, full=3)],
)
@full_only
def test_consumers_end_with_the_rows_of_the_server(
    server_name: str,
    seed: int,
    request: pytest.FixtureRequest,
    kafka_broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    server: Server = request.getfixturevalue(server_name)
    stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
    random = Random(seed)
    stream.execute(*create(random))
    connector = stream.connector(
        source__start="snapshot",
        snapshot__chunk_rows=random.choice([1, 3, 7]),
        schema__cascade_seconds=random.choice([0, 0.5]),
    )
    with Writer(stream, seed) as first, Writer(stream, -seed - 1) as second:
        time.sleep(LOAD_SECONDS)
        with connector:
            time.sleep(LOAD_SECONDS * random.random())
            connector.kill()
        with connector:
            time.sleep(LOAD_SECONDS)
            connector.kill()
    assert (first.error, second.error) == (None, None)
    with connector:
        wait_until_equal(stream, connector, TABLES)
        with Writer(stream, seed + 1000) as third:
            time.sleep(LOAD_SECONDS)
        assert third.error is None
        wait_until_equal(stream, connector, TABLES)
        assert connector.terminate() == 0
    stream.execute("SET foreign_key_checks = 0", f"DROP DATABASE {stream.database}")
