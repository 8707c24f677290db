"""Records of transactions that were rolled back behind their rows are not printed."""

from __future__ import annotations

import json
from typing import Any

from connector.binlog.event import Event
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.header import EventType
from connector.binlog.table_filter import TableFilter
from connector.logs.dump.envelope_format import EnvelopeFormat
from tests.golden.golden import logs
from tests.logs.dump.written import lines_of

LOG = next(log for log in logs() if log.name == "mysql-8.0.31/row_images.full.000001")


def printed(events: list[Event]) -> list[dict[str, Any]]:
    writer = EnvelopeFormat("p", TableFilter(["*.*"]), lambda: 0)
    lines = [json.loads(line) for line in lines_of(writer, events)]
    writer.end()
    return lines


def test_rows_that_were_rolled_back_are_left_out_and_their_schema_stays() -> None:
    events = list(LOG.events())
    ends = [n for n, event in enumerate(events) if event.name == "XID_EVENT"]
    first = ends[0]
    end = events[first]
    text = "ROLLBACK"
    body = QueryEvent(9, 0, 0, "d", StatusVariables(), text.encode(), text)
    rolled_back = Event(
        end.file, end.position, end.next_position, end.header, body, end.data, number=0
    )
    rolled_back.header.type_code = EventType.QUERY_EVENT
    whole = printed(list(LOG.events()))
    without = printed([*events[:first], rolled_back, *events[first + 1 :]])
    name = next(txn(line) for line in whole if is_row(line))
    assert [line for line in whole if line not in without] == [
        line for line in whole if is_row(line) and txn(line) == name
    ]
    schemas = [line for line in whole if line["topic"] == "p.schema"]
    assert [line for line in without if line["topic"] == "p.schema"] == schemas
    assert len(without) < len(whole)


def is_row(line: dict[str, Any]) -> bool:
    return bool(line["topic"].count(".") == 2)


def txn(line: dict[str, Any]) -> str:
    return str(line["headers"]["cdc.txn"])
