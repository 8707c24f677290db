"""The model of the facts: its JSON, and what is derived from it."""

from __future__ import annotations

import json

import pytest

from connector.cli.status import exit_code
from connector.stream.status.model import (
    Condition,
    CopyProgress,
    Level,
    Purge,
    State,
    from_json,
    to_json,
)
from tests.stream.status.examples import COPIED, FAILED, FENCED, WELL, facts_with

QUARANTINE = Condition(State.QUARANTINE, Level.CRITICAL, "changes are held back")
LAGGING = Condition(State.LAGGING, Level.WARNING, "late")
STOPPED = Condition(State.STOPPED, Level.CRITICAL, "no process answers")
UNKNOWN = Condition(State.UNKNOWN, Level.CRITICAL, "nobody can ask")
LOST = Condition(State.CANNOT_CONTINUE, Level.CRITICAL, "purged", "S303")


def test_the_json_has_every_fact_and_comes_back() -> None:
    facts = facts_with(LAGGING, WELL, tables=(COPIED, FENCED, FAILED))
    text = to_json(facts)
    assert from_json(text) == facts
    read = json.loads(text)
    assert read["conditions"][0] == {
        "state": "lagging", "level": "warning", "reason": "late", "code": None,
    }  # fmt: skip
    assert read["tables"][1]["kept_back"]["rows"] == 14


@pytest.mark.parametrize("text", [b"", b"{}", b'{"pipeline": "shop"}', b"<html>"])
def test_another_text_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        from_json(text)


def test_the_first_condition_is_the_state_and_the_worst_level_counts() -> None:
    facts = facts_with(LAGGING, QUARANTINE, WELL)
    assert facts.state is LAGGING
    assert facts.worst is Level.CRITICAL
    assert State.KAFKA_AWAY.words == "Kafka away"


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ((WELL,), 0),
        ((LAGGING, WELL), 1),
        ((LAGGING, QUARANTINE, WELL), 3),
        ((STOPPED,), 4),
        ((UNKNOWN, QUARANTINE), 4),
        ((STOPPED, LOST), 3),
    ],
)
def test_each_exit_code_has_a_meaning(conditions: tuple[Condition, ...], code: int) -> None:
    assert exit_code(facts_with(*conditions)) == code


def test_parts_are_between_none_and_all() -> None:
    assert CopyProgress("copying", 25, 100).part == 0.25
    assert CopyProgress("copying", 200, 100).part == 1
    assert CopyProgress("copying", 0, 0).part == 0
    assert Purge(None, None).part == 1
    assert Purge(900.0, 3600.0).part == 0.25
    assert Purge(9000.0, 3600.0).part == 1
