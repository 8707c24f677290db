"""Passwords change while the pipeline runs: each login asks the command again."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

import pymysql
import pytest

from local_stack import connect
from stream_jobs.replica.target import TargetSession, target_settings
from stream_jobs.settings import ReplicaSettings
from tests.integration.harness import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

FIRST, SECOND = "first-pass", "second-pass"


def end_sessions(stream: Stream, user: str) -> None:
    """Kill the sessions of an account; one may end by itself meanwhile."""
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE user = %s", (user,))
        for (number,) in cursor.fetchall():
            with suppress(pymysql.err.OperationalError):
                cursor.execute(f"KILL {number}")


def test_the_stream_goes_on_after_its_password_has_changed(
    either_stream: Stream, tmp_path: Path
) -> None:
    stream = either_stream
    user, secret = f"u{uuid.uuid4().hex[:12]}", tmp_path / "secret"
    secret.write_text(FIRST)
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        f"CREATE USER {user} IDENTIFIED BY '{FIRST}'",
        f"GRANT ALL ON *.* TO {user}",
        "INSERT INTO t VALUES (1)",
    )
    settings = {
        "source__user": user,
        "source__password": "",
        # The name of the account shows that the words are filled in.
        "source__password_command": ["sh", "-c", f'test "$0" = {user} && cat {secret}', "{user}"],
    }
    with stream.connector(**settings) as connector:
        stream.wait_for_changes(1, connector)
        stream.execute(f"ALTER USER {user} IDENTIFIED BY '{SECOND}'")
        end_sessions(stream, user)
        # While the new password is not here yet, the stream waits, too.
        wait_until(lambda: "S223" in connector.output(), connector.output)
        secret.write_text(SECOND)
        end_sessions(stream, user)
        stream.execute("INSERT INTO t VALUES (2)")
        stream.wait_for_changes(2, connector)
        # While the command fails, the stream waits; then it goes on.
        secret.unlink()
        end_sessions(stream, user)
        wait_until(lambda: "C197" in connector.output(), connector.output)
        secret.write_text(SECOND)
        stream.execute("INSERT INTO t VALUES (3)")
        stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0
        assert FIRST not in connector.output()
        assert SECOND not in connector.output()
    stream.execute(f"DROP USER {user}")


def test_the_replica_asks_for_its_password_at_each_login(
    either_stream: Stream, tmp_path: Path
) -> None:
    stream = either_stream
    user, secret = f"u{uuid.uuid4().hex[:12]}", tmp_path / "secret"
    settings = target_settings(
        ReplicaSettings.model_validate(
            {
                "url": f"mysql://{user}@{stream.source.host}:{stream.source.port}/",
                "password_command": ["cat", str(secret)],
            }
        )
    )
    stream.execute(f"CREATE USER {user} IDENTIFIED BY '{FIRST}'")
    secret.write_text(FIRST)
    TargetSession(settings).close()
    stream.execute(f"ALTER USER {user} IDENTIFIED BY '{SECOND}'")
    secret.write_text(SECOND)
    TargetSession(settings).close()
    secret.unlink()
    with pytest.raises(Exception, match=r"\[C197\] replica.password_command: cat ended with exit"):
        TargetSession(settings)
    stream.execute(f"DROP USER {user}")
