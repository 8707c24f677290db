"""docs/stat.md names every key of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conftest import PROJECT
from tests.logs.stat.test_report import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES_OF_DATA = {"events", "server_ids"}


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in NAMES_OF_DATA:
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_every_key_is_documented() -> None:
    text = (PROJECT / "docs" / "stat.md").read_text()
    assert [key for key in keys(DOCUMENT) if key not in text] == []
