"""After every schema change, on every server, the mirror has the columns and rows of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.mirror.matrix.page import CHANGES, PAGE, SERVERS, page, recorded, words_of
from tests.length import FULL
from tests.stream_jobs.iceberg.independent_readers import library_readers

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker, Server

pytestmark = [pytest.mark.server, pytest.mark.kafka]

FIXTURES = ("mysql_server", "mysql_9", "mariadb_server")
# One of each kind; the others need a minute.
SHORT = (
    "ADD w INT DEFAULT 7, ALGORITHM = INSTANT",
    "DROP COLUMN v",
    "DEFAULT 'x' AFTER id, DROP v, and no row",
    "RENAME COLUMN v TO w",
    "MODIFY id BIGINT",
    "MODIFY v VARCHAR(2), outside",
    "DROP PRIMARY KEY",
    "RENAME TABLE t TO t3, t2 TO t",
    "TRUNCATE PARTITION p0",
    "DROP TABLE t; CREATE TABLE t (code",
)


@pytest.fixture(params=[0, 1, 2] if FULL else [0, 2], ids=lambda number: FIXTURES[number])
def number(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.mark.timeout(900)
def test_the_mirror_is_equal_after_every_schema_change_and_the_page_says_what_it_did(
    number: int, request: pytest.FixtureRequest, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(FIXTURES[number])
    chosen = CHANGES if FULL else [c for c in CHANGES if any(text in c.title for text in SHORT)]
    words, problems = words_of(server, kafka_broker, tmp_path, chosen, library_readers())
    assert problems == []
    assert words == {change.key: recorded()[number][change.key] for change in chosen}


def test_the_page_is_what_was_recorded() -> None:
    assert len({change.key for change in CHANGES}) == len(CHANGES)
    found = recorded()
    assert len(found) == len(SERVERS)
    assert page(found) == PAGE.read_text("utf-8")
    for change in CHANGES:
        assert {own[change.key] for own in found} != {"not there"}, change.title
