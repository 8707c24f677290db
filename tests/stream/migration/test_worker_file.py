"""Files of properties are read as java.util.Properties reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.stream.migration.kafka_connect import read_worker

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1\nb = 2\n  c:3\nd 4\ne : 5", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}),
        ("# a=1\n  ! b=2\n\n \t\nc=#3", {"c": "#3"}),
        ("a.b=x=y:z\nempty=\nalone", {"a.b": "x=y:z", "empty": "", "alone": ""}),
        ("a=one, \\\n   two\nb=3", {"a": "one, two", "b": "3"}),
        ("a=C:\\\\temp\\\\\nb=3", {"a": "C:\\temp\\", "b": "3"}),
        ("a\\=b=1\na\\ c=2", {"a=b": "1", "a c": "2"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\\", {"a": "1"}),
    ],
)
def test_properties(tmp_path: Path, text: str, found: dict[str, str]) -> None:
    path = tmp_path / "worker.properties"
    path.write_text(text)
    assert read_worker(path) == found
