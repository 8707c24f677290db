"""Texts keep their lengths and their keys at a target with other character sets and collations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.length import full_only
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.server]

ID = column("id", "int", key=1)


SERVERS = ["mysql_server", "mariadb_server"]
# They call utf8mb3 `utf8`.
OLDER = [pytest.param(name, marks=full_only) for name in ("mysql_5_7", "mariadb_10_5")]


@pytest.fixture(params=SERVERS)
def target(request: pytest.FixtureRequest, job: Job) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, request.getfixturevalue(request.param).endpoint)


def described(target: ReplicaTarget, facts: str) -> list[tuple[object, ...]]:
    return target.sql(
        f"SELECT {facts} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "
        f"'{target.database}' ORDER BY ORDINAL_POSITION"
    )


@pytest.mark.parametrize("target", [*SERVERS, *OLDER], indirect=True)
def test_a_text_has_its_length_in_characters(kafka: Kafka, target: ReplicaTarget) -> None:
    columns = (
        ID,
        column("a", "char", length=300, charset="utf8mb3", collation=33),
        # MariaDB does not have this character set.
        column("b", "char", length=400, charset="gb18030", collation=248),
        column("c", "varchar", length=60_000, charset="utf8mb4", collation=45),
    )
    SourceTable(kafka, "texts", columns).create().insert(
        {"id": 1, "a": "é" * 100, "b": "語" * 100, "c": "🐬"}
    )
    target.follow(kafka)
    assert described(target, "CHARACTER_MAXIMUM_LENGTH") == [(None,), (100,), (100,), (15_000,)]
    assert target.rows("texts") == [(1, "é" * 100, "語" * 100, "🐬")]


def test_keys_that_differ_in_trailing_spaces_stay_apart(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    # Of MySQL, or of MariaDB: the target does not have it.
    own = 308 if target.is_mariadb else 1070
    key = column("k", "varchar", key=1, length=40, charset="utf8mb4", collation=own)
    texts = SourceTable(kafka, "texts", (key, column("v", "int"))).create()
    texts.insert({"k": "a", "v": 1}, {"k": "a ", "v": 2}, {"k": "A", "v": 3})
    target.follow(kafka)
    texts.delete({"k": "a ", "v": 2})
    target.follow(kafka)
    assert target.rows("texts") == [("A", 3), ("a", 1)]
    (found, _) = described(target, "COLLATION_NAME")
    assert found == ("utf8mb4_nopad_bin" if target.is_mariadb else "utf8mb4_0900_bin",)
