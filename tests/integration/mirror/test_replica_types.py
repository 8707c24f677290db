"""Every column type arrives as the source has it, at both products and between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect
from tests.integration.harness import wait_until_settled
from tests.integration.mirror.conftest import Job
from tests.integration.mirror.replica_target import ReplicaTarget
from tests.integration.verification.test_types import KEYS, TYPES
from tests.length import FULL, full_only
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import Endpoint
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# What the types of `verify` do not have.
MORE = {
    "DECIMAL(30,25)": "0.0000000000000001234",
    "FLOAT UNSIGNED": "3.4e38",
    "DOUBLE": "5e-324",
    "FLOAT": "-0e0",
    "YEAR": "0",
    "TIME": "'838:59:59'",
    "DATE": "'9999-12-31'",
    "VARCHAR(40) CHARACTER SET utf8mb4": "'it''s \\\\ \"x\" `y` %s \\0 \\n'",
    "CHAR(9) CHARACTER SET binary": "X'FF27'",
    "CHAR(3) CHARACTER SET cp1251": "'где'",
    "VARCHAR(9) CHARACTER SET sjis": "'日本'",
    "ENUM('it''s','0','') CHARACTER SET latin1": "'it''s'",
    "SET('','é') CHARACTER SET latin1": "'é'",
    "LONGTEXT": "REPEAT('ab''', 70000)",
    "LONGBLOB": "REPEAT(X'27005C', 70000)",
    "POLYGON": "ST_GeomFromText('POLYGON((0 0,0 1,1 1,0 0))', 4326)",
}
ALL = [*TYPES.items(), *MORE.items()]


@pytest.fixture
def own_job(either_stream: Stream, tmp_path: Path) -> Iterator[Job]:
    kafka = Kafka(either_stream.broker.bootstrap, either_stream.prefix)
    yield Job(kafka, tmp_path)
    kafka.close()


@pytest.fixture(params=["same", "other"])
def target(
    request: pytest.FixtureRequest, either_stream: Stream, own_job: Job
) -> Iterator[ReplicaTarget]:
    both = [request.getfixturevalue(f"{name}_server").endpoint for name in ("mysql", "mariadb")]
    is_other = request.param == "other"
    (endpoint,) = (each for each in both if (each != either_stream.source) == is_other)
    found = ReplicaTarget(own_job, endpoint)
    yield found
    found.close()


def texts(endpoint: Endpoint, database: str, table: str) -> list[tuple[Any, ...]]:
    """What the server prints, without a type that could hide a difference.

    MariaDB stores -0 as 0 since 11.8.9.
    """
    with connect(endpoint, database) as connection, connection.cursor() as cursor:
        connection.decoders = {}
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
        return [tuple("0" if cell == "-0" else cell for cell in row) for row in cursor.fetchall()]


def copy(stream: Stream, target: ReplicaTarget) -> str:
    """Bring everything to the target, and return the name of the database there."""
    wait_until_settled(stream.broker, stream.prefix)
    lines = target.job.run()
    assert target.job.exit_code == 0, lines
    assert not [line for line in lines if line["event"] == "table_quarantined"]
    step = target.replica.apply_newest()
    assert step is not None
    assert step.left_out == {}
    return f"{target.prefix}_{stream.database}"


def test_every_type_is_the_same_on_both_sides(either_stream: Stream, target: ReplicaTarget) -> None:
    stream = either_stream
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(ALL))
    values = ", ".join(literal for _, literal in ALL)
    nothing = ", ".join(["NULL"] * len(ALL))
    empty = [n for n, (k, _) in enumerate(ALL) if k.startswith(("VARCH", "VARB", "LONG", "SET"))]
    with stream.connector() as connector:
        stream.execute(
            f"CREATE TABLE every (id INT PRIMARY KEY, {columns}, e ENUM('a','b') NOT NULL)",
            "SET NAMES utf8mb4",
            "SET sql_mode = 'ALLOW_INVALID_DATES'",
            f"INSERT INTO every VALUES (1, {values}, 'b'), (2, {nothing}, '')",
            *(f"INSERT INTO every (id, c{n}) VALUES ({100 + n}, '')" for n in empty),
        )
        stream.wait_for_changes(2 + len(empty), connector)
        database = copy(stream, target)
        assert texts(target.endpoint, database, "every") == texts(
            stream.source, stream.database, "every"
        )
        # By its key, each row goes and comes.
        stream.execute("UPDATE every SET id = id + 1000, e = 2")
        stream.wait_for_changes(2 * (2 + len(empty)), connector)
        copy(stream, target)
        assert texts(target.endpoint, database, "every") == texts(
            stream.source, stream.database, "every"
        )


@full_only
@pytest.mark.parametrize("target", ["same", "other"] if FULL else ["same"], indirect=True)
def test_a_row_is_found_by_a_key_of_each_type(either_stream: Stream, target: ReplicaTarget) -> None:
    stream = either_stream
    with stream.connector() as connector:
        stream.execute("SET NAMES utf8mb4")
        for number, (kind, literal) in enumerate(KEYS.items()):
            stream.execute(
                f"CREATE TABLE k{number:02} (k {kind} NOT NULL, n INT, v INT, PRIMARY KEY (k, n))",
                f"CREATE TABLE s{number:02} (k {kind} NOT NULL PRIMARY KEY, v INT)",
                f"INSERT INTO k{number:02} VALUES ({literal}, 1, 1), ({literal}, 2, 1)",
                f"INSERT INTO s{number:02} VALUES ({literal}, 1)",
            )
        stream.wait_for_changes(3 * len(KEYS), connector)
        database = copy(stream, target)
        for number in range(len(KEYS)):
            stream.execute(
                f"UPDATE k{number:02} SET v = 2 WHERE n = 1",
                f"DELETE FROM k{number:02} WHERE n = 2",
                f"UPDATE s{number:02} SET v = 2",
            )
        stream.wait_for_changes(6 * len(KEYS), connector)
        copy(stream, target)
    for number in range(len(KEYS)):
        for table in (f"k{number:02}", f"s{number:02}"):
            assert texts(target.endpoint, database, table) == texts(
                stream.source, stream.database, table
            ), table
