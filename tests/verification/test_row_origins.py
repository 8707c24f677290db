"""Since which version and cut the mirror has rows as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from stream_jobs.delta.housekeeping import write_checkpoint
from tests.verification.past import NAME, Past
from verification.digests import digest_pairs, row_digests
from verification.key_ranges import KeyNumber
from verification.row_origins import RowLocations, RowOrigins

if TYPE_CHECKING:
    from pathlib import Path

    from verification.cut_facts import RowOrigin
    from verification.digests import Digest

NUMBER = KeyNumber("`id`", is_unsigned=False)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def digest(key: int) -> Digest:
    (found,) = digest_pairs(row_digests(pa.table({"id": pa.array([key], pa.int32())}), ["id"]))
    return found


def since(past: Past, *keys: int) -> list[RowOrigin]:
    """Since when the rows of keys are as they are, in their order."""
    wanted = {digest(key): (key,) for key in keys}
    found = RowOrigins(past.side, past.store, NAME, NUMBER).of(wanted)
    # The statistics of files spare reads, and change no answer.
    assert RowOrigins(past.side, past.store, NAME, None).of(wanted) == found
    return [found[digest(key)] for key in keys]


def versions(past: Past, *keys: int) -> list[int]:
    return [each.version for each in since(past, *keys)]


def go_on(past: Past, count: int) -> None:
    """Change rows that nobody asks for."""
    for number in range(count):
        past.write({1000 + number % 3: number})


def test_each_row_has_the_cut_that_brought_it_or_took_it_away(past: Past) -> None:
    past.write(dict.fromkeys(range(100), 0))
    go_on(past, 20)
    stale = past.write({7: 1})
    go_on(past, 5)
    gone = past.write({8: None})
    go_on(past, 11)
    surplus = past.write({200: 1})
    go_on(past, 3)
    found = since(past, 7, 8, 200)
    assert [each.version for each in found] == [stale, gone, surplus]
    assert [each.cut.number for each in found if each.cut] == [stale, gone, surplus]
    assert str(found[0]) == (
        "cut 22 (3e11fa47-71ca-11e1-9e33-c80aa9429562:1-22, 1970-01-01T00:00:22.000+00:00)"
    )
    assert found[0].to_json() == {
        "cut": 22,
        "transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-22",
        "seq": f"{22:038d}",
        "time": "1970-01-01T00:00:22.000+00:00",
        "cut_version": 22,
        "version": 22,
        "or_earlier": False,
    }


def test_a_row_that_comes_back_with_its_old_values_is_there_since_it_came_back(past: Past) -> None:
    past.write({1: 1, 2: 2})
    go_on(past, 9)
    past.write({1: None})
    go_on(past, 2)
    back = past.write({1: 1})
    go_on(past, 30)
    assert versions(past, 1) == [back]


def test_a_row_that_was_there_for_a_time_is_missing_since_it_was_lost(past: Past) -> None:
    go_on(past, 10)
    past.write({1: 1})
    go_on(past, 5)
    lost = past.write({1: None})
    go_on(past, 20)
    assert versions(past, 1) == [lost]


def test_a_row_that_is_only_moved_is_as_old_as_before(past: Past) -> None:
    past.write(dict.fromkeys(range(10), 0))
    changed = past.write({5: 1})
    go_on(past, 4)
    past.rewrite(data_change=False)
    go_on(past, 4)
    past.rewrite(data_change=True)
    go_on(past, 7)
    assert versions(past, 5) == [changed]


def test_a_version_of_another_program_is_named_and_the_cut_after_it(past: Past) -> None:
    past.write({1: 1})
    own = past.write({1: 2}, cut=False)
    first = since(past, 1)
    go_on(past, 3)
    then = since(past, 1)
    assert [str(each) for each in (*first, *then)] == [
        "version 2, which is in no cut yet",
        f"version 2, which no cut names; {then[0].cut} is the first later one",
    ]
    assert then[0].cut is not None
    assert then[0].cut.number == 2
    assert first[0].to_json()["cut"] is None
    assert own == 2


def test_what_is_older_than_the_first_cut_is_so_or_earlier(past: Past) -> None:
    past.write({1: 1}, cut=False)
    past.write({2: 1}, cut=False)
    go_on(past, 10)
    (found, missing) = since(past, 1, 77)
    assert found == missing
    assert (found.version, found.or_earlier) == (3, True)
    assert str(found).startswith("cut 1 (")
    assert str(found).endswith(") or earlier")


def test_a_table_without_cuts_is_followed_to_the_first_version_of_its_log(past: Past) -> None:
    past.write({1: 1}, cut=False)
    past.write({2: 1}, cut=False)
    (one, two) = since(past, 1, 3)
    assert (one.version, one.or_earlier, one.cut) == (1, False, None)
    assert (two.version, two.or_earlier) == (0, True)


def test_versions_whose_files_are_gone_end_the_search(past: Past) -> None:
    past.write({1: 1, 2: 1})
    (old,) = past.delta.snapshot.files.values()
    past.write({1: 2, 2: 2})
    past.rewrite(data_change=False)
    after = past.write({3: 3})
    past.storage.delete(f"shop/t/{old.path}")
    go_on(past, 6)
    found = since(past, 2, 3)
    assert [(each.version, each.or_earlier) for each in found] == [(2, True), (after, False)]


def test_versions_that_were_cleaned_from_the_log_end_the_search(past: Past) -> None:
    past.write({1: 1})
    go_on(past, 3)
    write_checkpoint(past.delta)
    for version in range(4):
        past.storage.delete(f"shop/t/_delta_log/{version:020d}.json")
    go_on(past, 3)
    (found,) = since(past, 1)
    assert (found.version, found.or_earlier) == (4, True)


def test_cuts_without_the_table_are_passed_over(past: Past) -> None:
    past.write({1: 1})
    changed = past.write({1: 2}, cut=False)
    for _ in range(6):
        past.add_cut(has_table=False)
    go_on(past, 4)
    (found,) = since(past, 1)
    assert (found.version, found.cut_version) == (changed, changed + 1)
    assert found.cut is not None
    assert found.cut.number == 8


def test_a_damaged_cut_keeps_no_comparison_from_its_end(past: Past) -> None:
    past.write({1: 1})
    past.storage.write("_cdc/cuts/00000000000000000001.json", b"{")
    assert RowOrigins(past.side, past.store, NAME, NUMBER).of({digest(1): (1,)}) == {}


def test_a_version_that_is_not_there_tells_nothing(past: Past) -> None:
    past.write(dict.fromkeys(range(50), 0))
    rows = RowLocations(past.side, {digest(1): (1,)}, NUMBER)
    places = rows.places(1, digest(1))
    assert places is not None
    assert len(places) == 1
    assert rows.places(0, digest(1)) == frozenset()
    assert rows.places(2, digest(1)) is None
