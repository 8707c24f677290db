"""Evidence becomes `docs/coverage.md`: each event type and column type, and what proves it.

::

    python -m tests.golden.coverage        rewrites the page, and the evidence of recorded files

What no file proves is in the two lists below, with the reason and the test that stands in. A test
fails when the page is not what this module writes, when something is neither proven nor listed, and
when something listed has been proven.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from connector.binlog.columns.column import ColumnType
from connector.binlog.events.control import (
    IgnorableEvent,
    SlaveEvent,
    StartEncryptionEvent,
    TransactionContextEvent,
    ViewChangeEvent,
)
from connector.binlog.events.load import LoadEvent
from connector.binlog.events.mariadb import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.header import EventType
from tests.golden.evidence import (
    golden_evidence,
    keep_evidence,
    kept_evidence,
    recorded_evidence,
)
from tests.integration.life.servers import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import EventBody
    from tests.golden.evidence import Evidence

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "coverage.md"
RECORDED = PROJECT.parent / "shared" / "binlogs"

# The class that decodes it, and why no file has it.
UNPROVEN_EVENTS: dict[EventType, tuple[type[EventBody] | None, str]] = {
    EventType.UNKNOWN_EVENT: (None, "an error: no server writes it"),
    EventType.LOAD_EVENT: (LoadEvent, "written by 3.23 alone"),
    EventType.SLAVE_EVENT: (SlaveEvent, "never written by a release"),
    EventType.NEW_LOAD_EVENT: (LoadEvent, "written by servers before 5.0.3 alone"),
    EventType.IGNORABLE_LOG_EVENT: (IgnorableEvent, "the base of other events; none is written"),
    EventType.TRANSACTION_CONTEXT_EVENT: (
        TransactionContextEvent,
        "goes between members of Group Replication, not into a log",
    ),
    EventType.VIEW_CHANGE_EVENT: (
        ViewChangeEvent,
        "written by Group Replication up to 8.0, whose carriers have no plugin; 9.7 writes none",
    ),
    EventType.START_ENCRYPTION_EVENT: (
        StartEncryptionEvent,
        "the carriers of MariaDB have no plugin that holds keys",
    ),
    **dict.fromkeys(
        (
            EventType.WRITE_ROWS_COMPRESSED_EVENT,
            EventType.UPDATE_ROWS_COMPRESSED_EVENT,
            EventType.DELETE_ROWS_COMPRESSED_EVENT,
        ),
        (RowsEvent, "reserved: MariaDB writes v1"),
    ),
    EventType.PARTIAL_ROW_DATA_EVENT: (
        PartialRowDataEvent,
        "written by MariaDB 12.3, which nothing carries yet",
    ),
}

# What such a column is in rows, or why there is none.
UNPROVEN_COLUMNS: dict[ColumnType, str] = {
    ColumnType.DECIMAL: "an error: before 5.0, which had no rows events",
    ColumnType.NULL: "an error: no column has it",
    ColumnType.NEWDATE: "laid out by hand: servers write it as DATE",
    ColumnType.TYPED_ARRAY: "laid out by hand: 8.0.31 and 9.7.4 leave the hidden columns of "
    "multi-valued indexes out of the log (`typed_array.sql`), 8.0.15 has none",
    ColumnType.TINY_BLOB: "laid out by hand: servers write it as BLOB",
    ColumnType.MEDIUM_BLOB: "laid out by hand: servers write it as BLOB",
    ColumnType.LONG_BLOB: "laid out by hand: servers write it as BLOB",
    ColumnType.VAR_STRING: "laid out by hand: servers write it as VARCHAR",
}

_HEAD = """\
# What is decoded, and what proves it

Written by `make coverage-table`; a test compares this page with what it would write. An event
counts once its body was decoded from a log that the named server wrote, a column type once a value
that is not NULL was: the golden files of `tests/golden/files`, recorded with the SQL of
`tests/golden/sql`, whose rows are compared with the server's own SELECT and whose events with its
SHOW BINLOG EVENTS. Other files are those of the servers' and clients' public test suites; what
they prove is kept in `tests/golden/recorded_evidence.json`.
"""


_LIFE = """
## Servers on which a pipeline has lived

`tests/integration/life` plays one story on each: tables of every mode of a mirror are copied under
writes, streamed, changed by each kind of DDL, by foreign keys and by XA transactions; logs are
rotated and purged; the connector is killed in the middle of a copy and of a file, and restarted at
rest; the replica takes over. In the end each record is in Kafka once, and `verify` finds each
mirror equal. `make test` plays a short form on some of these; `make test-all` plays it at length on
all of them.
"""


def page(evidence: list[Evidence]) -> str:
    """Return the whole page."""
    return "\n".join(
        [
            _HEAD,
            "## Binlog formats\n",
            "| format | proven by |",
            "|---|---|",
            *(f"| v{version} | {_format_proof(evidence, version)} |" for version in range(1, 5)),
            "\n## Event types\n",
            "| code | event | decoded as | proven by |",
            "|---|---|---|---|",
            *(_event_line(evidence, event_type) for event_type in EventType),
            "\n## Column types\n",
            "| code | type | decoded as | proven by |",
            "|---|---|---|---|",
            *(_column_line(evidence, column_type) for column_type in ColumnType),
            _LIFE,
            *(f"- {name}" for name in KINDS),
            "",
        ]
    )


def current_evidence() -> list[Evidence]:
    """Return the evidence of the golden files, and behind it the one kept of recorded files."""
    return [*golden_evidence(), *kept_evidence()]


def _format_proof(evidence: list[Evidence], version: int) -> str:
    sources = _sources(e for e in evidence if version in e.versions)
    return sources or "laid out by hand: no server that wrote it, and no file of it, can be had"


def _event_line(evidence: list[Evidence], event_type: EventType) -> str:
    proven = [e for e in evidence if event_type in e.events]
    if proven:
        (decoded_as,) = {e.events[event_type] for e in proven}
        proof = _sources(proven)
        if all(event_type in e.refused for e in proven):
            proof += "; its rows are refused: their null bytes cannot be told from the log"
    else:
        body, reason = UNPROVEN_EVENTS[event_type]
        decoded_as = "" if body is None else body.__name__
        proof = reason if body is None else f"laid out by hand: {reason}"
    return f"| {event_type.value} | {event_type.name} | {decoded_as} | {proof} |"


def _column_line(evidence: list[Evidence], column_type: ColumnType) -> str:
    proven = [e for e in evidence if column_type in e.columns]
    decoded_as = ", ".join(sorted({name for e in proven for name in e.columns[column_type]}))
    proof = _sources(proven) or UNPROVEN_COLUMNS[column_type]
    return f"| {column_type.value} | {column_type.name} | {decoded_as} | {proof} |"


def _sources(evidence: Iterable[Evidence]) -> str:
    """`MySQL 5.7.22, 8.0.31; file`: servers by product, files only where no server proves it."""
    servers: dict[str, list[str]] = {}
    files = []
    for e in evidence:
        if e.is_server:
            product, version = e.source.split("-")
            servers.setdefault(product, []).append(version)
        else:
            files.append(f"`{e.source}`")
    if not servers:
        return ", ".join(files)
    names = {"mysql": "MySQL", "mariadb": "MariaDB"}
    return "; ".join(
        f"{names[product]} {', '.join(sorted(versions, key=_version))}"
        for product, versions in sorted(servers.items(), reverse=True)
    )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def main() -> None:
    """Rewrite the page; the evidence of recorded files as well, where they are."""
    if RECORDED.is_dir():
        keep_evidence(recorded_evidence(RECORDED))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(current_evidence()), encoding="utf-8")


if __name__ == "__main__":
    main()
