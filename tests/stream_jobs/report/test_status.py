"""What `binlog-connector-mirror status` shows of thousands of tables."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from connector.foundation.table_view import ALL_TABLES, TableView
from stream_jobs.run import overview
from stream_jobs.run.arguments import parsed
from stream_jobs.run.overview import TableStatus
from stream_jobs.run.status import print_tables


def ago(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() - seconds, UTC).isoformat(timespec="seconds")


def many(count: int) -> list[TableStatus]:
    """Return tables by name, the last of which changed last, and some of which need somebody."""
    tables = [
        TableStatus(
            f"shop.t{n:04}", f"p.shop.t{n:04}", overview.CURRENT, mode="current", version=n,
            rows=50, files=1, dead_rows=0, bytes=4096, waiting=0, last_change=ago(count - n),
        )
        for n in range(count)
    ]  # fmt: skip
    tables[7].state, tables[7].code, tables[7].reason = overview.SET_ASIDE, "M225", "it is odd"
    tables[7].since = "2026-11-28T00:00:00+00:00"
    tables[9].state, tables[9].reason = overview.UNREADABLE, "it is no JSON"
    for number, seconds, waiting in ((20, 90, 5), (21, 600, 1), (22, 3, 800)):
        late = tables[number]
        late.state, late.waiting, late.waiting_since = overview.WAITING, waiting, ago(seconds)
    return tables


def printed(
    statuses: list[TableStatus], view: TableView = ALL_TABLES, width: int = 200
) -> list[str]:
    out = StringIO()
    console = Console(file=out, width=width)
    print_tables(statuses, Path("job.toml"), console, view)
    return out.getvalue().splitlines()


def test_what_is_wrong_comes_first_then_what_waits_then_what_has_changed_last() -> None:
    lines = printed(many(3000), TableView(limit=7))
    first = [line.split()[0] for line in lines[1:8]]
    assert first == [f"shop.t{n:04}" for n in (7, 9, 21, 20, 22, 2999, 2998)]
    assert lines[8:] == [
        (
            "3,000 tables: 1 set aside, 1 unreadable, 3 records wait, 2,995 current; 7 are shown: "
            "--table PATTERN chooses, --limit N and --all show more"
        ),
        "shop.t0007: set aside since 2026-11-28T00:00:00+00:00, [M225] it is odd",
        "shop.t0009: unreadable, [None] it is no JSON",
        "`binlog-connector-mirror resume job.toml TABLE` tries a table again",
    ]


def test_a_list_of_all_tables_does_not_say_how_to_see_more() -> None:
    lines = printed(many(40))
    assert len(lines) == 40 + 5
    assert lines[41] == "40 tables: 1 set aside, 1 unreadable, 3 records wait, 35 current"


def test_tables_that_are_being_loaded_are_counted_also_if_they_lack_records() -> None:
    tables = many(40)
    for number in (30, 31):
        tables[number].state = overview.LOADING
    tables[31].lost = True
    lines = printed(tables)
    # The others that cannot go on are before it.
    assert lines[3].split()[0] == "shop.t0031"
    assert "1 unreadable, 2 being loaded, 3 records wait, 33 current; 1 lack records" in lines[41]


@pytest.mark.parametrize(
    ("arguments", "pattern", "limit"),
    [
        ([], "*", 20),
        (["--all"], "*", None),
        (["--table", "shop.*", "--limit", "3"], "shop.*", 3),
    ],
)
def test_the_command_chooses_tables(arguments: list[str], pattern: str, limit: int | None) -> None:
    found = parsed(["status", "job.toml", *arguments])
    assert (found.table, None if found.all else found.limit) == (pattern, limit)


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_limit_that_shows_nothing_is_refused(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(["status", "job.toml", "--limit", text])
    assert caught.value.code == 2
    assert f"'{text}' is not a whole number of 1 or more" in capsys.readouterr().err
