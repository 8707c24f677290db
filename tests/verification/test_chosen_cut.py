"""Which cut a text names, so that nothing that has changed since then is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.cuts import cut_errors
from stream_jobs.errors import MirrorError
from tests.foundation.errors.texts import shown
from tests.verification.past import Past
from verification import verify_errors
from verification.cut_changes import parse_cut

if TYPE_CHECKING:
    from pathlib import Path

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
CUTS = 9


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """Cut n is at second n of 1970, at position n00, and has the first n transactions."""
    past = Past(tmp_path)
    for number in range(CUTS):
        past.write({1: number})
    # The job removes old ones.
    past.store.remove(1)
    return past


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4", 4),
        ("1970-01-01T00:00:04", 4),
        ("1970-01-01 00:00:04.999+00:00", 4),
        ("1970-01-01T01:00:04+01:00", 4),
        ("2100-01-01", CUTS),
        ("binlog.000007:400", 4),
        ("binlog.000007:499", 4),
        (f"{SERVER}:1-4", 4),
        # Between a GTID and the next cut are changes.
        (f"{SERVER}:4", 3),
        (f"{SERVER}:1-4,00000000-71ca-11e1-9e33-c80aa9429562:1", CUTS),
    ],
)
def test_the_last_cut_up_to_a_moment_is_taken(past: Past, text: str, number: int) -> None:
    assert parse_cut(past.storage, "/mirror", text).number == number


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1", "with the number 1"),
        ("1970-01-01T00:00:01", "up to 1970-01-01T00:00:01+00:00"),
        ("binlog.000007:100", "up to binlog.000007:100"),
        ("binlog.000008:4", "up to binlog.000008:4"),
        (f"{SERVER}:2", f"up to {SERVER}:2"),
    ],
)
def test_a_cut_that_is_not_there_any_more_is_an_error(past: Past, text: str, wanted: str) -> None:
    with pytest.raises(MirrorError) as caught:
        parse_cut(past.storage, "/mirror", text)
    assert str(caught.value) == shown(cut_errors.NO_CUT, path="/mirror", wanted=wanted)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0-1-1001", 2),
        ("0-2-991", 3),
        # It may have come before 0-1-1001, or after it.
        ("0-2-990", 1),
        ("0-1-1500", 2),
        ("0-2-1500", 4),
    ],
)
def test_numbers_of_two_servers_of_mariadb_do_not_say_what_a_cut_has(
    past: Past, text: str, number: int
) -> None:
    """Without gtid_strict_mode, servers number the transactions of a domain independently."""
    for each in past.store.read_all():
        past.store.remove(each.number)
        if each.number < 6:
            gtid = ("0-2-989", "0-1-1001", "0-2-991", "0-2-992")[each.number - 2]
            assert past.store.put(
                replace(each, number=each.number - 1, gtid=gtid, flavour="mariadb")
            )
    assert parse_cut(past.storage, "/mirror", text).number == number


def test_a_text_that_names_no_cut_is_an_error(past: Past) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cut(past.storage, "/mirror", "yesterday")
    assert str(caught.value) == shown(verify_errors.NOT_A_CUT, text="yesterday")
