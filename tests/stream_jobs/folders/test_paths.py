"""Whatever a table is called, its mirror is in its own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from connector.lake.demo.stack import read_mirror
from stream_jobs.delta.storage import checked_path
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.paths import names_of_path, table_path
from stream_jobs.tables.mirror_table import mirror_path

if TYPE_CHECKING:
    from pathlib import Path

names = st.text(min_size=1, max_size=64)


@pytest.mark.parametrize(
    ("database", "table", "path"),
    [
        ("shop", "orders", "shop/orders"),
        ("evil", "../../etc/passwd", "evil/!2E.!2F..!2Fetc!2Fpasswd"),
        ("..", ".", "!2E./!2E"),
        ("_cdc", "_delta_log", "!5Fcdc/!5Fdelta_log"),
        ("a!20b", "t$1", "a!2120b/t!241"),
        ("a b", "ä%", "a!20b/!C3!A4!25"),
    ],
)
def test_special_names_are_encoded(database: str, table: str, path: str) -> None:
    assert table_path(database, table) == path


@given(names, names)
def test_each_table_has_a_folder_below_the_one_of_its_database(database: str, table: str) -> None:
    path = checked_path(table_path(database, table))
    first, second = path.split("/")
    assert max(len(first), len(second)) <= 255
    assert first[0] not in "._"


@given(names, names)
def test_a_folder_says_whose_it_is_unless_a_name_is_too_long(database: str, table: str) -> None:
    path = table_path(database, table)
    is_short = max(map(len, path.split("/"))) < 200
    found = names_of_path(path)
    assert found == (database, table) if is_short else found in {None, (database, table)}


def test_no_name_is_that_of_a_folder_with_a_digest() -> None:
    long = "a" * 300
    path = table_path("d", long)
    assert names_of_path(path) is None
    assert table_path("d", path.removeprefix("d/")) != path
    longest = "a" * 199
    assert names_of_path(table_path("d", longest)) == ("d", longest)


def test_a_folder_that_was_made_earlier_says_whose_it_is() -> None:
    assert names_of_path("shop/a%20b%21") == ("shop", "a b!")


@given(names, names)
def test_two_names_have_two_folders(one: str, other: str) -> None:
    assert (table_path("d", one) == table_path("d", other)) == (one == other)


def test_a_mirror_that_was_made_earlier_stays_where_it_is(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    assert mirror_path(storage, "shop", "a b") == "shop/a!20b"
    storage.write("shop/a%20b/_delta_log/00000000000000000000.json", b"{}")
    assert mirror_path(storage, "shop", "a b") == "shop/a%20b"
    assert mirror_path(storage, "shop", "a c") == "shop/a!20c"
    assert mirror_path(storage, "shop", "orders") == "shop/orders"


@pytest.mark.parametrize("name", ["t$1", "a b", "_t_gho", "tä", "a!b", "50%", "a'b", "a#b?c&d=e"])
def test_delta_rs_opens_the_folder_of_each_name(tmp_path: Path, name: str) -> None:
    write_deltalake(str(tmp_path / "made"), pa.table({"a": [1]}))
    path = tmp_path / table_path("d", name)
    path.parent.mkdir()
    (tmp_path / "made").rename(path)
    assert read_mirror(path).to_pylist() == [{"a": 1}]
