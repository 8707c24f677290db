"""A table gets another key, or reserved names, in the middle of a batch: others go on as before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.apply.modes import MODES
from stream_jobs.apply.modes.history import History
from stream_jobs.apply.modes.mode import LastChanges
from stream_jobs.errors import job_errors
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.foundation.contract import SchemaColumn
    from tests.integration.mirror.conftest import Job, RunningJob
    from tests.stream_jobs.topics import JsonRow, Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NOTE = column("note", "varchar", length=20)
OTHER_KEY = (column("k1", "varchar", key=1, length=9), column("w", "int"))
ADDED_KEY = (column("id", "int", nullable=False), NOTE, column("k5", "int", key=1))
TEXT_KEY = (column("id", "varchar", key=1, length=9), NOTE)
KEYED_MODES = [mode.name for mode in MODES.values() if not mode.refuses_key]
NEED_KEY = [mode.name for mode in MODES.values() if mode.needs_key]
# The columns of each mode that do not say when.
OWN = {
    "current": [],
    "soft_delete": ["_cdc_deleted"],
    "history": ["_cdc_is_current", "_cdc_end_op"],
    "journal": ["_cdc_op"],
}


def modes(mode: str) -> dict[str, Any]:
    return {"tables": [{"match": ["shop.odd*"], "mode": mode}]}


def row(number: int, note: str = "a") -> JsonRow:
    return {"id": number, "note": note}


def gone(table: SourceTable) -> None:
    """DROP or TRUNCATE, or a copy begins."""
    table.truncate()


def run(job: Job, mode: str) -> list[dict[str, Any]]:
    lines = job.run(**modes(mode))
    assert job.exit_code == 0, lines
    return lines


def state(job: Job, mode: str, names: Iterable[str]) -> list[tuple[Any, ...]]:
    """The rows, without the columns that say when."""
    rows = job.data("odd").to_pylist()
    rows.sort(key=lambda each: (each["_cdc_hi"], each["_cdc_lo"]))
    return [tuple(each.get(name) for name in (*names, *OWN[mode])) for each in rows]


WANTED: dict[str, list[tuple[Any, ...]]] = {
    "current": [("y",)],
    "soft_delete": [(2, None, True), (1, None, True), (None, "y", False), (None, "x", True)],
    "history": [
        (1, None, False, "d"),
        (2, None, False, "t"),
        (None, "x", False, "d"),
        (None, "y", True, None),
    ],
    "journal": [
        (1, None, "c"),
        (2, None, "c"),
        (1, None, "d"),
        (None, None, "t"),
        (None, "x", "c"),
        (None, "y", "c"),
        (None, "x", "d"),
    ],
}


@pytest.mark.parametrize("first_is_there", [True, False])
@pytest.mark.parametrize("mode", KEYED_MODES)
@pytest.mark.parametrize("columns", [OTHER_KEY, TEXT_KEY], ids=["other names", "another type"])
def test_a_table_that_is_made_anew_with_another_key_between_two_deletes_is_right(
    kafka: Kafka,
    job: Job,
    columns: tuple[SchemaColumn, ...],
    mode: str,
    first_is_there: bool,
) -> None:
    table = SourceTable(kafka, "odd", (ID, NOTE)).create()
    table.insert(row(1), row(2))
    if first_is_there:
        run(job, mode)
    table.delete(row(1))
    gone(table)
    anew = table.alter(*columns)
    name = columns[0]["name"]
    rest = columns[1]["name"]
    anew.insert({name: "x", rest: None}, {name: "y", rest: None})
    anew.delete({name: "x", rest: None})
    lines = run(job, mode)
    assert [line["event"] for line in lines if line["event"] != "batch_applied"] == []
    old = "id" if name == "k1" else "id__2"
    names = [old, name] if MODES[mode].keeps_columns else [name]
    found = state(job, mode, names)
    assert found == WANTED[mode]


FIRST_KEY: dict[str, list[tuple[Any, ...]]] = {
    "current": [(3, "c")],
    "soft_delete": [(1, "a", True), (2, "a", True), (3, "c", False)],
    "history": [(1, "a", False, "t"), (2, "a", False, "t"), (3, "c", True, None)],
}


@pytest.mark.parametrize("mode", NEED_KEY)
def test_a_table_that_had_no_key_when_it_was_first_seen_gets_a_mirror_with_its_key(
    kafka: Kafka, job: Job, mode: str
) -> None:
    table = SourceTable(kafka, "odd", (ID, NOTE)).create()
    table.insert(row(1), row(2))
    keyless = table.alter(column("id", "int", nullable=False), NOTE)
    keyless.insert(row(9))
    run(job, mode)
    gone(keyless)
    keyed = keyless.alter(ID, NOTE)
    keyed.insert(row(3, "c"))
    lines = run(job, mode)
    assert "table_quarantined" not in [line["event"] for line in lines], lines
    assert sorted(state(job, mode, ["id", "note"])) == FIRST_KEY[mode]


def test_a_table_may_get_its_first_key_while_the_job_runs(
    kafka: Kafka, job: Job, running_job: RunningJob
) -> None:
    keyless = SourceTable(kafka, "odd", (column("id", "int", nullable=False), NOTE)).create()
    keyless.insert(row(1), row(2))
    assert running_job.apply(keyless).keyless_topics == [keyless.topic]
    # The statement itself; the connector copies the table later.
    gone(keyless)
    running_job.apply(keyless)
    keyed = keyless.alter(ID, NOTE)
    keyed.insert(row(3, "c"))
    assert running_job.apply(keyed).quarantined == []
    assert job.rows("odd") == [(3, "c")]


KEY_BEFORE: dict[str, list[tuple[Any, ...]]] = {
    "current": [(1, "d", 1)],
    "soft_delete": [
        (3, "a", None, True),
        (1, "b", None, True),
        (2, "a", None, True),
        (1, "d", 1, False),
        (3, "d", 3, True),
    ],
    "history": [
        (1, "a", None, False, "u"),
        (2, "a", None, False, "d"),
        (3, "a", None, False, "t"),
        (1, "b", None, False, "t"),
        (1, "c", 1, False, "t"),
        (1, "d", 1, True, None),
        (3, "d", 3, False, "d"),
    ],
}


@pytest.mark.parametrize("mode", NEED_KEY)
def test_rows_of_the_key_before_stay_as_they_were(kafka: Kafka, job: Job, mode: str) -> None:
    table = SourceTable(kafka, "odd", (ID, NOTE)).create()
    table.insert(row(1), row(2), row(3))
    run(job, mode)
    table.update(row(1), row(1, "b"))
    table.delete(row(2))
    anew = table.alter(*ADDED_KEY)
    # A change after the statement, and before the copy begins.
    anew.update({**row(1, "b"), "k5": 1}, {**row(1, "c"), "k5": 1})
    gone(anew)
    with kafka.transaction():
        for number in (1, 3):
            anew.send("r", None, {**row(number, "d"), "k5": number})
    anew.delete({**row(3, "d"), "k5": 3})
    lines = run(job, mode)
    assert [line["event"] for line in lines] == ["batch_applied"]
    assert state(job, mode, ["id", "note", "k5"]) == KEY_BEFORE[mode]


# How many rows three rounds leave, which the last insert follows.
ROUNDS = {"current": 0, "soft_delete": 3 * 3, "history": 3 * 4, "journal": 3 * 7}


# `id`, `note`, and whether the row has the new key.
EARLIER: dict[str, list[tuple[Any, ...]]] = {
    "current": [(2, "d", True)],
    "soft_delete": [(2, "a", False, True), (1, "a", False, True), (2, "d", True, False)],
    "history": [
        (1, "a", False, False, "d"),
        (2, "a", False, False, "t"),
        (2, "b", True, False, "t"),
        (2, "c", True, False, "u"),
        (2, "d", True, True, None),
    ],
    "journal": [
        (1, "a", False, "c"),
        (2, "a", False, "c"),
        (1, "a", False, "d"),
        (2, "b", True, "u"),
        (None, None, False, "t"),
        (2, "c", True, "r"),
        (2, "d", True, "u"),
    ],
}


@pytest.mark.parametrize("mode", KEYED_MODES)
@pytest.mark.parametrize(("kind", "least"), [("int", 0), ("varchar", "")])
def test_a_key_that_is_zero_or_empty_finds_no_row_of_the_key_before(
    kafka: Kafka, job: Job, mode: str, kind: str, least: object
) -> None:
    table = SourceTable(kafka, "odd", (ID, NOTE)).create()
    table.insert(row(1), row(2))
    run(job, mode)
    table.delete(row(1))
    key = column("k", kind, key=1, length=9)
    anew = table.alter(column("id", "int", nullable=False), NOTE, key)
    a, b, c, d = ({**row(2, note), "k": least} for note in "abcd")
    # After the statement, and before the copy begins.
    anew.update(a, b)
    gone(anew)
    with kafka.transaction():
        anew.send("r", None, c)
    run(job, mode)
    anew.update(c, d)
    run(job, mode)
    found = state(job, mode, ["id", "note", "k"])
    assert found == [
        (id_, note, least if has_key else None, *more)
        for id_, note, has_key, *more in EARLIER[mode]
    ]


@pytest.mark.parametrize("mode", KEYED_MODES)
def test_keys_that_go_back_and_forth_in_one_batch_are_right(
    kafka: Kafka, job: Job, mode: str
) -> None:
    table = SourceTable(kafka, "odd", (ID, NOTE)).create()
    other = SourceTable(kafka, "odd", OTHER_KEY)
    for number in range(3):
        table.insert(row(number))
        table.delete(row(number))
        table.insert(row(10 + number))
        gone(table)
        other = table.alter(*OTHER_KEY)
        other.insert({"k1": str(number), "w": number})
        other.update({"k1": str(number), "w": number}, {"k1": str(number), "w": 9})
        gone(other)
        table = other.alter(ID, NOTE)
    table.insert(row(99))
    lines = run(job, mode)
    assert [line["event"] for line in lines] == ["batch_applied"]
    data = job.data("odd").to_pylist()
    # A column that comes back is another one, and so is the key.
    assert len(data) == ROUNDS[mode] + 1
    current = MODES[mode].current_rows
    if not isinstance(current, LastChanges):
        assert current is not None, f"mode {mode} needs a comparison of its own"
        flag, value = current
        assert [each["id"] for each in data if not flag or each[flag] == value] == [99]


@pytest.mark.parametrize("mode", MODES)
def test_a_reserved_name_sets_its_table_aside_alone(kafka: Kafka, job: Job, mode: str) -> None:
    lists: list[tuple[SchemaColumn, ...]] = []
    key = int(not MODES[mode].refuses_key)
    for name in ("_cdc_deleted", "_cdc_op", "_CDC_hi", "_cdc_valid_from"):
        lists += [
            (column(name, "int", key=key), NOTE),
            (column("id", "int", key=key), column(name, "int")),
        ]
    good = SourceTable(kafka, "good", (ID, NOTE)).create()
    for number, columns in enumerate(lists):
        odd = SourceTable(kafka, f"odd{number}", columns).create()
        values: JsonRow = {each["name"]: 1 if each["type"] == "int" else "a" for each in columns}
        odd.insert(values)
        odd.delete(values)
    good.insert(row(1))
    told = [line for line in run(job, mode) if line["event"] == "table_quarantined"]
    assert [(line["table"], line["code"]) for line in told] == [
        (f"shop.odd{number}", job_errors.COLUMN_NAME.code) for number in range(len(lists))
    ]
    good.insert(row(2))
    run(job, mode)
    assert job.rows("good") == [(1, "a"), (2, "a")]


def test_two_columns_with_one_name_for_readers_set_their_table_aside_alone(
    kafka: Kafka, job: Job
) -> None:
    good = SourceTable(kafka, "good", (ID, NOTE)).create()
    odd = SourceTable(kafka, "odd", (ID, column("maß", "int"), column("maẞ", "int"))).create()
    odd.insert({"id": 1, "maß": 1, "maẞ": 2})
    good.insert(row(1))
    told = [line for line in run(job, "current") if line["event"] == "table_quarantined"]
    assert [(line["table"], line["code"]) for line in told] == [
        ("shop.odd", job_errors.SAME_NAME.code)
    ]
    assert job.rows("good") == [(1, "a")]


@pytest.mark.parametrize("mode", KEYED_MODES)
def test_a_reserved_name_that_comes_later_sets_its_table_aside_alone(
    kafka: Kafka, job: Job, mode: str
) -> None:
    good = SourceTable(kafka, "good", (ID, NOTE)).create()
    odd = SourceTable(kafka, "odd", (ID, NOTE)).create()
    odd.insert(row(1))
    run(job, mode)
    # It is gone again when the job looks.
    passing = odd.alter(ID, NOTE, column("_cdc_op", "int"))
    passing.insert({**row(2), "_cdc_op": 1})
    passing.alter(ID, NOTE).insert(row(3))
    good.insert(row(1))
    lines = run(job, mode)
    aside = [line["code"] for line in lines if line["event"] == "table_quarantined"]
    # A mirror that keeps no columns never has it.
    assert aside == ([job_errors.COLUMN_NAME.code] if MODES[mode].keeps_columns else [])
    assert job.rows("good") == [(1, "a")]


def test_a_defect_of_the_job_sets_its_table_aside_alone(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a value of the row")  # noqa: EM101, TRY003 - planted

    good = SourceTable(kafka, "good", (ID, NOTE)).create()
    odd = SourceTable(kafka, "odd", (ID, NOTE)).create()
    odd.insert(row(1))
    good.insert(row(1))
    with monkeypatch.context() as planted:
        planted.setattr(History, "apply", broken)
        (aside,) = [line for line in run(job, "history") if line["event"] == "table_quarantined"]
    assert (aside["table"], aside["code"]) == ("shop.odd", job_errors.TABLE_DEFECT.code)
    assert "KeyError at" in aside["error"]
    assert "a value" not in aside["error"]
    assert job.rows("good") == [(1, "a")]
    job.resume("shop.odd")
    run(job, "history")
    assert job.rows("odd") == [(1, "a")]
