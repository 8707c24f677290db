"""The file of a pass that can be interrupted."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.errors import MirrorError
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from tests.foundation.errors.texts import shown
from tests.stream_jobs.topics import column
from verification import verify_errors
from verification.key_ranges import EqualRanges, KeyRanges
from verification.key_texts import decode_keys, encode_keys
from verification.pass_state import PassState
from verification.report import Difference, TableResult, key_of
from verification.run import what_is_compared
from verification.source_moment import SourceMoment

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.contract import SchemaColumn

AT = SourceMoment(1_772_366_399_123_000, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-42")
OF = {"pipeline": "shop", "tables": ["shop.*"]}


def schema(*columns: SchemaColumn) -> TableSchema:
    return TableSchema("shop", "t", "a", PackedSequence(0, 0), columns)


INTEGER = schema(column("id", "int", key=1))


def result(name: str, **facts: Any) -> TableResult:
    return TableResult(
        name, rows=5, compared_at="2026-03-01T12:00:00+00:00", **{"began_at": AT} | facts
    )


def different(key: int) -> Difference:
    return Difference("different", {"id": key}, {"name": "secret"}, {"name": None})


def test_finished_tables_are_there_again_without_values(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = PassState(path, OF)
    state.finish(result("shop.equal", repaired=[different(1)]))
    state.begin(result("shop.t"), ["a", "id"], AT)
    state.finish(result("shop.t", differences=[different(7), different(8)]))
    state.finish(result("shop.more", differences=[different(7)], has_more=True))
    state.finish(
        result("shop.keyless", differences=[different(7), Difference("surplus", {}, None, {})])
    )
    state.finish(result("shop.changes", unsettled=1))
    code = verify_errors.NO_ORDER
    state.finish(result("shop.wrong", error=MirrorError(code, table="shop.wrong")))
    assert "secret" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["state"]

    again = PassState(path, OF)
    names = ("equal", "t", "more", "keyless", "changes", "wrong")
    assert [again.is_equal(f"shop.{name}") for name in names] == [True] + [False] * 5
    restored = TableResult("shop.equal")
    again.restore(restored)
    assert restored.to_json(with_values=True)["rows"] == 5
    assert list(restored.lines(with_values=True)) == [
        f"shop.equal: equal: 5 rows, through {AT}, compared at 2026-03-01T12:00:00+00:00",
        '  different {"id": 1}, copied again and equal now',
    ]
    keys = again.different("shop.t", ["a", "id"], INTEGER)
    assert keys is not None
    assert list(keys.values()) == [(7,), (8,)]
    assert again.different("shop.equal", [], INTEGER) is None
    assert again.different("shop.more", [], INTEGER) is None
    assert again.different("shop.keyless", [], INTEGER) is None
    # A table that has changed is compared anew.
    assert again.different("shop.t", ["b", "id"], INTEGER) is None


def test_tables_whose_names_are_written_alike_are_two(tmp_path: Path) -> None:
    path = tmp_path / "state"
    first, other = ("a.b", "c"), ("a", "b.c")
    assert TableResult.of(first).name == TableResult.of(other).name
    PassState(path, OF).finish(TableResult.of(first, began_at=AT))
    again = PassState(path, OF)
    assert [again.is_equal(key_of(name)) for name in (first, other)] == [True, False]
    assert (again.has(key_of(other)), key_of(("shop", "t"))) == (False, "shop.t")


def test_rows_of_an_earlier_run_are_told() -> None:
    assert list(result("shop.t", rows_from_state=3).lines(with_values=True)) == [
        f"shop.t: equal: 5 rows, through {AT}",
        "  rows that were equal in an earlier run: 3",
    ]


def test_the_file_stays_until_every_table_was_compared_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = PassState(path, OF)
    state.finish(result("shop.changes", unsettled=1))
    state.end()
    assert path.exists()
    again = PassState(path, OF)
    code = verify_errors.NO_KEY
    left_out = MirrorError(code, table="shop.keyless")
    again.finish(result("shop.keyless", error=left_out, is_left_out=True))
    again.finish(result("shop.changes"))
    again.end()
    assert not path.exists()


def test_equal_ranges_are_of_what_was_compared(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = PassState(path, OF)
    ranges = KeyRanges(np.array([0]), np.array([9]))
    equal = state.begin(result("shop.t"), ["a", "id"], AT)
    equal.add(ranges, np.array([4]))
    # Not each of them is worth a write.
    state.write()

    later = AT._replace(time_us=AT.time_us + 1_000_000)
    for columns, rows, began in ((["a", "id"], 4, AT), (["b", "id"], 0, later)):
        again = result("shop.t")
        assert PassState(path, OF).begin(again, columns, later).rows == rows
        # What was equal then may not have what came since.
        assert again.began_at == began
    state.finish(result("shop.t"))
    assert PassState(path, OF).begin(result("shop.t"), ["a", "id"], AT).rows == 0


def test_what_is_known_of_a_replica_is_of_one_server(tmp_path: Path) -> None:
    path = tmp_path / "state"
    pipeline: Any = SimpleNamespace(settings=SimpleNamespace(name="shop"), server_uuid="a")
    kafka, mirror = SimpleNamespace(topic_prefix="shop"), SimpleNamespace(path="/mirror")
    job: Any = SimpleNamespace(tables=[], kafka=kafka, mirror=mirror, name="copy")
    first, other = (
        what_is_compared(pipeline, job, server, [])
        for server in cast("Any", [SimpleNamespace(name="target db:3306", uuid=u) for u in "bc"])
    )
    PassState(path, first)
    with pytest.raises(ConfigError) as caught:
        PassState(path, other)
    names = ["server of the replica"]
    assert str(caught.value) == shown(verify_errors.STATE_OTHER, path=path, names=names)


def test_a_state_of_other_arguments_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    PassState(path, OF)
    with pytest.raises(ConfigError) as caught:
        PassState(path, OF | {"tables": []})
    assert str(caught.value) == shown(verify_errors.STATE_OTHER, path=path, names=["tables"])


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 0}', '{"format": 2, "of": {}}'])
def test_another_file_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "state"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        PassState(path, OF)
    said = "it is not a file of this program"
    assert str(caught.value) == shown(verify_errors.STATE_UNUSABLE, path=path, said=said)
    assert path.read_text() == content


def test_a_file_that_cannot_be_written_or_read_is_an_error_at_once(tmp_path: Path) -> None:
    path = tmp_path / "no folder" / "state"
    with pytest.raises(ConfigError) as caught:
        PassState(path, OF)
    said = "No such file or directory"
    assert str(caught.value) == shown(verify_errors.STATE_UNUSABLE, path=path, said=said)
    with pytest.raises(ConfigError) as caught:
        PassState(tmp_path, OF)
    said = "Is a directory"
    assert str(caught.value) == shown(verify_errors.STATE_UNUSABLE, path=tmp_path, said=said)


@pytest.mark.parametrize(
    ("own", "keys"),
    [
        (column("id", "bigint", key=1, unsigned=True), [Decimal(2**64 - 1), Decimal(0)]),
        (column("id", "smallint", key=1), [-5, 7]),
        (column("id", "varchar", key=1, length=9), ["é'", ""]),
        (column("id", "varbinary", key=1, length=9), [b"\0\xff", b""]),
        (column("id", "decimal", key=1, precision=6, scale=2), [Decimal("-1.50"), Decimal(100)]),
        (column("id", "date", key=1), [date(2026, 3, 1)]),
        (
            column("id", "timestamp", key=1, fraction=6),
            [datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)],
        ),
        (column("id", "double", key=1), [0.1, -0.0]),
    ],
)
def test_keys_of_each_type_are_the_same_again(own: SchemaColumn, keys: list[object]) -> None:
    own_schema = schema(own)
    found = decode_keys(encode_keys([(key,) for key in keys]), own_schema)
    assert found is not None
    assert [repr(key) for (key,) in found.values()] == [repr(key) for key in keys] or (
        list(found.values()) == [(key,) for key in keys]
    )


def test_ranges_are_written_when_they_come(tmp_path: Path) -> None:
    path = tmp_path / "state"
    equal = EqualRanges.none()
    calls = []
    equal.on_more = lambda: calls.append(equal.rows)
    equal.add(KeyRanges(np.array([0]), np.array([9])), np.array([4]))
    assert calls == [4]
    state = PassState(path, OF)
    assert json.loads(path.read_text())["begun"] == {}
    state.begin(result("shop.t"), [], AT)
    state.write()
    assert json.loads(path.read_text())["begun"]["shop.t"]["rows"] == []
