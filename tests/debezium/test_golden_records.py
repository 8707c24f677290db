"""Our records of a log, byte for byte those that Debezium wrote of it.

`make test` compares each set of options on one of the servers, `make test-all` on all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.debezium import story
from tests.debezium.comparison import GOLDEN, RECORDS, by_table, differences, kept, seen
from tests.debezium.encoded_log import encoded_log
from tests.debezium.option_sets import SETS
from tests.debezium.registered import NumberedSchemas, readable
from tests.length import FULL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.debezium.option_sets import OptionSet


def _as_json(
    text: bytes | None, chosen: OptionSet, topic: str, ids: NumberedSchemas
) -> bytes | None:
    """Return a key or value; one in Avro becomes JSON with its schema."""
    is_row = topic.startswith(f"ours.{story.DATABASE}.")
    return readable(text, ids.text) if text and is_row and chosen.is_avro else text


@pytest.mark.parametrize(
    ("server", "chosen"),
    [
        pytest.param(server, chosen, id=f"{server}-{chosen.name}")
        for number, chosen in enumerate(SETS)
        for place, server in enumerate(story.SERVERS)
        if FULL or number % len(story.SERVERS) == place
    ],
)
def test_the_changes_of_a_log_become_debeziums_records(
    tmp_path: Path, server: str, chosen: OptionSet
) -> None:
    ids = NumberedSchemas()
    flavour = "mariadb" if server == "mariadb" else "mysql"
    options = chosen.options(flavour, schema_ids=ids)
    ours = by_table(
        seen(
            record.topic,
            _as_json(record.key, chosen, record.topic, ids),
            _as_json(record.value, chosen, record.topic, ids),
            record.headers,
        )
        for record in encoded_log(tmp_path, GOLDEN / server, f"{story.DATABASE}.*", options)
    )
    theirs = by_table(kept(GOLDEN / server / RECORDS, chosen.name))
    assert set(theirs) >= set(story.tables(server))
    found: list[str] = []
    for table, records in theirs.items():
        # Debezium copied the rows that the log has first.
        copied = sum(record.copied for record in records)
        found += differences(ours[table][copied:], records[copied:])
    assert found == []
