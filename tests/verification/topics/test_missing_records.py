"""Which absences are no differences: only those that the pipeline has a reason for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.contract import Sequence
from connector.stream.envelope.options import Topics
from connector.stream.quarantine.records import new_record
from verification.topics.missing_records import MissingRecords, QuarantinedRecords
from verification.topics.outcome import Outcome

if TYPE_CHECKING:
    from connector.foundation.control_records import QuarantineRecord

TOPIC = "p.shop.t"
HEADERS = b"\x00"


def seq(position: int, row: int = 0) -> bytes:
    """Return a sequence of the first event of a transaction."""
    return str(Sequence(1, 1, position, 0, row * 2)).encode()


def kept_back(position: int, kind: str, table: str) -> QuarantineRecord:
    return new_record(
        kind=kind, seq=seq(position).decode(), database="shop", table=table, rows=[], rest=0
    )


def missing_of(
    *quarantine: QuarantineRecord, copied: frozenset[str] = frozenset()
) -> tuple[Outcome, MissingRecords]:
    outcome = Outcome()
    quarantined = QuarantinedRecords(quarantine, Topics("p"))
    return outcome, MissingRecords(outcome, quarantined, frozenset(), copied)


def lack(missing: MissingRecords, *sequences: bytes, found: bool = False) -> None:
    """Let the records of an event be absent whose columns the log does not name."""
    missing.begin_unnamed("shop.t")
    missing.found = found
    for sequence in sequences:
        missing.explain(TOPIC, None, sequence, HEADERS, is_tombstone=False)
    missing.end_unnamed("shop.t")


def test_rows_without_names_are_excused_by_a_copy_after_them() -> None:
    outcome, missing = missing_of()
    lack(missing, seq(10), seq(10, row=1))
    assert missing.partial
    assert missing.is_unsettled(TOPIC)
    missing.settle(TOPIC)
    missing.finish()
    assert (outcome.is_equal, outcome.others) == (True, {"columns unknown": 2})


def test_rows_without_names_are_excused_by_a_copy_that_is_under_way() -> None:
    outcome, missing = missing_of(copied=frozenset({"shop.t"}))
    lack(missing, seq(10))
    missing.finish()
    assert (outcome.is_equal, outcome.others) == (True, {"columns unknown": 1})


def test_rows_without_names_and_without_a_copy_are_missing() -> None:
    outcome, missing = missing_of(copied=frozenset({"shop.other"}))
    for number in range(25):
        lack(missing, seq(10 + number))
    missing.finish()
    assert outcome.differences == {"missing": 25}
    assert len(outcome.examples) == 20


def test_a_part_of_an_event_is_missing_because_events_are_dropped_as_a_whole() -> None:
    outcome, missing = missing_of()
    lack(missing, seq(10), found=True)
    missing.settle(TOPIC)
    missing.finish()
    assert outcome.differences == {"missing": 1}


def test_rows_are_missing_after_one_whose_columns_the_pipeline_knew() -> None:
    outcome, missing = missing_of()
    lack(missing, found=True)
    lack(missing, seq(20))
    assert outcome.differences == {"missing": 1}
    missing.forget("shop", "t")
    lack(missing, seq(30))
    lack(missing, found=True)
    missing.forget("shop", "")
    lack(missing, seq(40))
    missing.settle(TOPIC)
    missing.finish()
    assert outcome.differences == {"missing": 1}
    assert outcome.others == {"columns unknown": 2}


def test_a_statement_without_rows_must_be_in_quarantine() -> None:
    outcome, missing = missing_of(
        kept_back(10, "statement", "t"),
        kept_back(20, "statement", "*"),
        kept_back(30, "statement", "other"),
        kept_back(40, "gone", "t"),
    )
    missing.stated(TOPIC, "shop", "t", seq(10), "f:10")
    missing.stated("p", "shop", None, seq(20), "f:20")
    assert outcome.others == {"logged as a statement": 2}
    missing.stated(TOPIC, "shop", "t", seq(30), "f:30")
    missing.stated(TOPIC, "shop", "t", seq(40), "f:40")
    missing.stated("p", "shop", None, seq(50), "f:50")
    missing.finish()
    assert outcome.differences == {"missing": 3}
    assert [(each.topic, each.transaction) for each in outcome.examples] == [
        ("p", "f:50"),
        (TOPIC, "f:30"),
        (TOPIC, "f:40"),
    ]


def test_a_statement_without_rows_is_excused_by_a_copy_after_it() -> None:
    outcome, missing = missing_of()
    missing.stated(TOPIC, "shop", "t", seq(10), "f:10")
    missing.settle(TOPIC)
    missing.finish()
    assert (outcome.is_equal, outcome.others) == (True, {"logged as a statement": 1})


def test_rows_that_the_quarantine_does_not_show_are_in_quarantine() -> None:
    outcome, missing = missing_of(kept_back(10, "withheld", "t"))
    missing.explain(TOPIC, None, seq(10), HEADERS, is_tombstone=False)
    assert (outcome.is_equal, outcome.others) == (True, {"in quarantine": 1})
