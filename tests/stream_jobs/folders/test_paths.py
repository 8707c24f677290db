"""Whatever a table is called, its mirror is in its own folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_jobs.delta.storage import checked
from stream_jobs.folders.paths import table_path

names = st.text(min_size=1, max_size=64)


@pytest.mark.parametrize(
    ("database", "table", "path"),
    [
        ("shop", "orders", "shop/orders"),
        ("evil", "../../etc/passwd", "evil/%2E.%2F..%2Fetc%2Fpasswd"),
        ("..", ".", "%2E./%2E"),
        ("_cdc", "_delta_log", "%5Fcdc/%5Fdelta_log"),
        ("a b", "ä%", "a%20b/%C3%A4%25"),
    ],
)
def test_special_names_are_encoded(database: str, table: str, path: str) -> None:
    assert table_path(database, table) == path


@given(names, names)
def test_each_table_has_a_folder_below_the_one_of_its_database(database: str, table: str) -> None:
    path = checked(table_path(database, table))
    first, second = path.split("/")
    assert max(len(first), len(second)) <= 255
    assert first[0] not in "._"


@given(names, names)
def test_two_names_have_two_folders(one: str, other: str) -> None:
    assert (table_path("d", one) == table_path("d", other)) == (one == other)
