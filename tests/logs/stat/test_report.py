"""The statistics of a file with known values, as a document and as tables."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console

from connector.logs.statistics import Count, Statistics
from connector.logs.statistics_report import as_json, as_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event

    DecodeFile = Callable[[str], Iterator[Event]]

GTID = "a09129d9-0728-11e9-aa93-d227f810ba81:74"
DOCUMENT = {
    "files": [{"file": "mysql-bin.000005", "events": 7, "bytes": 492}],
    "server_versions": ["5.7.24-log"],
    "server_ids": {"1": 7},
    "time": {
        "first": "2019-01-03T10:57:46+00:00",
        "last": "2019-01-03T10:58:14+00:00",
        "seconds": 28,
    },
    "gtids": {"mysql": GTID, "mariadb": []},
    "events": {
        "FORMAT_DESCRIPTION_EVENT": {"count": 1, "bytes": 119},
        "QUERY_EVENT": {"count": 1, "bytes": 80},
        "PREVIOUS_GTIDS_LOG_EVENT": {"count": 1, "bytes": 71},
        "WRITE_ROWS_EVENT": {"count": 1, "bytes": 70},
        "GTID_LOG_EVENT": {"count": 1, "bytes": 65},
        "TABLE_MAP_EVENT": {"count": 1, "bytes": 56},
        "XID_EVENT": {"count": 1, "bytes": 31},
    },
    "payloads": {"count": 0, "compressed_bytes": 0, "uncompressed_bytes": 0, "events": {}},
    "tables": [
        {
            "schema": "test",
            "table": "user",
            "inserts": 1,
            "updates": 0,
            "deletes": 0,
            "bytes": 70,
            "refused_events": 0,
        }
    ],
    "transactions": {
        "count": 1,
        "bytes": 302,
        "per_second": 0.036,
        "peak_per_second": 1,
        "peak_at": "2019-01-03T10:58:14+00:00",
        "largest": [
            {
                "gtid": GTID,
                "file": "mysql-bin.000005",
                "position": 194,
                "next_position": 496,
                "bytes": 302,
                "rows": 1,
                "seconds": 0,
            }
        ],
    },
}


def statistics_of(events: Iterator[Event]) -> Statistics:
    statistics = Statistics()
    for event in events:
        statistics.add(event)
    return statistics


def printed(statistics: Statistics) -> str:
    output = StringIO()
    Console(file=output, width=120).print(as_tables(statistics))
    return output.getvalue()


def test_the_document_has_these_keys_and_values(decode_file: DecodeFile) -> None:
    assert as_json(statistics_of(decode_file("seed/mysql-bin.000005"))) == DOCUMENT


def test_nothing_is_a_document_too() -> None:
    document = as_json(Statistics())
    assert document.keys() == DOCUMENT.keys()
    assert document["time"] == {"first": None, "last": None, "seconds": 0}
    assert document["transactions"]["per_second"] is None
    assert "Files" in printed(Statistics())


def test_tables_say_the_same(decode_file: DecodeFile) -> None:
    text = printed(statistics_of(decode_file("seed/mysql-bin.000005")))
    for row in (
        "time             2019-01-03T10:57:46+00:00 to 2019-01-03T10:58:14+00:00, 28 s",
        f"GTIDs            {GTID}",
        (
            "transactions     1, 302 bytes, 0.036 a second, at most 1 a second "
            "(2019-01-03T10:58:14+00:00)"
        ),
        "│ test.user │       1 │       0 │       0 │    70 │",
        f"│ {GTID} │ mysql-bin.000005 │      194 │   302 │    1 │       0 │",
    ):
        assert row in text
    assert "compressed" not in text


def test_compressed_transactions_have_their_table(decode_file: DecodeFile) -> None:
    text = printed(statistics_of(decode_file("recorded/transaction_compression.000001")))
    assert "compressed       1 transactions, 124 bytes for 179" in text
    assert "Events in compressed transactions" in text


def test_names_cannot_steer_the_terminal() -> None:
    statistics = Statistics()
    statistics.files["\x1b[31mred\n"] = Count(1, 2)
    statistics.server_versions["5.7\x1b]0;x\x9b1m"] = None
    text = printed(statistics)
    assert "5.7\\x1b]0;x\\x9b1m" in text
    assert ("\x1b]0" in text, "\x9b" in text) == (False, False)
    assert "\\x1b[31mred\\x0a" in text
    assert "\x1b[31m" not in text
