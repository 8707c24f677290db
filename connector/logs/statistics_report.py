"""The report of `stat`: a JSON document with fixed keys, or tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import visible

if TYPE_CHECKING:
    from connector.logs.statistics import Count, Statistics

# Without a terminal, this width has room for GTIDs and file names.
_FILE_WIDTH = 140


def as_json(statistics: Statistics) -> dict[str, Any]:
    """Return the document that docs/stat.md describes."""
    return {
        "files": [
            {"file": name, "events": count.count, "bytes": count.bytes}
            for name, count in statistics.files.items()
        ],
        "server_versions": list(statistics.server_versions),
        "server_ids": {str(key): count for key, count in statistics.server_ids.most_common()},
        "time": {
            "first": _time(statistics.first_timestamp),
            "last": _time(statistics.last_timestamp),
            "seconds": statistics.seconds,
        },
        "gtids": {
            "mysql": str(statistics.gtids),
            "mariadb": [
                {
                    "domain_id": domain_id,
                    "server_id": server_id,
                    "first": known.first,
                    "last": known.last,
                    "count": known.count,
                }
                for (domain_id, server_id), known in sorted(statistics.mariadb_gtids.items())
            ],
        },
        "events": _counts(statistics.events),
        "payloads": {
            "count": statistics.payloads.count,
            "compressed_bytes": statistics.payloads.compressed_bytes,
            "uncompressed_bytes": statistics.payloads.uncompressed_bytes,
            "events": _counts(statistics.payloads.events),
        },
        "tables": [
            {
                "schema": schema,
                "table": table,
                "inserts": count.inserts,
                "updates": count.updates,
                "deletes": count.deletes,
                "bytes": count.bytes,
                "refused_events": count.refused_events,
            }
            for (schema, table), count in sorted(
                statistics.tables.items(), key=lambda entry: entry[1].rows, reverse=True
            )
        ],
        "transactions": _transactions(statistics),
    }


def print_tables(statistics: Statistics) -> None:
    """Print the tables to standard output."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    console.print(as_tables(statistics))


def as_tables(statistics: Statistics) -> RenderableType:
    """Return the same counts as tables for a terminal."""
    document = as_json(statistics)
    parts: list[RenderableType] = [
        _facts(document),
        _table("Files", ("file", "events", "bytes"), document["files"]),
        _table(
            "Events", ("type", "count", "bytes"), _rows_of(document["events"]), total="count bytes"
        ),
    ]
    if document["payloads"]["count"]:
        inner = _rows_of(document["payloads"]["events"])
        parts.append(_table("Events in compressed transactions", ("type", "count", "bytes"), inner))
    tables = [
        count | {"table": f"{count['schema']}.{count['table']}"} for count in document["tables"]
    ]
    columns = ["table", "inserts", "updates", "deletes", "bytes"]
    if any(count["refused_events"] for count in tables):
        columns.append("refused_events")
    parts.append(_table("Tables", columns, tables))
    largest = document["transactions"]["largest"]
    columns = ["gtid", "file", "position", "bytes", "rows", "seconds"]
    parts.append(_table("Largest transactions", columns, largest))
    return Group(*parts)


def _transactions(statistics: Statistics) -> dict[str, Any]:
    seconds = statistics.seconds
    return {
        "count": statistics.transactions.count,
        "bytes": statistics.transactions.bytes,
        "per_second": round(statistics.transactions.count / seconds, 3) if seconds else None,
        "peak_per_second": statistics.peak,
        "peak_at": _time(statistics.peak_timestamp),
        "largest": [
            {
                "gtid": None if largest.span.gtid is None else str(largest.span.gtid),
                "file": largest.span.file,
                "position": largest.span.position,
                "next_position": largest.span.next_position,
                "bytes": largest.bytes,
                "rows": largest.rows,
                "seconds": largest.seconds,
            }
            for largest in statistics.largest_transactions
        ],
    }


def _time(timestamp: int | None) -> str | None:
    return None if timestamp is None else datetime.fromtimestamp(timestamp, UTC).isoformat()


def _counts(counts: Mapping[str, Count]) -> dict[str, dict[str, int]]:
    ordered = sorted(counts.items(), key=lambda entry: entry[1].bytes, reverse=True)
    return {name: {"count": count.count, "bytes": count.bytes} for name, count in ordered}


def _rows_of(counts: Mapping[str, dict[str, int]]) -> list[dict[str, Any]]:
    return [{"type": name} | count for name, count in counts.items()]


def _facts(document: dict[str, Any]) -> RenderableType:
    time, transactions, payloads = document["time"], document["transactions"], document["payloads"]
    mariadb = [
        f"{known['domain_id']}-{known['server_id']}-{known['first']}…{known['last']}"
        for known in document["gtids"]["mariadb"]
    ]
    rate = transactions["per_second"]
    facts = {
        "server versions": ", ".join(map(_visible_text, document["server_versions"])),
        "server ids": ", ".join(document["server_ids"]),
        "time": f"{time['first']} to {time['last']}, {time['seconds']:,} s"
        if time["first"]
        else "",
        "GTIDs": "\n".join([*filter(None, document["gtids"]["mysql"].split(",")), *mariadb]),
        "transactions": f"{transactions['count']:,}, {transactions['bytes']:,} bytes"
        + (f", {rate:,} a second" if rate is not None else "")
        + (
            f", at most {transactions['peak_per_second']:,} a second ({transactions['peak_at']})"
            if transactions["count"]
            else ""
        ),
        "compressed": f"{payloads['count']:,} transactions, {payloads['compressed_bytes']:,} bytes "
        f"for {payloads['uncompressed_bytes']:,}"
        if payloads["count"]
        else "",
    }
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts.items():
        if fact:
            grid.add_row(Text(name, style="bold"), Text(fact))
    return grid


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, total: str = ""
) -> RenderableType:
    table = Table(title=title, title_justify="left", title_style="bold", show_footer=bool(total))
    for column in columns:
        number = all(isinstance(row[column], int) for row in rows)
        footer = f"{sum(row[column] for row in rows):,}" if column in total.split() else ""
        table.add_column(
            column.replace("_", " "), footer, justify="right" if number else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(_cell(column, row[column])) for column in columns))
    return table


def _cell(column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        # Users copy a position into a command, so it has no thousands separators.
        return str(value) if column == "position" else f"{value:,}"
    return _visible_text(str(value))


def _visible_text(text: str) -> str:
    """Return a text of the log, whose control characters must not reach the terminal."""
    return visible(text.translate(_CONTROLS))


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
