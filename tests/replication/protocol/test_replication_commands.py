from __future__ import annotations

from connector.binlog.gtid import GtidSet
from connector.replication.protocol.commands import (
    ComBinlogDump,
    ComBinlogDumpGtid,
    ComRegisterSlave,
    ComTableDump,
    DumpFlags,
)


def test_register_slave_introduces_the_replica_without_user_and_password() -> None:
    command = ComRegisterSlave(server_id=0x01020304, host="cdc-1", port=3306)
    assert command.encode() == bytes.fromhex(
        "15"  # COM_REGISTER_SLAVE
        "04030201"  # server_id
        "05 6364632d31"  # host
        "00"  # user
        "00"  # password
        "ea0c"  # port
        "00000000"  # rank
        "00000000"  # master_id
    )


def test_a_host_longer_than_the_server_reads_is_cut() -> None:
    encoded = ComRegisterSlave(server_id=1, host="h" * 61).encode()
    assert encoded[5:66] == b"\x3c" + b"h" * 60
    assert len(encoded) == 1 + 4 + 61 + 1 + 1 + 2 + 4 + 4


def test_binlog_dump_names_file_and_position() -> None:
    command = ComBinlogDump(server_id=7, file="binlog.000042", position=1187)
    assert command.encode() == bytes.fromhex(
        "12"  # COM_BINLOG_DUMP
        "a3040000"  # position
        "0000"  # flags
        "07000000"  # server_id
        "62696e6c6f672e303030303432"  # file, no terminator
    )


def test_binlog_dump_without_a_file_starts_at_the_first() -> None:
    command = ComBinlogDump(server_id=7, file="", flags=DumpFlags.NON_BLOCK)
    assert command.encode() == bytes.fromhex("12 04000000 0100 07000000")


def test_binlog_dump_gtid_carries_the_set_of_what_is_here() -> None:
    gtids = GtidSet.parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5")
    command = ComBinlogDumpGtid(server_id=7, gtid_set=gtids)
    assert command.encode() == bytes.fromhex(
        "1e"  # COM_BINLOG_DUMP_GTID
        "0000"  # flags
        "07000000"  # server_id
        "00000000"  # length of the file name
        "0400000000000000"  # position
        "30000000"  # length of the set
        "0100000000000000"  # one source
        "3e11fa4771ca11e19e33c80aa9429562"
        "0100000000000000"  # one interval
        "0100000000000000 0600000000000000"
    )


def test_binlog_dump_gtid_carries_a_tagged_set_and_its_flags() -> None:
    gtids = GtidSet.parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:2:nightly:1-3")
    command = ComBinlogDumpGtid(server_id=0, gtid_set=gtids, flags=DumpFlags.NON_BLOCK)
    assert command.encode() == bytes.fromhex(
        "1e"  # COM_BINLOG_DUMP_GTID
        "0100"  # flags
        "00000000"  # server_id
        "00000000"  # length of the file name
        "0400000000000000"  # position
        "61000000"  # length of the set
        "0102000000000001"  # tagged, two entries
        "3e11fa4771ca11e19e33c80aa9429562"
        "00"  # no tag
        "0100000000000000 0200000000000000 0300000000000000"
        "3e11fa4771ca11e19e33c80aa9429562"
        "0e 6e696768746c79"  # nightly
        "0100000000000000 0100000000000000 0400000000000000"
    )


def test_table_dump_names_database_and_table() -> None:
    assert ComTableDump("db", "tä").encode() == bytes.fromhex("13 02 6462 03 74c3a4")
