"""Rows of the log have the values of a SELECT."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.stream_jobs.topics import column
from verification.foreign.logged_rows import _stored


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("name", ["char", "varchar", "text"])
@pytest.mark.parametrize(
    ("charset", "data"),
    [("latin1", b"\xe9"), ("utf8mb4", "é".encode()), ("cp1251", "й".encode("cp1251"))],
)
def test_a_text_of_a_log_without_character_sets_is_read_by_the_definition(
    kind: pa.DataType, name: str, charset: str, data: bytes
) -> None:
    own = column("note", name) | {"charset": charset}
    values = _stored(own, pa.array([data, None, b""], kind), pa.string())
    assert values.to_pylist() == ["й" if charset == "cp1251" else "é", None, ""]
