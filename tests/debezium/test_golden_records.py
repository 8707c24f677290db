"""Our records of a log, byte for byte those that Debezium wrote of it."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from connector.changes.assembler import TransactionAssembler
from connector.changes.receiver import ChangeReceiver
from connector.changes.table_filter import TableFilter
from connector.envelope.record_encoder import RecordEncoder
from connector.progress.order import TransactionOrder
from connector.system.temporary_folder import TemporaryFolder
from tests.debezium import story
from tests.debezium.comparison import GOLDEN, LOG, RECORDS, by_table, differences, kept, seen
from tests.debezium.option_sets import SETS
from tests.debezium.registered import NumberedSchemas, readable
from tests.envelope.collected import Collected
from tests.golden.golden import decoded_events

if TYPE_CHECKING:
    from pathlib import Path

    from connector.changes.receiver import Committed
    from connector.changes.transaction import RowsChange, StatementChange
    from connector.envelope.options import EnvelopeOptions
    from tests.debezium.option_sets import OptionSet


class Encoding(ChangeReceiver):
    """Encodes changes."""

    def __init__(self, options: EnvelopeOptions) -> None:
        self.target = Collected()
        self._encoder = RecordEncoder(options, TransactionOrder(), self.target)

    def rows(self, change: RowsChange) -> None:
        self._encoder.rows(change, 0)

    def statement(self, change: StatementChange) -> None:
        self._encoder.statement(change, 0)

    def committed(self, committed: Committed) -> None:
        del committed


def _as_json(
    text: bytes | None, chosen: OptionSet, topic: str, ids: NumberedSchemas
) -> bytes | None:
    """Return a key or value; one in Avro becomes JSON with its schema."""
    is_row = topic.startswith(f"ours.{story.DATABASE}.")
    return readable(text, ids.text) if text and is_row and chosen.is_avro else text


@pytest.mark.parametrize("chosen", SETS, ids=lambda each: each.name)
@pytest.mark.parametrize("server", story.SERVERS)
def test_the_changes_of_a_log_become_debeziums_records(
    tmp_path: Path, server: str, chosen: OptionSet
) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(gzip.decompress((GOLDEN / server / LOG).read_bytes()))
    ids = NumberedSchemas()
    flavour = "mariadb" if server == "mariadb" else "mysql"
    encoding = Encoding(chosen.options(flavour, schema_ids=ids))
    tables = TableFilter([f"{story.DATABASE}.*"])
    assembler = TransactionAssembler(tables, encoding, TemporaryFolder())
    for event in decoded_events(log, log.name):
        assembler.receive(event)
    ours = by_table(
        seen(
            record.topic,
            _as_json(record.key, chosen, record.topic, ids),
            _as_json(record.value, chosen, record.topic, ids),
            record.headers,
        )
        for record in encoding.target.records
    )
    theirs = by_table(kept(GOLDEN / server / RECORDS)[chosen.name])
    assert set(theirs) >= set(story.tables(server))
    found: list[str] = []
    for table, records in theirs.items():
        # Debezium copied the rows that the log has first.
        copied = sum(record.copied for record in records)
        found += differences(ours[table][copied:], records[copied:])
    assert found == []
