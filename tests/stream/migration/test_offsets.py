"""Offsets of Kafka Connect become a position, or an error that says what they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import ConfigError
from connector.stream.migration import migration_errors
from connector.stream.migration.client_position import ClientPosition
from connector.stream.migration.kafka_connect import ConnectorFile, file_offset
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

OFFSET = {"ts_sec": 1, "file": "binlog.000042", "pos": 1187, "server_id": 1}
KEY = '["shop-connector",{"server":"shop"}]'


def offset_in(path: Path, text: str, **properties: str) -> ClientPosition:
    path.write_text(text)
    names = {"topic.prefix": "shop"} | properties
    return file_offset(path, ConnectorFile(path, "shop-connector", names))


def answer(offset: object, prefix: str = "shop") -> str:
    return json.dumps({"offsets": [{"partition": {"server": prefix}, "offset": offset}]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "offsets.json"


def test_an_answer_of_the_rest_interface_is_read(path: Path) -> None:
    inside = OFFSET | {"gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5,\n5f:1", "event": 3}
    assert offset_in(path, answer(OFFSET)) == ClientPosition("binlog.000042", 1187)
    assert offset_in(path, answer(inside | {"row": "2"}), **{"include.query": "true"}) == (
        ClientPosition(
            "binlog.000042",
            1187,
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5,5f:1",
            3,
            2,
            annotated=True,
        )
    )


def test_the_last_line_of_the_connector_counts(path: Path) -> None:
    lines = [
        f"{KEY}\t{json.dumps(OFFSET)}",
        f"{KEY}\t{json.dumps(OFFSET | {'pos': 2000, 'snapshot': False})}",
        '["other",{"server":"shop"}]\t{"file": "x.000001", "pos": 4}',
        'no JSON\t{"file": "x.000001", "pos": 4}',
    ]
    assert offset_in(path, "\n".join(lines)).position == 2000


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        ("{", migration_errors.NOT_OFFSETS, None),
        ("one\ntwo", migration_errors.NOT_OFFSETS, {"why": "a line is KEY, tab, VALUE"}),
        (answer({"pos": 4}), migration_errors.NOT_OFFSETS, {"why": "file is missing"}),
        (
            answer(OFFSET | {"row": "x"}),
            migration_errors.NOT_OFFSETS,
            {"why": "row is not a number"},
        ),
        (answer(OFFSET, "other"), migration_errors.NO_OFFSET, {"prefix": "shop"}),
        (f"{KEY}\tnull", migration_errors.NO_OFFSET, {"prefix": "shop"}),
        ("{}", migration_errors.NO_OFFSET, {"prefix": "shop"}),
        (
            answer(OFFSET | {"snapshot": True}),
            migration_errors.UNFINISHED_SNAPSHOT,
            {"snapshot": "true"},
        ),
        (answer(OFFSET | {"snapshot": "INITIAL"}), migration_errors.UNFINISHED_SNAPSHOT, None),
    ],
)
def test_what_is_no_offset_is_an_error(
    path: Path, text: str, code: ErrorCode, facts: dict[str, Any] | None
) -> None:
    with pytest.raises(ConfigError) as caught:
        offset_in(path, text)
    assert caught.value.code is code
    if facts is not None:
        given = {"offsets": path} | facts
        if code is not migration_errors.NOT_OFFSETS:
            given["name"] = "shop-connector"
        assert caught.value.text == text_of(code, **given)


def test_the_file_of_a_standalone_worker_is_not_text(path: Path) -> None:
    path.write_bytes(b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap")
    with pytest.raises(ConfigError) as caught:
        file_offset(path, ConnectorFile(path, "a", {"topic.prefix": "shop"}))
    why = "it is not text; ask the REST interface of the worker"
    assert caught.value.text == text_of(migration_errors.NOT_OFFSETS, offsets=path, why=why)


def test_a_file_that_cannot_be_read(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        file_offset(path, ConnectorFile(path, "a", {"topic.prefix": "shop"}))
    said = "No such file or directory"
    assert caught.value.text == text_of(migration_errors.UNREADABLE, path=path, said=said)
