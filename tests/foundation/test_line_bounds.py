"""A log line names some of what it tells of, and counts the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import structlog

from connector.cli.configuration import configure_logging
from connector.foundation.line_bounds import LINE_BYTES, bounded
from connector.foundation.settings.sections import LogSettings

if TYPE_CHECKING:
    import pytest

NAMES = [f"shop.table_{number:05}" for number in range(10_000)]


def test_a_line_that_fits_stays_as_it_is() -> None:
    facts = {"event": "e", "tables": NAMES[:100], "by": {"a": 1}, "none": None}
    assert bounded(facts) == facts


def test_lists_and_objects_keep_their_first_entries_and_the_others_are_counted() -> None:
    by_name = dict.fromkeys(NAMES, 7)
    kept = bounded({"event": "e", "few": [1, 2, 3], "tables": NAMES, "by": by_name})
    named, counted = len(kept["tables"]), len(kept["by"])
    assert (named > 50, counted > 50) == (True, True)
    assert kept["tables"] == NAMES[:named]
    assert kept["by"] == dict.fromkeys(NAMES[:counted], 7)
    assert kept["few"] == [1, 2, 3]
    assert kept["left_out"] == {"tables": 10_000 - named, "by": 10_000 - counted}
    assert len(json.dumps(kept)) < LINE_BYTES


def test_what_the_caller_has_left_out_counts_as_well() -> None:
    kept = bounded({"event": "e", "tables": NAMES[:500], "left_out": {"tables": 40, "ends": 2}})
    assert kept["left_out"] == {"tables": 540 - len(kept["tables"]), "ends": 2}


def test_one_entry_that_does_not_fit_is_left_out() -> None:
    kept = bounded({"event": "e", "by": {"a": ["x" * 5000]}})
    assert (kept["by"], kept["left_out"]) == ({}, {"by": 1})


def test_a_long_text_says_how_much_follows_but_a_gtid_set_stays_whole() -> None:
    kept = bounded({"event": "e", "error": "x" * 5000, "gtid_set": "y" * 5000})
    assert kept["error"] == "x" * 1000 + "… 4,000 characters more"
    assert kept["gtid_set"] == "y" * 5000


def test_a_line_in_ascii_alone_is_bounded_too(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        for form in ("json", "console"):
            configure_logging(LogSettings(format=form), command="run", pipeline="shop")
            names = [f"shop.größe_{number:05}\u202e" for number in range(10_000)]
            structlog.get_logger().warning("odd", tables=names, code="S101")
            text = capsys.readouterr().err
            assert 2000 < len(text.encode()) <= LINE_BYTES
            assert "left_out" in text
            if form == "json":
                line: dict[str, Any] = json.loads(text)
                assert line["cdc.left_out"]["tables"] == 10_000 - len(line["cdc.tables"])
    finally:
        structlog.reset_defaults()
