"""Each number and each text of a server becomes a code, which says what to do, and an end."""

from __future__ import annotations

import pytest

from connector.foundation.errors import SourceRefused, SourceUnavailable, source_dump, source_server
from connector.foundation.errors.code import End, ErrorCode
from connector.replication.server.server_errors import server_error
from tests.foundation.errors.texts import text_of

SERVER = "source db:3306"
SAID = "Access denied for user 'cdc'@'%' (using password: YES)"
NUMBERED = (
    (source_server.TOO_MANY_CONNECTIONS, (1040,)),
    (source_server.STOPPING, (1053, 1077, 1079)),
    (source_server.NETWORK, (1152, 1158, 1159, 1160)),
    (source_server.SLOW_NETWORK, (1161,)),
    (source_server.TOO_MANY_OF_ACCOUNT, (1203,)),
    (source_server.LOCK_WAIT, (1205,)),
    (source_server.DEADLOCK, (1213,)),
    (source_server.ACCOUNT_LIMIT, (1226,)),
    (source_server.QUERY_KILLED, (1317,)),
    (source_server.CONNECTION_KILLED, (1927, 3169)),
    (source_server.NO_CONNECTION, (2003,)),
    (source_server.CONNECTION_LOST, (2006, 2013)),
    (source_server.QUERY_TOO_LONG, (3024,)),
    (source_server.OFFLINE, (3032,)),
    (source_server.IDLE, (4031,)),
    (source_server.NO_SELECT, (1044, 1142, 1143)),
    (source_server.NO_REPLICATION, (1227,)),
    (source_server.WRONG_PASSWORD, (1045, 1698)),
    (source_server.HOST_BLOCKED, (1129,)),
    (source_server.HOST_NOT_ALLOWED, (1130,)),
    (source_server.NO_SUCH_POSITION, (1220,)),
    (source_server.LOGIN_PLUGIN, (1251, 2059)),
    (source_server.NO_BINARY_LOG, (1381,)),
    (source_server.PASSWORD_EXPIRED, (1820, 1862)),
    (source_server.TLS_FAILED, (2026,)),
    (source_server.ACCOUNT_LOCKED, (3118, 4151)),
    (source_server.TLS_REQUIRED, (3159,)),
    (source_server.UNKNOWN, (65535,)),
    (source_dump.SAME_SERVER_ID, (4052,)),
)


@pytest.mark.parametrize(
    ("code", "number"), [(code, number) for code, numbers in NUMBERED for number in numbers]
)
def test_a_number_says_what_to_do_and_whether_it_passes(code: ErrorCode, number: int) -> None:
    error = server_error(SERVER, number, "What it says.", logged_in=False)
    assert error.code is code
    assert error.number == number
    assert error.text == text_of(code, server=SERVER, number=number, said="What it says")
    kind = SourceUnavailable if code.end is End.RETRIED else SourceRefused
    assert type(error) is kind


def test_a_text_has_the_position_the_number_the_words_of_the_server_and_the_advice() -> None:
    assert server_error(SERVER, 1040, "Too many connections").text == (
        "source db:3306: error 1040: Too many connections; raise max_connections, or close idle "
        "connections"
    )


def test_access_denied_is_the_password_at_login_and_a_grant_after_it() -> None:
    assert server_error(SERVER, 1045, SAID, logged_in=False).code is source_server.WRONG_PASSWORD
    assert server_error(SERVER, 1045, SAID).code is source_server.NO_REPLICATION


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Could not find first log file name in binary log index file", source_dump.PURGED),
        (
            (
                "Cannot replicate because the source purged required binary logs. Replicate the "
                "missing transactions from elsewhere"
            ),
            source_dump.PURGED,
        ),
        (
            (
                "The slave is connecting using CHANGE MASTER TO MASTER_AUTO_POSITION = 1, but the "
                "master has purged binary logs containing GTIDs that the slave requires."
            ),
            source_dump.PURGED,
        ),
        (
            (
                "A replica with the same server_uuid/server_id as this replica has connected to "
                "the source; the first event 'binlog.000001' at 4"
            ),
            source_dump.SAME_SERVER_ID,
        ),
        (
            (
                "Slave has more GTIDs than the master has, using the master's SERVER_UUID. This "
                "may indicate that the end of the binary log was truncated"
            ),
            source_dump.RESET,
        ),
        (
            (
                "The replication sender thread cannot start in AUTO_POSITION mode: this server has "
                "GTID_MODE = OFF instead of ON."
            ),
            source_dump.GTID_MODE,
        ),
        (
            (
                "Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, at file "
                "./binlog.000004, position 197"
            ),
            source_dump.GTID_MODE_ON,
        ),
        (
            "Client requested master to start replication from position > file size",
            source_dump.POSITION,
        ),
        (
            "Client requested master to start replication from impossible position",
            source_dump.POSITION,
        ),
        (
            "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
            source_dump.PACKET,
        ),
        ("bogus data in log event", source_dump.DAMAGED),
        ("Misconfigured master - server_id was not set", source_dump.NO_SERVER_ID),
        ("Binary log is not open", source_dump.LOG_OFF),
        (
            (
                "Error: connecting slave requested to start from GTID 0-1-9, which is not in the "
                "master's binlog"
            ),
            source_dump.NOT_THERE,
        ),
        (
            (
                "Could not find GTID state requested by slave in any binlog files. Probably the "
                "slave state is too old and required binlog files have been purged"
            ),
            source_dump.PURGED,
        ),
        ("something new", source_server.UNKNOWN),
    ],
)
def test_each_failure_of_a_dump_has_its_advice(message: str, code: ErrorCode) -> None:
    error = server_error(SERVER, 1236, message)
    assert error.code is code
    assert error.text == text_of(code, server=SERVER, number=1236, said=message.rstrip("."))
    assert type(error) is SourceRefused


def test_an_anonymous_transaction_names_the_position_from_where_nothing_is_lost() -> None:
    said = (
        "Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file ./binlog.000003, "
        "position 197.; the first event '' at 4, the last event read from './binlog.000003' at 276"
    )
    error = server_error(SERVER, 1236, said)
    assert error.text == text_of(
        source_dump.NO_GTID_NEXT,
        server=SERVER,
        number=1236,
        said=said,
        file="binlog.000003",
        position=197,
    )
