from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from connector.binlog import log_errors
from connector.binlog.header import BinlogVersion
from connector.binlog.log_errors import EventError, LogRefused, LogTruncated
from connector.foundation.errors import ConfigError
from connector.reader import open_binlog
from tests.binlog.files.log_files import MAGIC, LogFile, three_transactions
from tests.binlog.log_bytes import event, format_description, old_query, start_v3, v1_event
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from connector.binlog.files.byte_source import LogSource
    from connector.foundation.errors.code import ErrorCode

LOG = three_transactions()
PACKED = {"gzip": gzip.compress(LOG.data, mtime=0), "zstd": zstandard.compress(LOG.data)}


def positions(source: LogSource) -> list[int]:
    with open_binlog(source) as log:
        return [each.position for each in log]


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def compress(compression: str, data: bytes) -> bytes:
    return gzip.compress(data, mtime=0) if compression == "gzip" else zstandard.compress(data)


class Trickle:
    """A pipe: it cannot seek, and gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, 3))


def test_a_path_a_file_object_and_bytes_are_the_same_log(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(LOG.data)
    with path.open("rb") as opened, path.open("rb", buffering=0) as raw:
        sources: list[LogSource] = [
            path,
            str(path),
            LOG.data,
            bytearray(LOG.data),
            memoryview(LOG.data),
            opened,
            raw,
            io.BytesIO(LOG.data),
            Trickle(LOG.data),
        ]
        for source in sources:
            assert positions(source) == LOG.positions
        assert not opened.closed


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_what_is_compressed_is_told_by_its_bytes(tmp_path: Path, compression: str) -> None:
    packed = PACKED[compression]
    path = tmp_path / "binlog.000007"
    path.write_bytes(packed)
    for source in (path, packed, Trickle(packed)):
        assert positions(source) == LOG.positions


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_pieces_may_follow_each_other(compression: str) -> None:
    halves = compress(compression, LOG.data[:100]) + compress(compression, LOG.data[100:])
    assert positions(halves) == LOG.positions


@pytest.mark.parametrize("magic", [0x184D2A50, 0x184D2A5F])
def test_frames_of_zstandard_that_have_no_data_are_passed_over(magic: int) -> None:
    # pzstd has one before each other frame.
    empty = magic.to_bytes(4, "little") + (4).to_bytes(4, "little") + b"size"
    halves = zstandard.compress(LOG.data[:100]), zstandard.compress(LOG.data[100:])
    assert positions(b"".join(empty + half for half in halves) + empty) == LOG.positions


def test_an_archive_of_zstandard_may_be_packed_with_a_large_window() -> None:
    # As of `zstd --long=28`: without a size, 2**28 bytes, and one block that is not packed.
    head = b"\x28\xb5\x2f\xfd" + b"\0" + bytes([(28 - 10) << 3])
    block = (len(LOG.data) << 3 | 1).to_bytes(3, "little") + LOG.data
    assert positions(head + block) == LOG.positions


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_bytes_that_end_too_soon_are_a_log_that_does(compression: str) -> None:
    packed = PACKED[compression]
    for end in range(4, len(packed)):
        with pytest.raises((LogTruncated, EventError)), open_binlog(packed[:end]) as log:
            list(log)


def test_a_damaged_archive_is_said_to_be_one() -> None:
    packed = bytearray(gzip.compress(LOG.data, mtime=0))
    packed[-6] ^= 1
    with (
        open_binlog(bytes(packed), name="binlog.000007") as log,
        pytest.raises(EventError) as raised,
    ):
        list(log)
    assert raised.value.text.startswith(
        f"binlog.000007:{len(LOG.data)}: cannot decode an event header: the gzip data are damaged: "
        "CRC check failed"
    )


def test_the_name_of_a_log_is_that_of_its_file(tmp_path: Path) -> None:
    for name, data in (
        ("binlog.000007", LOG.data),
        ("binlog.000008.gz", PACKED["gzip"]),
        ("binlog.000009.zst", PACKED["zstd"]),
        ("no-archive.gz", LOG.data),
    ):
        (tmp_path / name).write_bytes(data)
    for name in ("binlog.000007", "no-archive.gz"):
        with open_binlog(tmp_path / name) as log:
            assert log.name == name
            assert next(iter(log)).file == name
    with open_binlog(tmp_path / "binlog.000008.gz") as log:
        assert log.name == "binlog.000008"
    with (tmp_path / "binlog.000009.zst").open("rb") as file, open_binlog(file) as log:
        assert log.name == "binlog.000009"
    with open_binlog(LOG.data) as log:
        assert log.name == "stream"
    with open_binlog(LOG.data, name="binlog.000001") as log:
        assert log.name == "binlog.000001"


def test_a_reader_knows_format_and_position_before_the_first_event() -> None:
    with open_binlog(LOG.data) as log:
        assert log.version is BinlogVersion.V4
        assert log.format.server_version == "8.0.31"
        assert log.position == 4
        next(iter(log))
        assert log.position == LOG.positions[1]


@pytest.mark.parametrize(
    ("binlog_version", "server_version", "version"),
    [(1, b"3.23.58-log", BinlogVersion.V1), (3, b"4.0.30-log", BinlogVersion.V3)],
)
def test_formats_before_v4_are_read(
    binlog_version: int, server_version: bytes, version: BinlogVersion
) -> None:
    def encode(event_type: int, body: bytes) -> bytes:
        if version is BinlogVersion.V1:
            return v1_event(event_type, body)
        return event(event_type, body, checksum=False)

    start = encode(1, start_v3(binlog_version, server_version))
    query = encode(2, old_query(b"DROP TABLE t"))
    with open_binlog(MAGIC + start + query) as log:
        assert log.version is version
        assert [each.position for each in log] == [4, 4 + len(start)]
        assert log.position == 4 + len(start) + len(query)


@pytest.mark.parametrize(
    ("data", "code", "facts"),
    [
        (b"", log_errors.EMPTY, {}),
        (
            b"./mysql-bin.000001\n",
            log_errors.TEXT_NOT_A_LOG,
            {"found": "2e 2f 6d 79", "magic": "fe 62 69 6e"},
        ),
        (
            b"\x82\x2d\xc2\x4b",
            log_errors.NOT_A_LOG,
            {"found": "82 2d c2 4b", "magic": "fe 62 69 6e"},
        ),
        (b"ab", log_errors.TEXT_NOT_A_LOG, {"found": "61 62", "magic": "fe 62 69 6e"}),
        (b"\xfdbin" + bytes(600), log_errors.ENCRYPTED, {}),
        (b"\xfe\xfe\x0d\x01" + bytes(508), log_errors.INNODB_PAGES, {}),
        (b"\xfe\xfe\x0c\x01" + bytes(100), log_errors.GTID_INDEX, {}),
        (
            gzip.compress(PACKED["gzip"], mtime=0),
            log_errors.PACKED_TWICE,
            {"inner": "gzip", "outer": "gzip"},
        ),
        (
            zstandard.compress(PACKED["gzip"]),
            log_errors.PACKED_TWICE,
            {"inner": "gzip", "outer": "zstd"},
        ),
        (gzip.compress(b"", mtime=0), log_errors.EMPTY, {}),
    ],
)
def test_what_is_no_log_is_refused_by_what_it_is(
    data: bytes, code: ErrorCode, facts: dict[str, object]
) -> None:
    with pytest.raises(LogRefused) as raised:
        open_binlog(data, name="binlog.000007")
    assert raised.value.text == text_of(code, file="binlog.000007", **facts)


def test_a_log_in_pages_of_innodb_is_called_so() -> None:
    with pytest.raises(LogRefused) as raised:
        open_binlog(b"\xfe\xfe\x0d\x01" + bytes(508), name="binlog-000000.ibb")
    assert raised.value.text == (
        "binlog-000000.ibb: a log in pages of InnoDB (binlog_storage_engine=innodb); read it from "
        "the server, which sends plain events"
    )


def test_a_path_that_cannot_be_opened_is_the_operating_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_binlog(tmp_path / "binlog.000001")
    with pytest.raises(IsADirectoryError):
        open_binlog(tmp_path)


def test_a_file_of_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(LOG.data)
    with path.open() as file, pytest.raises(ConfigError) as raised:
        open_binlog(file)  # type: ignore[arg-type] # on purpose
    assert raised.value.text == f"{path}: opened as text; open it with 'rb'"


def test_a_log_that_is_cut_anywhere_ends_after_its_last_whole_event() -> None:
    ends = [*LOG.positions[1:], len(LOG.data)]
    for cut in range(1, len(LOG.data)):
        seen: list[int] = []
        error = None
        try:
            with open_binlog(LOG.data[:cut], name="binlog.000007") as log:
                seen.extend(each.next_position for each in log)
        except LogTruncated as raised:
            error = raised
        assert seen == [end for end in ends if end <= cut]
        if cut in ends:
            # Nothing shows that there was more.
            assert error is None
            continue
        last = seen[-1] if seen else min(cut // 4, 1) * 4
        assert error is not None
        assert (error.position, error.found) == (last, cut - last)
        assert error.text.endswith(f"every event before {last} is complete")


def test_the_recorded_half_header_is_a_truncated_log(shared_binlogs: Path) -> None:
    with pytest.raises(LogTruncated) as raised:
        open_binlog(shared_binlogs / "recorded" / "binlog_truncated_event.000001")
    assert raised.value.text == (
        "binlog_truncated_event.000001:4: the file ends inside an event: need 13 bytes, but 10 are "
        "left; every event before 4 is complete"
    )


@pytest.mark.parametrize(
    ("size", "code", "bound"),
    [
        (0, log_errors.SIZE_BELOW_HEADER, {"header": 19}),
        (18, log_errors.SIZE_BELOW_HEADER, {"header": 19}),
        (2**30 + 2**16 + 1, log_errors.SIZE_ABOVE_LIMIT, {"limit": 1073807360}),
    ],
)
def test_a_size_that_cannot_be_is_an_error(
    size: int, code: ErrorCode, bound: dict[str, object]
) -> None:
    log = LogFile()
    position = log.query("BEGIN")
    data = bytearray(log.data)
    data[position + 9 : position + 13] = size.to_bytes(4, "little")
    with open_binlog(data, name="binlog.000007") as reader, pytest.raises(EventError) as raised:
        list(reader)
    assert raised.value.text == (
        f"binlog.000007:{position}: cannot decode QUERY_EVENT: "
        f"{text_of(code, size=size, **bound)}; compare with "
        f"`mysqlbinlog --start-position={position} binlog.000007`"
    )


def test_the_first_size_is_not_believed_either() -> None:
    data = bytearray(MAGIC + format_description())
    data[13:17] = (14).to_bytes(4, "little")
    with pytest.raises(EventError, match="its header says 14 bytes, less than the 19 of a header"):
        open_binlog(data)


@pytest.mark.parametrize("packed", [False, True])
def test_memory_is_bound_by_the_bytes_of_a_file_and_not_by_a_size_in_it(packed: bool) -> None:
    log = LogFile()
    position = log.query("BEGIN")
    data = bytearray(log.data)
    data[position + 9 : position + 13] = (2**30).to_bytes(4, "little")
    source = zstandard.compress(data) if packed else bytes(data)
    tracemalloc.start()
    try:
        with open_binlog(source) as reader, pytest.raises(LogTruncated):
            list(reader)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_what_expands_a_thousandfold_is_read_in_bounded_memory(
    tmp_path: Path, compression: str
) -> None:
    # 200 queries of 1 MB that are nothing but blanks.
    log = LogFile()
    end = len(log.data)
    log.query("BEGIN" + " " * 1_000_000)
    data = LOG.data[:end] + 200 * log.data[end:]
    path = tmp_path / "binlog.000001"
    path.write_bytes(compress(compression, data))
    assert path.stat().st_size < len(data) / 500
    del data
    tracemalloc.start()
    try:
        with open_binlog(path) as reader:
            assert sum(1 for _ in reader) == 201
        assert tracemalloc.get_traced_memory()[1] < 24 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_bytes_that_are_damaged_are_an_error_with_their_position() -> None:
    data = bytearray(LOG.data)
    position = LOG.positions[2]
    data[position + 25] ^= 0xFF
    with open_binlog(data, name="binlog.000007") as log, pytest.raises(EventError) as raised:
        list(log)
    assert (raised.value.file, raised.value.position) == ("binlog.000007", position)
    with open_binlog(data, verify_checksum=False) as log:
        assert len(list(log)) == len(LOG.positions)


def test_closing_closes_what_was_opened_here(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(PACKED["gzip"])
    before = open_files()
    with open_binlog(path) as log:
        next(iter(log))
    log.close()
    with pytest.raises(LogRefused):
        open_binlog(Path(__file__))
    assert open_files() == before


def test_what_is_left_of_a_closed_log_is_not_taken_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(LOG.data)
    with open_binlog(path) as log:
        changes = log.row_changes()
        next(changes)
    with pytest.raises(ConfigError) as raised:
        list(changes)
    assert raised.value.text == (
        f"binlog.000007:{LOG.positions[5]}: the log was closed before its end; read it inside of "
        "`with`"
    )
    with open_binlog(path) as log:
        events = iter(log)
        assert len(list(events)) == len(LOG.positions)
    assert list(events) == []
