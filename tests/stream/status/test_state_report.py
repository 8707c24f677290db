"""The line of a state report: what it says, and that only the main thread can ask for it."""

from __future__ import annotations

import threading
from dataclasses import replace

from connector.stream.status.model import Condition, Host, Level, State, TableStatus
from connector.stream.status.status_log import report, state_reports
from tests.stream.status.examples import COPIED, FAILED, FENCED, facts_with


def test_a_line_tells_what_the_page_tells() -> None:
    facts = facts_with(
        Condition(State.KAFKA_AWAY, Level.WARNING, "Kafka has not answered", "K131"),
        Condition(State.STREAMING, Level.GOOD, "open"),
        tables=(FENCED, FAILED, COPIED, TableStatus("shop.t", 1)),
        hosts=(Host("db1:3306", in_use=True), Host("db2:3306", in_use=False, note="lags")),
    )
    said = report(facts)
    assert (said["state"], said["code"], said["also"]) == ("kafka-away", "K131", ["streaming"])
    assert said["servers"] == ["db1:3306: in use", "db2:3306: lags"]
    tables = said["tables"]
    assert isinstance(tables, list)
    assert "in quarantine" in tables[0]
    assert "copy failed: " in tables[1]
    assert "copy copying, " in tables[2]
    assert tables[3] == "shop.t: 1 record"
    assert said["more_tables"] is None


def test_what_is_not_known_is_left_out() -> None:
    facts = replace(facts_with(), lag=None, purge=None, throughput=None, position=None)
    assert not report(facts).keys() & {
        "lag_seconds",
        "time_to_purge_seconds",
        "records",
        "position",
    }
    many = replace(facts, tables=[TableStatus(f"shop.t{number}") for number in range(50)])
    said = report(many)
    assert said["more_tables"] == 30
    assert len(said["tables"]) == 20  # type: ignore[arg-type]  # a list


def test_another_thread_leaves_the_signals_alone() -> None:
    entered = []

    def enter() -> None:
        with state_reports(facts_with):
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered
