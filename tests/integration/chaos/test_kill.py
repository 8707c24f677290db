"""Every change arrives once and in order, however often the connector is killed.

Each row of the table counts its own changes, so a gap, a repeat or a wrong order of the changes of
any row shows in the numbers; the sequences show the same for the whole stream.
"""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests.integration.harness import (
    ConnectorProcess,
    Seen,
    changes,
    read_committed,
    wait_until,
    write_config,
)
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Endpoint, KafkaBroker, Server

# `make kill-test` runs 20.
ROUNDS = int(os.environ.get("KILL_ROUNDS", "3"))
ROWS = 40


def count_up(source: Endpoint, database: str, seed: int, stop: Event) -> None:
    """Count rows up in transactions of one to six statements until `stop` is set."""
    chance = random.Random(seed)
    connection = connect(source, database)
    with connection, connection.cursor() as cursor:
        connection.autocommit(False)
        while not stop.is_set():
            for _ in range(chance.randint(1, 6)):
                table = chance.choice(("counter", "other"))
                cursor.execute(
                    f"UPDATE {table} SET n = n + 1 WHERE MOD(id, 7) = %s", (chance.randrange(7),)
                )
            if chance.random() < 0.1:
                connection.rollback()
            else:
                connection.commit()
            # About 150 transactions and 2,000 changes a second.
            time.sleep(0.005)


@full_only
@pytest.mark.timeout(1200)
@pytest.mark.server
@pytest.mark.kafka
@pytest.mark.parametrize("flavour", ["mysql_server", "mariadb_server"])
def test_every_change_arrives_once_and_in_order_through_kills(
    flavour: str, request: pytest.FixtureRequest, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(flavour)
    source, broker = server.endpoint, kafka_broker.endpoint
    database = f"kill_{flavour}"
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with connect(source) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {database}")
        cursor.execute(f"CREATE DATABASE {database}")
        for table in ("counter", "other"):
            cursor.execute(f"CREATE TABLE {database}.{table} (id INT PRIMARY KEY, n INT NOT NULL)")
            values = ",".join(f"({n},0)" for n in range(ROWS))
            cursor.execute(f"INSERT INTO {database}.{table} VALUES {values}")
    prefix = f"kill-{flavour}-{seed}"
    config = write_config(tmp_path, source, broker, prefix, database)
    stop = Event()
    with ThreadPoolExecutor(1) as pool, ConnectorProcess(config) as connector:
        workload = pool.submit(count_up, source, database, seed, stop)
        try:
            for _ in range(ROUNDS):
                connector.wait_for('"message": "streaming"')
                time.sleep(chance.uniform(0.0, 1.5))
                connector.kill()
                connector.log.unlink()
                connector.start()
        finally:
            stop.set()
        workload.result()
        with connect(source, database) as connection, connection.cursor() as cursor:
            expected: dict[str, dict[int, int]] = {}
            for table in ("counter", "other"):
                cursor.execute(f"SELECT id, n FROM {table}")
                expected[f"{prefix}.{database}.{table}"] = dict(cursor.fetchall())

        def caught_up() -> bool:
            return final_counts(read_committed(broker, prefix)) == expected

        wait_until(caught_up, connector.output)
        assert connector.terminate() == 0
    records = read_committed(broker, prefix)
    rows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r.topic, r.partition, r.offset)):
        rows[record.topic, record.key["id"]].append(record.value["after"]["n"])
    for row_counts in rows.values():
        assert row_counts == list(range(len(row_counts)))
    sequences = [record.seq for record in changes(records)]
    assert len(set(sequences)) == len(sequences)
    by_partition: dict[tuple[str, int], list[str]] = defaultdict(list)
    for record in records:
        by_partition[record.topic, record.partition].append(record.seq)
    for in_partition in by_partition.values():
        assert in_partition == sorted(in_partition)
    print(f"{ROUNDS} kills, {len(records)} records, every change once and in order")


def final_counts(records: list[Seen]) -> dict[str, dict[int, int]]:
    """Return what each row of each topic counts to."""
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for record in records:
        n = record.value["after"]["n"]
        row = counts[record.topic]
        row[record.key["id"]] = max(n, row.get(record.key["id"], 0))
    return counts
