"""Each number and each text of a server becomes a code, which says what to do, and an end."""

from __future__ import annotations

import pytest

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.errors.code import End, ErrorCode
from connector.replication import answer_errors
from connector.replication.server.server_error_numbers import server_error
from tests.foundation.errors.texts import text_of

SERVER = "source db:3306"
SAID = "Access denied for user 'cdc'@'%' (using password: YES)"
NUMBERED = (
    (answer_errors.TOO_MANY_CONNECTIONS, (1040,)),
    (answer_errors.STOPPING, (1053, 1077, 1079)),
    (answer_errors.NETWORK, (1152, 1158, 1159, 1160)),
    (answer_errors.SLOW_NETWORK, (1161,)),
    (answer_errors.TOO_MANY_OF_ACCOUNT, (1203,)),
    (answer_errors.LOCKS, (1205,)),
    (answer_errors.LOCKS, (1213,)),
    (answer_errors.ACCOUNT_LIMIT, (1226,)),
    (answer_errors.KILLED, (1317,)),
    (answer_errors.KILLED, (1927, 3169)),
    (answer_errors.NO_CONNECTION, (2003,)),
    (answer_errors.CONNECTION_LOST, (2006, 2013)),
    (answer_errors.QUERY_TOO_LONG, (1969, 3024)),
    (answer_errors.OFFLINE, (3032,)),
    (answer_errors.IDLE, (4031,)),
    (answer_errors.NO_SELECT, (1044, 1142, 1143)),
    (answer_errors.NO_REPLICATION, (1227,)),
    (answer_errors.WRONG_PASSWORD, (1045, 1698)),
    (answer_errors.HOST_BLOCKED, (1129,)),
    (answer_errors.HOST_NOT_ALLOWED, (1130,)),
    (answer_errors.NO_SUCH_POSITION, (1220,)),
    (answer_errors.LOGIN_PLUGIN, (1251, 2059)),
    (answer_errors.NO_BINARY_LOG, (1381,)),
    (answer_errors.PASSWORD_EXPIRED, (1820, 1862)),
    (answer_errors.TLS_FAILED, (2026,)),
    (answer_errors.ACCOUNT_LOCKED, (3118, 4151)),
    (answer_errors.TLS_REQUIRED, (3159,)),
    (answer_errors.UNKNOWN, (1047, 65535)),
    (answer_errors.SAME_SERVER_ID, (4052,)),
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


def test_a_node_of_a_galera_cluster_that_has_no_majority_is_waited_for() -> None:
    said = "WSREP has not yet prepared node for application use"
    error = server_error(SERVER, 1047, said)
    assert type(error) is SourceUnavailable
    code = answer_errors.NOT_IN_CLUSTER
    assert error.text == text_of(code, server=SERVER, number=1047, said=said)


def test_access_denied_is_the_password_at_login_and_a_grant_after_it() -> None:
    assert server_error(SERVER, 1045, SAID, logged_in=False).code is answer_errors.WRONG_PASSWORD
    assert server_error(SERVER, 1045, SAID).code is answer_errors.NO_REPLICATION


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Could not find first log file name in binary log index file", answer_errors.PURGED),
        (
            (
                "Cannot replicate because the source purged required binary logs. Replicate the "
                "missing transactions from elsewhere"
            ),
            answer_errors.PURGED,
        ),
        (
            (
                "The slave is connecting using CHANGE MASTER TO MASTER_AUTO_POSITION = 1, but the "
                "master has purged binary logs containing GTIDs that the slave requires."
            ),
            answer_errors.PURGED,
        ),
        (
            (
                "A replica with the same server_uuid/server_id as this replica has connected to "
                "the source; the first event 'binlog.000001' at 4"
            ),
            answer_errors.SAME_SERVER_ID,
        ),
        (
            (
                "Slave has more GTIDs than the master has, using the master's SERVER_UUID. This "
                "may indicate that the end of the binary log was truncated"
            ),
            answer_errors.RESET,
        ),
        (
            (
                "The replication sender thread cannot start in AUTO_POSITION mode: this server has "
                "GTID_MODE = OFF instead of ON."
            ),
            answer_errors.GTID_MODE,
        ),
        (
            (
                "Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, at file "
                "./binlog.000004, position 197"
            ),
            answer_errors.GTID_MODE_ON,
        ),
        (
            "Client requested master to start replication from position > file size",
            answer_errors.POSITION,
        ),
        (
            "Client requested master to start replication from impossible position",
            answer_errors.POSITION,
        ),
        (
            "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
            answer_errors.PACKET,
        ),
        ("bogus data in log event", answer_errors.DAMAGED),
        ("Misconfigured master - server_id was not set", answer_errors.NO_SERVER_ID),
        ("Binary log is not open", answer_errors.NO_BINARY_LOG),
        (
            (
                "Error: connecting slave requested to start from GTID 0-1-9, which is not in the "
                "master's binlog"
            ),
            answer_errors.NOT_THERE,
        ),
        (
            (
                "Could not find GTID state requested by slave in any binlog files. Probably the "
                "slave state is too old and required binlog files have been purged"
            ),
            answer_errors.PURGED,
        ),
        ("something new", answer_errors.UNKNOWN),
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
        answer_errors.NO_GTID_NEXT,
        server=SERVER,
        number=1236,
        said=said,
        file="binlog.000003",
        position=197,
    )
