"""What becomes of the rows of copies that cannot be carried, or whose key is kept back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.contract import Sequence
from connector.foundation.errors import RecordTooLarge, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.copied_chunk import CopyPosition, RefusedRow
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.copy_guard import TableFenced
from connector.stream.quarantine.fence_setter import FenceSetter
from connector.stream.sink import kafka_errors
from tests.foundation.errors.texts import shown, text_of
from tests.stream.quarantine.bench import BAD, NOW_US, Kafka, Log, Row, Run, quarantined

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

READ_AT = CopyPosition(1, "binlog.000001", 1, 500, 3, NOW_US, NOW_US)
SEQUENCE = Sequence(1, 1, 499, 0, 3)


def schema(kind: str = "int") -> TableSchema:
    column: SchemaColumn = {"name": "id", "type": kind, "nullable": False, "key": 1}
    return TableSchema.of_columns("shop", "t", (column,))


def refused(number: int, *, keyed: bool = True) -> RefusedRow:
    key = b'{"id":%d}' % number if keyed else None
    return RefusedRow(
        key, b"row %d" % number, UnsupportedChange(record_errors.NOT_TEXT, column=f"c{number}")
    )


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def log() -> Log:
    return Log()


def test_rows_of_keys_that_are_kept_back_are_left_out(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1), Row("c", 2, BAD)]))
    run = Run(kafka, log, "fence-key")
    assert run.copied_rows.fenced_keys(schema()) == set()
    run.deliver()
    assert run.copied_rows.fenced_keys(schema()) == {b'{"id":2}'}
    with pytest.raises(TableFenced, match="its key was changed while") as caught:
        run.copied_rows.fenced_keys(schema("bigint"))
    assert caught.value.code is quarantine_errors.KEY_CHANGED_IN_COPY
    setter = FenceSetter(run.fences, of_keys=True)
    assert not setter.has_other_key(schema())
    assert setter.has_other_key(schema("bigint"))


def test_of_a_table_that_is_kept_back_nothing_is_copied(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 2, BAD)]))
    run = Run(kafka, log, "fence-table")
    run.deliver()
    with pytest.raises(TableFenced) as caught:
        run.copied_rows.fenced_keys(schema())
    (fence,) = run.fences
    assert caught.value.text == text_of(
        quarantine_errors.WHOLE_TABLE_FENCED, table="shop.t", why=fence.reason
    )


def test_changes_of_a_row_that_was_kept_back_follow_it(kafka: Kafka, log: Log) -> None:
    run = Run(kafka, log, "fence-key")
    run.copied_rows.keep(schema(), [refused(1), refused(2)], READ_AT, SEQUENCE, NOW_US)
    log.transaction(("t", [Row("u", 2), Row("u", 3)]))
    run.deliver()
    assert [record.key for record in kafka.rows("t")] == [b'{"id":3}']
    assert [(fence.key, fence.rows) for fence in run.fences] == [('{"id":1}', 1), ('{"id":2}', 2)]
    kept = [(record["kind"], data) for record, data in quarantined(kafka)]
    assert kept[:2] == [("copied", b"row 1"), ("copied", b"row 2")]
    # The next run knows, and a replay says that they stay.
    again = run.next_run("fence-key")
    again.replay()
    assert [record.key for record in kafka.rows("t")] == [b'{"id":3}']
    stays = shown(quarantine_errors.REPLAY_COPIED, table="shop.t")
    assert [(fence.rows, fence.reason) for fence in again.fences] == [(1, stays), (2, stays)]
    assert [fence.answered for fence in again.fences] == ["1", "1"]


def test_a_row_whose_key_cannot_be_told_fences_its_table(kafka: Kafka, log: Log) -> None:
    run = Run(kafka, log, "fence-key")
    with pytest.raises(TableFenced, match="column c2 holds"):
        run.copied_rows.keep(
            schema(), [refused(1), refused(2, keyed=False)], READ_AT, SEQUENCE, NOW_US
        )
    run.commit()
    assert [(fence.key, fence.rows) for fence in run.fences] == [('{"id":1}', 1), (None, 1)]
    assert [record["rest"] for record, _ in quarantined(kafka)] == [None, 0]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (refused(1), UnsupportedChange),
        (
            RefusedRow(
                b"{}", b"row", RecordTooLarge(kafka_errors.RECORD_SIZE, servers="a", doing="b")
            ),
            RecordTooLarge,
        ),
    ],
)
def test_stop_is_an_error(kafka: Kafka, log: Log, row: RefusedRow, kind: type[Exception]) -> None:
    run = Run(kafka, log, "stop")
    with pytest.raises(kind) as caught:
        run.copied_rows.keep(schema(), [row], READ_AT, SEQUENCE, NOW_US)
    assert type(caught.value) is kind
    assert caught.value is row.error
    assert not run.fences.any
