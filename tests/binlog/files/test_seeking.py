from __future__ import annotations

import io
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import zstandard

from connector.binlog import argument_errors
from connector.binlog.gtid import Gtid, GtidSet
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError, LogRefused, LogTruncated
from connector.foundation.errors import ConfigError, DecodeError
from connector.reader import open_binlog, open_binlogs
from tests.binlog.files.log_files import SERVER, LogFile, three_transactions
from tests.binlog.log_bytes import event
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from connector.binlog.files.byte_source import LogSource

LOG = three_transactions()
LISTED = "`binlog-connector dump --format events` shows where events start"


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def rows(source: LogSource, **where: Any) -> list[int]:
    """The ids of the rows that are read."""
    with open_binlog(source, **where) as log:
        return [change.after["id"] for change in log.row_changes() if change.after]  # type: ignore[misc] # an INT


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("number", range(1, len(LOG.positions)))
def test_reading_begins_at_any_event_after_those_that_describe_the_log(
    number: int, compressed: bool
) -> None:
    source = zstandard.compress(LOG.data) if compressed else LOG.data
    start = LOG.positions[number]
    with open_binlog(source, start_position=start) as log:
        assert log.position == 4
        first = next(iter(log))
        assert (first.position, first.header.type_code) == (4, EventType.FORMAT_DESCRIPTION_EVENT)
        assert log.position == start
        if LOG.data[start + 4] != EventType.WRITE_ROWS_EVENT:
            assert [each.position for each in log] == LOG.positions[number:]


def test_a_file_object_is_not_read_where_it_can_seek() -> None:
    log = LogFile()
    for _ in range(40):
        log.query("x" * 100_000)

    class Counting(io.BytesIO):
        count = 0

        def read1(self, size: int | None = -1, /) -> bytes:
            data = super().read1(size)
            self.count += len(data)
            return data

    file = Counting(log.data)
    with open_binlog(file, start_position=log.positions[-1]) as reader:
        assert len(list(reader)) == 2
    assert file.count < 400_000


def test_reading_may_begin_at_the_end_of_a_log() -> None:
    with open_binlog(LOG.data, start_position=len(LOG.data)) as log:
        assert [each.position for each in log] == [4]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_position_after_the_end_is_an_error(compressed: bool) -> None:
    data = zstandard.compress(LOG.data) if compressed else LOG.data
    end = len(LOG.data)
    with pytest.raises(ConfigError) as raised:
        open_binlog(data, name="binlog.000007", start_position=end + 1)
    assert raised.value.text == (
        f"binlog.000007: start position {end + 1} lies after the end of the log, {end}; check "
        "whether it belongs to another log"
    )


@pytest.mark.parametrize("position", [-1, 0, 3])
def test_a_position_before_the_first_event_is_an_error(position: int) -> None:
    with pytest.raises(ConfigError) as raised:
        open_binlog(LOG.data, name="binlog.000007", start_position=position)
    assert raised.value.text == (
        f"binlog.000007: start position {position} lies before the first event; the "
        "first event is at 4"
    )


def test_a_position_inside_of_the_format_description_is_an_error() -> None:
    with pytest.raises(ConfigError) as raised:
        open_binlog(LOG.data, name="binlog.000007", start_position=100)
    assert raised.value.text == (
        "binlog.000007: no event starts at start position 100, which lies inside of the one from 4 "
        f"to {LOG.positions[1]}; {LISTED}"
    )


@pytest.mark.parametrize("checksum", [True, False])
def test_a_position_inside_of_an_event_of_a_file_is_told_with_the_positions_around_it(
    tmp_path: Path, checksum: bool
) -> None:
    log = LogFile(checksum=checksum)
    log.transaction((1, "a"))
    log.transaction((2, "b"))
    path = tmp_path / "binlog.000007"
    path.write_bytes(log.data)
    ends = [*log.positions[1:], len(log.data)]
    for before, behind in pairwise(ends):
        for position in range(before + 1, behind):
            with (
                pytest.raises(ConfigError) as raised,
                open_binlog(path, start_position=position) as reader,
            ):
                list(reader)
            assert raised.value.text == (
                f"binlog.000007: no event starts at start position {position}, which lies inside "
                f"of the one from {before} to {behind}; {LISTED}"
            )


def test_a_damaged_event_at_the_start_position_stays_an_error_of_its_bytes(tmp_path: Path) -> None:
    data = bytearray(LOG.data)
    position = LOG.positions[-1]
    data[-1] ^= 1
    path = tmp_path / "binlog.000007"
    path.write_bytes(data)
    with (
        open_binlog(path, start_position=position) as log,
        pytest.raises(EventError, match="checksum") as raised,
    ):
        list(log)
    assert raised.value.position == position


def test_a_cut_event_at_the_start_position_stays_an_end_inside_of_it(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000007"
    path.write_bytes(LOG.data[:-3])
    position = LOG.positions[-1]
    with (
        open_binlog(path, start_position=position) as log,
        pytest.raises(LogTruncated) as raised,
    ):
        list(log)
    assert raised.value.position == position


@pytest.mark.parametrize("checksum", [True, False])
def test_a_position_inside_of_an_event_is_noticed(checksum: bool) -> None:
    log = LogFile(checksum=checksum)
    log.transaction((1, "a"))
    log.transaction((2, "b"))
    for position in range(log.positions[1] + 1, len(log.data) - 19):
        if position in log.positions:
            continue
        with (
            pytest.raises((DecodeError, ConfigError)) as raised,
            open_binlog(log.data, start_position=position) as reader,
        ):
            list(reader)
        # The size is the first thing that is wrong, or else the advice says where it began.
        assert f"start position {position}" in raised.value.text or "ends inside" in str(
            raised.value
        )


def test_without_checksums_a_header_that_speaks_of_another_position_is_no_event() -> None:
    log = LogFile(checksum=False)
    log.query("BEGIN")
    inside = event(EventType.XID_EVENT, bytes(8), checksum=False, log_pos=77)
    position = log.query("x" * 100) + 50
    log.data = log.data[:position] + inside + log.data[position + len(inside) :]
    with open_binlog(log.data, start_position=position) as reader, pytest.raises(EventError) as e:
        list(reader)
    assert e.value.reason.text == (
        f"its header says that it ends at 77, not at {position + len(inside)}; reading began at "
        f"start position {position}: begin at the start of a transaction, at its GTID or BEGIN, as "
        "`binlog-connector dump --format events` shows it"
    )


def test_rows_whose_table_map_is_before_the_start_are_an_error_with_advice() -> None:
    position = LOG.positions[4]
    with (
        open_binlog(LOG.data, name="binlog.000007", start_position=position) as log,
        pytest.raises(EventError) as raised,
    ):
        list(log)
    assert raised.value.text == (
        f"binlog.000007:{position}: cannot decode WRITE_ROWS_EVENT: no TABLE_MAP_EVENT of this "
        f"statement describes table id 42; reading began at start position {position}: begin "
        "at the start of a transaction, at its GTID or BEGIN, as `binlog-connector dump --format "
        "events` shows it; compare with `mysqlbinlog "
        f"--start-position={position} binlog.000007`"
    )


def test_a_relay_log_is_read_by_the_last_format_before_the_start(shared_binlogs: Path) -> None:
    path = shared_binlogs / "recorded" / "binlog_savepoint.000001"
    with open_binlog(path) as log:
        whole = list(log)
    descriptions = [each for each in whole if each.header.type_code == 15]
    assert len(descriptions) == 2
    start = whole[-3].position
    with open_binlog(path, start_position=start) as log:
        tail = list(log)
    assert [each.position for each in tail] == [
        *(each.position for each in descriptions),
        *(each.position for each in whole[-3:]),
    ]


def test_a_start_after_the_start_of_encryption_is_refused() -> None:
    log = LogFile()
    log.add(EventType.START_ENCRYPTION_EVENT, b"\x01" + (1).to_bytes(4, "little") + bytes(12))
    log.query("what looks like nothing when it is encrypted")
    with pytest.raises(LogRefused, match="encrypted"):
        open_binlog(log.data, start_position=len(log.data) - 10)


def test_reading_begins_at_a_gtid() -> None:
    assert rows(LOG.data, start_gtid=f"{SERVER}:2") == [2, 3, 4]
    assert rows(LOG.data, start_gtid=Gtid(SERVER, 3)) == [4]


def test_a_gtid_that_the_log_does_not_have_is_an_error() -> None:
    with (
        pytest.raises(ConfigError) as raised,
        open_binlog(LOG.data, start_gtid=f"{SERVER}:9", name="binlog.000007") as log,
    ):
        list(log)
    assert raised.value.text == (
        f"binlog.000007: the log has no transaction {SERVER}:9; find the log that has it: "
        "`binlog-connector stat` shows the GTIDs of a log"
    )


def test_what_is_in_a_gtid_set_is_left_out() -> None:
    assert rows(LOG.data, skip_gtids=f"{SERVER}:1-2") == [4]
    assert rows(LOG.data, skip_gtids=GtidSet.parse(f"{SERVER}:2")) == [1, 4]
    assert rows(LOG.data, skip_gtids="") == [1, 2, 3, 4]


def test_a_position_of_mariadb_leaves_out_everything_up_to_it(shared_binlogs: Path) -> None:
    path = shared_binlogs / "recorded" / "mariadb-bin.000001"
    with open_binlog(path) as log:
        every = [str(transaction.gtid) for transaction in log.transactions()]
    assert every == ["0-1-1", "0-1-2"]
    with open_binlog(path, skip_gtids="0-1-1") as log:
        assert [str(transaction.gtid) for transaction in log.transactions()] == ["0-1-2"]
    with open_binlog(path, start_gtid="0-1-2") as log:
        assert [str(transaction.gtid) for transaction in log.transactions()] == ["0-1-2"]


def test_a_compressed_transaction_is_left_out_whole(shared_binlogs: Path) -> None:
    path = shared_binlogs / "recorded" / "transaction_compression.000001"
    with open_binlog(path) as log:
        (transaction,) = log.transactions()
        seconds = transaction.timestamp.timestamp()
    with open_binlog(path, start_time=at(int(seconds))) as log:
        assert len(list(log.row_changes())) == 1
    with open_binlog(path, stop_time=at(int(seconds))) as log:
        assert {each.header.type_code for each in log} == {15, 35}
    with open_binlog(path, start_time=at(int(seconds) + 1)) as log:
        # What is not of the transaction stays: format, earlier GTIDs, the end of the file.
        assert [each.header.type_code for each in log] == [15, 35, 4]


def test_a_time_selects_the_transactions_that_begin_in_it() -> None:
    assert rows(LOG.data, start_time=at(200)) == [2, 3, 4]
    assert rows(LOG.data, start_time=at(101)) == [2, 3, 4]
    assert rows(LOG.data, stop_time=at(200)) == [1]
    assert rows(LOG.data, start_time=at(150), stop_time=at(300)) == [2, 3]


def test_a_clock_that_goes_back_after_the_start_loses_nothing() -> None:
    log = LogFile()
    for number, timestamp in enumerate((100, 200, 150)):
        log.transaction((number, "a"), timestamp=timestamp)
    assert rows(log.data, start_time=at(200)) == [1, 2]


def test_a_selection_is_of_transactions_without_gtids_too() -> None:
    log = LogFile()
    log.query("CREATE TABLE t (id INT)", timestamp=100)
    log.query("DROP TABLE t", timestamp=200)
    with open_binlog(log.data, start_time=at(200)) as reader:
        assert [transaction.position for transaction in reader.transactions()] == [log.positions[2]]


def test_a_time_without_a_time_zone_is_refused() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 # on purpose
    with pytest.raises(ConfigError) as raised:
        open_binlog(LOG.data, start_time=naive)
    assert raised.value.text == (
        "start_time 2026-01-01T00:00:00 has no time zone; give one, such as timezone.utc"
    )
    with pytest.raises(ConfigError, match=r"stop_time 2026-01-01T00:00:00 has no time zone"):
        open_binlog(LOG.data, stop_time=naive)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x", "'x' is not a MariaDB GTID; it looks like 0-1-5"),
        ("0-1", "'0-1' is not a MariaDB GTID; it looks like 0-1-5"),
        (
            f"{SERVER}:1-9223372036854775806",
            (
                f"'{SERVER}:1-9223372036854775806' is not one GTID; give the GTID of the first "
                "transaction to read"
            ),
        ),
    ],
)
def test_a_text_that_is_no_gtid_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        open_binlog(LOG.data, start_gtid=text)
    assert raised.value.text == f"start_gtid: {reason}"


def test_a_set_is_not_one_gtid() -> None:
    with pytest.raises(ConfigError) as raised:
        open_binlog(LOG.data, start_gtid=f"{SERVER}:1-2")
    assert raised.value.text == text_of(argument_errors.NOT_ONE_GTID, text=f"{SERVER}:1-2")


def test_a_text_that_is_no_gtid_set_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"skip_gtids: 'x' is not a MariaDB GTID"):
        open_binlog(LOG.data, skip_gtids="x")


def test_gtids_of_the_other_flavour_are_not_taken_for_none() -> None:
    with (
        open_binlog(LOG.data, skip_gtids="0-1-5") as reader,
        pytest.raises(ConfigError) as raised,
    ):
        list(reader)
    assert raised.value.text == (
        f"skip_gtids 0-1-5 cannot be compared with {SERVER}:1, a GTID of another flavour; give "
        "GTIDs as the log has them"
    )
    with open_binlog(LOG.data, skip_gtids="") as reader:
        assert [each.position for each in reader] == LOG.positions


def test_a_gtid_that_does_not_come_before_the_stop_time_is_an_error() -> None:
    with (
        open_binlog(LOG.data, start_gtid=f"{SERVER}:3", stop_time=at(300)) as reader,
        pytest.raises(ConfigError) as raised,
    ):
        list(reader)
    assert raised.value.text == (
        f"stream: the log has no transaction {SERVER}:3 before stop_time; give a later stop_time, "
        "or another log"
    )


def test_several_logs_are_one_in_the_order_given(tmp_path: Path) -> None:
    paths = []
    log = LogFile()
    for number in (1, 2, 3):
        log = LogFile()
        log.transaction((number, "a"))
        log.transaction((number * 10, "b"))
        paths.append(tmp_path / f"binlog.{number:06}")
        paths[-1].write_bytes(log.data)
    start = log.positions[6]
    with open_binlogs([paths[2], paths[0], paths[1]], start_position=start) as reader:
        assert [(change.file, change.after) for change in reader.row_changes()] == [
            ("binlog.000003", {"id": 30, "name": "b"}),
            ("binlog.000001", {"id": 1, "name": "a"}),
            ("binlog.000001", {"id": 10, "name": "b"}),
            ("binlog.000002", {"id": 2, "name": "a"}),
            ("binlog.000002", {"id": 20, "name": "b"}),
        ]
        assert reader.name == "binlog.000002"
        assert reader.position == len(log.data)


def test_no_log_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no log is given; give a file or more$"):
        open_binlogs([])
