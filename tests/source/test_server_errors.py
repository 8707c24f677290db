from __future__ import annotations

import pytest

from connector.errors import SourceRefused, SourceUnavailable
from connector.source.server_errors import server_error

START_AGAIN = (
    "what was not read is gone from this server: give the pipeline a new name and start over, "
    "or point it at a replica that still has the log"
)
RESET = (
    "the server's logs were reset, or their end was lost: give the pipeline a new name and start "
    "over, or point it at a server that has the transactions"
)
NOT_THERE = (
    "this server does not have what was read last: point the pipeline at the server that has it, "
    "or give it a new name and start over"
)


@pytest.mark.parametrize(
    "number", [1040, 1053, 1158, 1159, 1160, 1161, 1203, 1226, 1317, 1927, 2006, 2013, 3169, 4031]
)
def test_conditions_that_pass_are_transient(number: int) -> None:
    assert isinstance(server_error("source db:3306", number, "text"), SourceUnavailable)


@pytest.mark.parametrize("number", [1044, 1045, 1130, 1227, 1236, 1381, 3118, 4052, 65535])
def test_refusals_and_numbers_nobody_foresaw_are_definite(number: int) -> None:
    assert isinstance(server_error("source db:3306", number, "text"), SourceRefused)


def test_the_text_says_where_what_and_what_to_do() -> None:
    error = server_error("source db:3306", 1040, "Too many connections.")
    assert str(error) == (
        "source db:3306: error 1040: Too many connections: raise max_connections, or close idle "
        "connections"
    )


def test_access_denied_is_the_password_at_login_and_a_grant_behind_it() -> None:
    denied = "Access denied for user 'cdc'@'%' (using password: YES)"
    assert str(server_error("source db:3306", 1045, denied, logged_in=False)) == (
        f"source db:3306: error 1045: {denied}: check source.user and source.password, and that "
        "the account may log in from this host"
    )
    assert str(server_error("source db:3306", 1045, denied)) == (
        f"source db:3306: error 1045: {denied}: GRANT REPLICATION SLAVE, REPLICATION CLIENT ON "
        "*.* TO the account of source.user; see configs/mysql/grants.sql"
    )


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ("Could not find first log file name in binary log index file", START_AGAIN),
        (
            (
                "Cannot replicate because the source purged required binary logs. Replicate the "
                "missing transactions from elsewhere"
            ),
            START_AGAIN,
        ),
        (
            (
                "The slave is connecting using CHANGE MASTER TO MASTER_AUTO_POSITION = 1, but the "
                "master has purged binary logs containing GTIDs that the slave requires."
            ),
            START_AGAIN,
        ),
        (
            (
                "A replica with the same server_uuid/server_id as this replica has connected to "
                "the source; the first event 'binlog.000001' at 4"
            ),
            "give each replica and each pipeline a source.server_id of its own",
        ),
        (
            (
                "Slave has more GTIDs than the master has, using the master's SERVER_UUID. This "
                "may indicate that the end of the binary log was truncated"
            ),
            RESET,
        ),
        (
            (
                "The replication sender thread cannot start in AUTO_POSITION mode: this server has "
                "GTID_MODE = OFF instead of ON."
            ),
            "SET GLOBAL gtid_mode back to ON, or give the pipeline a new name and start over",
        ),
        (
            "Client requested master to start replication from position > file size",
            "choose a position inside the file",
        ),
        (
            "Client requested master to start replication from impossible position",
            "choose a position inside the file",
        ),
        (
            "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
            "SET GLOBAL max_allowed_packet = 1073741824 on the server",
        ),
        (
            "bogus data in log event",
            "the binlog file is damaged, or no event starts at the position: look with mysqlbinlog",
        ),
        ("Misconfigured master - server_id was not set", "set server_id on the server"),
        ("Binary log is not open", "start the server with log_bin"),
        (
            (
                "Error: connecting slave requested to start from GTID 0-1-9, which is not in the "
                "master's binlog"
            ),
            NOT_THERE,
        ),
        (
            (
                "Could not find GTID state requested by slave in any binlog files. Probably the "
                "slave state is too old and required binlog files have been purged"
            ),
            START_AGAIN,
        ),
        ("something new", "look the number up in the server's error reference"),
    ],
)
def test_each_failure_of_a_dump_has_its_advice(message: str, fix: str) -> None:
    error = server_error("source db:3306", 1236, message)
    assert str(error) == f"source db:3306: error 1236: {message.rstrip('.')}: {fix}"
