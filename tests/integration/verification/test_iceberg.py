"""The Iceberg table of a mirror is compared with the Delta table by its own metadata."""

from __future__ import annotations

import io
import json
import threading
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pytest
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.iceberg.puffin import Vector, puffin_file, vector_of
from tests.integration.verification.pair import pair_of
from verification.foreign.iceberg_target import IcebergTarget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair

pytestmark = pytest.mark.kafka

CHOICES: list[dict[str, Any]] = [{"match": ["*.*"], "formats": ["delta", "iceberg"]}]


def change_manifest(path: Path, change: Callable[[list[Any]], list[Any]]) -> None:
    """Write a file of Avro once more, with other records."""
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    records = change(list(reader))
    out, metadata = io.BytesIO(), {n: v for n, v in reader.metadata.items() if "avro." not in n}
    fastavro.writer(out, reader.writer_schema, records, codec="deflate", metadata=metadata)
    path.write_bytes(out.getvalue())


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)


def iceberg_of(pair: Pair, *arguments: str) -> tuple[int, Any]:
    code, report = pair.report(*arguments)
    (table,) = report["tables"]
    assert table["differences"] == []
    return code, table["iceberg"]


def rows_of_any_table(folder: Path) -> list[tuple[Any, ...]]:
    """Return the rows as `verify --table` reads a table of any writer."""
    target = IcebergTarget("iceberg:t", str(folder))
    target.refresh()
    read = pa.concat_tables(target.batches(["id", "price"])).to_pydict()
    return sorted(zip(read["id"], read["price"], strict=True))


def test_what_readers_of_iceberg_would_see_is_compared_with_the_delta_table(
    stream: Stream,
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(8, 2))")
    stream.transaction(
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)",
    )
    name = f"{stream.database}.t"
    folder = stream.directory / "mirror" / "_iceberg" / stream.database / "t" / "metadata"
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(6)
        stream.transaction("UPDATE t SET price = 20 WHERE id = 2")
        pair.catch_up(7)
        code, found = iceberg_of(pair)
        version = pair.version("t")
        assert (code, found) == (
            0,
            {
                "version": version,
                "rows": 6,
                "not_compared_because": "",
                "late_seconds": 0,
                "defects": [],
                "has_more_differences": False,
                "differences": [],
            },
        )
        assert f"  Iceberg, version {version}: the same, 6 rows" in pair.verify().stdout
        assert rows_of_any_table(folder)[:3] == [(1, 1), (2, 20), (3, 3)]
        # A manifest loses the newest file, which has one row.
        manifest = newest(folder, "*-m0.avro")
        whole = manifest.read_bytes()
        change_manifest(manifest, lambda records: records[1:])
        assert iceberg_of(pair)[1]["differences"] == [{"kind": "missing", "key": {"id": 2}}]
        done = pair.verify(name)
        assert done.returncode == 4
        assert done.stdout.splitlines()[0].startswith(f"{name}: different: 0 of 6 rows at ")
        assert f'  Iceberg, version {version}: missing {{"id": 2}}' in done.stdout.splitlines()
        manifest.write_bytes(whole)
        # A vector has another row.
        puffin = newest(folder, "*.puffin")
        content = puffin.read_bytes()
        footer = json.loads(content[content.rindex(b"PFA1", 0, -4) + 4 : -12])
        (blob,) = footer["blobs"]
        place = slice(blob["offset"], blob["offset"] + blob["length"])
        dead = deletion_vectors.decode(vector_of(content[place]))
        (position,) = dead
        other = deletion_vectors.encode(BitMap([(position + 1) % 6]))
        changed, _ = puffin_file([Vector(blob["properties"]["referenced-data-file"], other, 1)])
        puffin.write_bytes(changed)
        code, found = iceberg_of(pair)
        assert (code, found["defects"]) == (4, [])
        assert found["differences"] == [
            {"kind": "missing", "key": {"id": 3}},
            {"kind": "surplus", "key": {"id": 2}},
        ]
        # A bit has changed.
        puffin.write_bytes(content[:30] + bytes([content[30] ^ 1]) + content[31:])
        code, found = iceberg_of(pair)
        (defect,) = found["defects"]
        assert f"{puffin.name} has no deletion vector of " in defect
        puffin.unlink()
        (defect,) = iceberg_of(pair)[1]["defects"]
        assert f"{puffin.name} is missing, with the deletion vector of " in defect
        puffin.write_bytes(content)
        # Files of metadata are lost.
        manifest.unlink()
        code, found = iceberg_of(pair)
        assert (code, len(found["defects"])) == (4, 1)
        assert f"{manifest.name} is missing" in found["defects"][0]
        manifest.write_bytes(whole)
        assert iceberg_of(pair)[0] == 0


def test_columns_and_counts_are_compared_and_a_table_that_is_not_published_is_not_finished(
    stream: Stream,
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    stream.transaction("INSERT INTO t VALUES (1), (2)")
    folder = stream.directory / "mirror" / "_iceberg" / stream.database / "t" / "metadata"
    with pair_of(stream) as pair:
        pair.catch_up(2)
        assert iceberg_of(pair) == (0, None)
        pair.tables = CHOICES
        pair.iceberg_seconds = 0.5
        code, found = iceberg_of(pair, "--patience", "0.5")
        assert (code, found["not_compared_because"]) == (1, "it is not published yet")
        late = pair.verify("--patience", "0.5")
        assert "  Iceberg: not compared: it is not published yet" in late.stdout
        # A new table is waited for.
        waiting = threading.Timer(1.0, pair.apply)
        waiting.start()
        code, found = iceberg_of(pair)
        waiting.join()
        assert (code, found["rows"]) == (0, 2)
        head = newest(folder, "*.metadata.json")
        whole = head.read_bytes()
        head.write_bytes(whole.replace(b'"name":"id"', b'"name":"ID"'))
        assert iceberg_of(pair)[1]["defects"] == ["its columns are others"]
        # It is that of a mirror that was there before.
        table_id = json.loads(whole)["table-uuid"].encode()
        head.write_bytes(whole.replace(table_id, table_id[::-1]))
        code, found = iceberg_of(pair, "--patience", "0.5")
        why = "what is published is of an earlier mirror of the table, or of another path"
        assert (code, found["not_compared_because"]) == (1, why)
        head.write_bytes(whole)
        # The next version waits: not yet too long, and then longer.
        version = pair.version("t")
        pair.damage("t", lambda rows: rows)
        assert iceberg_of(pair)[0] == 0
        commit = newest(
            stream.directory / "mirror" / stream.database / "t" / "_delta_log", "*.json"
        )
        first, _, rest = commit.read_bytes().partition(b"\n")
        info = json.loads(first)
        info["commitInfo"]["timestamp"] -= 3_600_000
        commit.write_bytes(json.dumps(info).encode() + b"\n" + rest)
        code, found = iceberg_of(pair)
        assert (code, found["version"], found["defects"]) == (1, version, [])
        assert 3600 <= found["late_seconds"] < 4000
        line = f"  Iceberg, version {version}: the next version was not published for 36"
        assert line in pair.verify().stdout
        manifest = newest(folder, "*-m0.avro")

        def wrong(records: list[Any]) -> list[Any]:
            files = [record["data_file"] for record in records]
            return [
                record | {"data_file": file | {"record_count": 3}}
                for record, file in zip(records, files, strict=True)
            ]

        change_manifest(manifest, wrong)
        (defect,) = iceberg_of(pair)[1]["defects"]
        assert defect.endswith(" has other rows: 3, not 2")
