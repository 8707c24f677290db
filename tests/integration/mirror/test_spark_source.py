from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from pyspark.errors import PySparkException

from connector.binlog.columns.column import ColumnType
from connector.binlog.header import EventType
from connector.reader import open_binlog
from connector.reader.spark import register
from tests.binlog.files.log_files import (
    COLUMNS,
    SERVER,
    LogFile,
    image,
    rows_head,
    three_transactions,
)
from tests.binlog.log_bytes import table_map
from tests.integration.library_guide import Example, examples, shop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = pytest.mark.spark

LOG = three_transactions()
GOLDEN = Path(__file__).parents[2] / "golden" / "files"


@pytest.fixture(scope="module")
def binlogs(spark: SparkSession) -> SparkSession:
    """The session, which knows the format."""
    register(spark)
    return spark


def read(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    return spark.read.format("mysql_binlog").options(**options).load(str(path))


def ids(rows: list[Row]) -> list[int]:
    return [json.loads(row.after)["id"] for row in rows]


def test_a_file_becomes_its_changed_rows(binlogs: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(LOG.data)
    frame = read(binlogs, path)
    assert frame.schema.simpleString() == (
        "struct<file:string,pos:bigint,gtid:string,timestamp:timestamp,database:string,"
        "table:string,op:string,before:string,after:string,seq:bigint>"
    )
    rows = frame.collect()
    assert rows[2].asDict() == {
        "file": "binlog.000007",
        "pos": LOG.positions[9],
        "gtid": f"{SERVER}:2",
        # As the driver's own clock has it.
        "timestamp": datetime.fromtimestamp(200, UTC).astimezone().replace(tzinfo=None),
        "database": "db",
        "table": "t",
        "op": "insert",
        "before": None,
        "after": '{"id":3,"name":"c"}',
        "seq": 1,
    }
    assert ids(rows) == [1, 2, 3, 4]


def test_a_folder_is_a_task_for_each_of_its_logs(binlogs: SparkSession, tmp_path: Path) -> None:
    for number in range(1, 4):
        log = LogFile()
        log.transaction((number, "a"))
        data = {1: log.data, 2: gzip.compress(log.data), 3: zstandard.compress(log.data)}[number]
        suffix = {1: "", 2: ".gz", 3: ".zst"}[number]
        (tmp_path / f"binlog.{number:06}{suffix}").write_bytes(data)
    (tmp_path / "binlog.index").write_text("./binlog.000001\n")
    (tmp_path / "binlog.000001.idx").write_bytes(b"\xfe\xfe\x0c\x01")
    (tmp_path / "folder.000001").mkdir()
    frame = read(binlogs, tmp_path)
    assert frame.rdd.getNumPartitions() == 3
    assert [(row.file, row.after) for row in frame.sort("file").collect()] == [
        (f"binlog.00000{number}", f'{{"id":{number},"name":"a"}}') for number in (1, 2, 3)
    ]
    assert ids(read(binlogs, tmp_path / "binlog.00000[23].*").sort("file").collect()) == [2, 3]
    listed = [f"file://{tmp_path}/binlog.000003.zst", f"{tmp_path}/binlog.000001"]
    frame = binlogs.read.format("mysql_binlog").load(listed)
    assert ids(frame.sort("file").collect()) == [1, 3]


def test_the_rows_of_other_tables_are_left_out_but_count(
    binlogs: SparkSession, tmp_path: Path
) -> None:
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    log.table_map()
    log.insert((1, "a"), (2, "b"))
    log.add(EventType.TABLE_MAP_EVENT, table_map(COLUMNS).replace(b"\1t\0", b"\1u\0", 1))
    log.insert((3, "c"))
    log.query("COMMIT")
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    assert [row.seq for row in read(binlogs, path, tables="crm.*, db.t").collect()] == [0, 1]
    rows = read(binlogs, path, tables="*.u").collect()
    # Without its metadata, the log has neither names nor character sets.
    assert [(row.seq, row.after) for row in rows] == [(2, '{"@1":3,"@2":"Yw=="}')]
    # Where they cannot be counted, they have no number.
    log.query("BEGIN")
    old = table_map([(ColumnType.DECIMAL, b"")]).replace(b"\1t\0", b"\1v\0", 1)
    log.add(EventType.TABLE_MAP_EVENT, old)
    log.add(EventType.WRITE_ROWS_EVENT, (42).to_bytes(6, "little") + b"\1\0\2\0\1\1\0" + b"1")
    log.table_map()
    log.insert((4, "d"))
    path.write_bytes(log.data)
    assert [row.seq for row in read(binlogs, path, tables="db.t").collect()] == [0, 1, 0]


@pytest.mark.server
def test_the_example_of_the_guide_prints_what_it_says(
    binlogs: SparkSession, tmp_path: Path
) -> None:
    with shop(tmp_path):
        archive = tmp_path / "archive"
        archive.mkdir()
        for name in ("binlog.000001", "binlog.000002.gz"):
            (tmp_path / name).rename(archive / name)
    (example,) = (each for each in examples() if each.chapter == "Spark")
    code = example.code.replace('"archive"', repr(str(archive)))
    assert Example(example.chapter, code, "").run({"spark": binlogs}) == example.output


@pytest.mark.parametrize("folder", ["mysql-8.0.31", "mariadb-11.8.6"])
def test_every_golden_file_has_the_rows_that_the_library_reads(
    binlogs: SparkSession, folder: str
) -> None:
    golden_files = GOLDEN / folder
    expected = {}
    for path in golden_files.glob("*.0*[0-9]"):
        with open_binlog(path) as log:
            for change in log.row_changes():
                expected[change.file, str(change.gtid), change.position, change.seq] = change
    rows = read(binlogs, golden_files).collect()
    assert len(rows) == len(expected)
    for row in rows:
        change = expected[row.file, str(row.gtid), row.pos, row.seq]
        assert (row.database, row.table, row.op) == (change.database, change.table, change.op)
        for found, values in ((row.before, change.before), (row.after, change.after)):
            assert (found is None) == (values is None)
            if values is not None:
                cells: dict[str, Any] = json.loads(found)
                assert list(cells) == list(values)
                assert [cell is None for cell in cells.values()] == [
                    value is None for value in values.values()
                ]


def test_what_the_records_have_no_form_for_is_written_as_dump_does(
    binlogs: SparkSession, tmp_path: Path
) -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    log.add(
        EventType.WRITE_ROWS_EVENT,
        rows_head(after=b"\3") + image(1, "x").replace(b"x", b"\xff"),
    )
    body = (42).to_bytes(6, "little") + b"\1\0\2db\0\1t\0\2\3\xf5\1\4\3"
    log.add(EventType.TABLE_MAP_EVENT, body + b"\4\7\2id\3doc")
    diff = b"\0\3$.a\3\5\1\0"
    log.add(
        EventType.PARTIAL_UPDATE_ROWS_EVENT,
        rows_head(before=b"\1", after=b"\2")
        + b"\0\7\0\0\0\1\1\0"
        + len(diff).to_bytes(4, "little")
        + diff,
    )
    log.query("COMMIT")
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    assert [(row.before, row.after) for row in read(binlogs, path).collect()] == [
        (None, '{"id":1,"name":{"hex":"ff"}}'),
        ('{"id":7}', '{"doc":{"json_diff":[{"op":"replace","path":"$.a","value":"1"}]}}'),
    ]


def test_a_log_that_cannot_be_read_fails_the_job_with_its_position(
    binlogs: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(LOG.data[:-3])
    with pytest.raises(PySparkException) as raised:
        read(binlogs, path).collect()
    assert (
        f"binlog.000007:{LOG.positions[-1]}: the file ends inside an event: need 31 bytes, but 28 "
        f"are left; every event before {LOG.positions[-1]} is complete"
    ) in str(raised.value)
    path.write_text("no log")
    with pytest.raises(PySparkException, match=r"binlog\.000007: not a binary log: it starts with"):
        read(binlogs, path).collect()


@pytest.mark.parametrize(
    ("path", "options", "reason"),
    [
        (
            "/nowhere/binlog.*",
            {},
            (
                "/nowhere/binlog.*: there is no log; give the path of a file, of a folder of logs, "
                "or a glob"
            ),
        ),
        ("x", {"table": "t"}, "mysql_binlog has no option table; there are path, tables"),
        ("", {}, "mysql_binlog needs a path; give a file, a folder or a glob to load()"),
        (
            "s3://logs/binlog.*",
            {},
            "s3://logs/binlog.*: only files are read; mount them on the driver and the workers",
        ),
        (
            str(GOLDEN),
            {"tables": "shop"},
            "'shop' is not a pattern of tables; it looks like shop.orders or shop.*",
        ),
    ],
)
def test_options_that_name_no_log_are_refused(
    binlogs: SparkSession, path: str, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(PySparkException) as raised:
        read(binlogs, path, **options).collect()
    assert reason in str(raised.value)


def test_a_schema_of_the_users_own_is_refused(binlogs: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(LOG.data)
    with pytest.raises(PySparkException) as raised:
        binlogs.read.format("mysql_binlog").schema("file STRING").load(str(path)).collect()
    assert "mysql_binlog has a schema of its own; leave out schema(), and use select()" in str(
        raised.value
    )
