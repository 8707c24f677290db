"""Our records of routes and of an outbox, byte for byte those that Debezium wrote of a log."""

from __future__ import annotations

import json
import lzma
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import Settings
from connector.stream.source.record_options import record_options
from tests.debezium.comparison import seen
from tests.debezium.encoded_log import encoded_log
from tests.debezium.transformations import DATABASE, FOLDER, RECORDS, SETS, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from connector.stream.envelope.options import EnvelopeOptions
    from tests.debezium.transformations import Transformed


def options(chosen: Transformed) -> EnvelopeOptions:
    settings = Settings.model_validate(
        {
            "name": "n",
            "source": {"server_id": 1},
            "kafka": {"bootstrap_servers": ["a:9092"], "topic_prefix": chosen.name},
            "envelope": {"profile": "debezium", **chosen.envelope},
        }
    )
    return record_options(settings, "mysql", None)


def comparable(records: Iterable[tuple[str, Any, Any, Any]]) -> list[Any]:
    """Return topic, key, value and headers without what two programs cannot have alike."""
    found = []
    for topic, key, value, headers in records:
        each = seen(topic, key, value, [(name, of or b"(null)") for name, of in headers])
        found.append((topic, each.key, each.value, each.headers))
    return found


def as_bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def theirs(name: str) -> list[Any]:
    lines = map(json.loads, lzma.decompress(RECORDS.read_bytes()).decode().split("\n"))
    return comparable(
        (topic, as_bytes(key), as_bytes(value), [(of, as_bytes(text)) for of, text in headers])
        for owner, topic, key, value, headers in lines
        if owner == name
    )


@pytest.mark.parametrize("chosen", SETS, ids=lambda each: each.name)
def test_the_changes_of_a_log_become_debeziums_records(tmp_path: Path, chosen: Transformed) -> None:
    pattern = "outbox" if chosen.name.startswith("outbox") else "orders_*"
    own = comparable(
        (record.topic, record.key, record.value, record.headers)
        for record in encoded_log(tmp_path, FOLDER, f"{DATABASE}.{pattern}", options(chosen))
        if record.topic != f"{chosen.name}.schema"
    )
    wanted = theirs(chosen.name)
    assert len(wanted) == chosen.records
    for topic in {each[0] for each in wanted}:
        # Debezium copied the first row.
        first = 0 if topic.endswith(".customer") else 1
        assert [each for each in own if each[0] == topic][first:] == [
            each for each in wanted if each[0] == topic
        ][first:]
    assert as_text(b"\xff") == "\udcff"
