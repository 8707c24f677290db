"""Each number and each text of a server becomes a text with what to do, and an end."""

from __future__ import annotations

import re

import pytest

from connector.errors import SourceRefused, SourceUnavailable
from connector.source.server.server_errors import server_error
from tests.errors.cause import Cause, End
from tests.errors.texts import CAUSES, text

PLACE = "source db:3306"
NUMBERED = [cause for cause in CAUSES.values() if re.fullmatch(r"server\.\d+", cause.key)]
DENIED = "Access denied for user 'cdc'@'%' (using password: YES)"


@pytest.mark.parametrize("cause", NUMBERED, ids=lambda cause: cause.key)
def test_a_number_says_what_to_do_and_whether_it_passes(cause: Cause) -> None:
    number = int(cause.key.removeprefix("server."))
    error = server_error(PLACE, number, "What it says.", logged_in=False)
    assert error.text == cause.filled(place=PLACE, said="What it says")
    kind = SourceUnavailable if cause.end is End.RETRIED else SourceRefused
    assert type(error) is kind


def test_a_number_that_nobody_foresaw_is_definite() -> None:
    error = server_error(PLACE, 65535, "Something new")
    assert error.text == text("server.unknown", place=PLACE, number=65535, said="Something new")
    assert type(error) is SourceRefused


def test_access_denied_is_the_password_at_login_and_a_grant_behind_it() -> None:
    at_login = server_error(PLACE, 1045, DENIED, logged_in=False)
    assert str(at_login) == text("server.1045", place=PLACE, said=DENIED)
    assert str(server_error(PLACE, 1045, DENIED)) == text("server.grant", place=PLACE, said=DENIED)


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("Could not find first log file name in binary log index file", "dump.purged"),
        (
            (
                "Cannot replicate because the source purged required binary logs. Replicate the "
                "missing transactions from elsewhere"
            ),
            "dump.purged",
        ),
        (
            (
                "The slave is connecting using CHANGE MASTER TO MASTER_AUTO_POSITION = 1, but the "
                "master has purged binary logs containing GTIDs that the slave requires."
            ),
            "dump.purged",
        ),
        (
            (
                "A replica with the same server_uuid/server_id as this replica has connected to "
                "the source; the first event 'binlog.000001' at 4"
            ),
            "dump.server_id",
        ),
        (
            (
                "Slave has more GTIDs than the master has, using the master's SERVER_UUID. This "
                "may indicate that the end of the binary log was truncated"
            ),
            "dump.reset",
        ),
        (
            (
                "The replication sender thread cannot start in AUTO_POSITION mode: this server has "
                "GTID_MODE = OFF instead of ON."
            ),
            "dump.gtid_mode",
        ),
        (
            "Client requested master to start replication from position > file size",
            "dump.position",
        ),
        (
            "Client requested master to start replication from impossible position",
            "dump.position",
        ),
        (
            "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
            "dump.packet",
        ),
        ("bogus data in log event", "dump.damaged"),
        ("Misconfigured master - server_id was not set", "dump.no_id"),
        ("Binary log is not open", "dump.no_log"),
        (
            (
                "Error: connecting slave requested to start from GTID 0-1-9, which is not in the "
                "master's binlog"
            ),
            "dump.not_there",
        ),
        (
            (
                "Could not find GTID state requested by slave in any binlog files. Probably the "
                "slave state is too old and required binlog files have been purged"
            ),
            "dump.purged",
        ),
        ("something new", "dump.unknown"),
    ],
)
def test_each_failure_of_a_dump_has_its_advice(message: str, key: str) -> None:
    error = server_error(PLACE, 1236, message)
    assert error.text == text(key, place=PLACE, said=message.rstrip("."))
    assert type(error) is SourceRefused
