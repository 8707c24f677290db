"""First loads by accounts and workers that lack something: tables wait, nothing is half done."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import TlsSettings
from connector.replication import answer_errors, server_errors
from connector.stream.source import table_errors
from tests.integration.harness import wait_until, wait_until_settled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.errors.code import ErrorCode
    from stream_jobs.load.range_task import RangeJob, RangeResult
    from tests.integration.database_stream import Stream
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.server, pytest.mark.kafka]

MIRROR = {"source__start": "snapshot", "snapshot__to": "mirror"}
PASSWORD = "pass word"
ROWS = 100
MONITOR = "REPLICATION CLIENT ON *.*"


@contextmanager
def account(stream: Stream, *grants: str) -> Iterator[str]:
    """Create an account with rights, and yield its name."""
    user = f"u_{stream.database}"
    stream.execute(
        f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'",
        *(f"GRANT {grant} TO {user}" for grant in grants),
    )
    try:
        yield user
    finally:
        stream.execute(f"DROP USER {user}")


def login(stream: Stream, user: str, options: str = "", **changed: Any) -> dict[str, Any]:
    address = f"mysql://{user}@{stream.source.host}:{stream.source.port}/{options}"
    own = {"url": address, "password": PASSWORD, "range_rows": 20, "pace": "full"}
    return own | {"connections": 1} | changed


@contextmanager
def tables(stream: Stream, *names: str) -> Iterator[None]:
    """Let a connector follow tables whose rows it does not read."""
    for name in names:
        rows = ", ".join(f"({number})" for number in range(ROWS))
        stream.execute(
            f"CREATE TABLE {name} (id INT PRIMARY KEY)", f"INSERT INTO {name} VALUES {rows}"
        )
    with stream.connector(**MIRROR) as connector:
        loads = "the Spark job loads the rows"
        wait_until(lambda: connector.output().count(loads) == len(names), connector.output)
        wait_until_settled(stream.broker, stream.prefix)
        yield


def waits(lines: list[dict[str, Any]]) -> list[tuple[list[str], str]]:
    """What the lines say of tables that wait, and the code."""
    return [(line["tables"], line["code"]) for line in lines if line["event"] == "load_waits"]


def waiting(stream: Stream, code: ErrorCode, *names: str) -> list[tuple[list[str], str]]:
    return [([f"{stream.database}.{name}" for name in names], code.code)]


def is_begun(stream: Stream, job: Job, name: str) -> bool:
    return Path(job.path(name, stream.database)).exists()


def assert_loaded(stream: Stream, job: Job, name: str) -> None:
    assert job.rows(name, database=stream.database) == [(number,) for number in range(ROWS)]


def test_a_table_without_select_waits_and_others_are_loaded(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, job = either_stream, job_of_either
    with (
        tables(stream, "open", "shut"),
        account(stream, MONITOR, f"SELECT ON {stream.database}.open") as user,
    ):
        lines = job.run(first_load=login(stream, user))
        assert waits(lines) == waiting(stream, table_errors.TABLE_MISSING, "shut")
        assert_loaded(stream, job, "open")
        assert not is_begun(stream, job, "shut")
        stream.execute(f"GRANT SELECT ON {stream.database}.shut TO {user}")
        lines = job.run(first_load=login(stream, user))
        assert not waits(lines)
        assert_loaded(stream, job, "shut")


def test_select_that_is_taken_away_between_ranges_stops_one_table(
    stream: Stream, own_job: Job
) -> None:
    load, read = own_job.load_range, list[str]()

    def load_range(job: RangeJob) -> RangeResult:
        read.append(job.table)
        if read.count("shut") == 3:
            stream.execute(f"REVOKE SELECT ON {stream.database}.shut FROM {user}")
        return load(job)

    own_job.load_range = load_range  # type: ignore[method-assign]
    of_tables = [f"SELECT ON {stream.database}.{name}" for name in ("open", "shut")]
    with tables(stream, "open", "shut"), account(stream, MONITOR, *of_tables) as user:
        lines = own_job.run(first_load=login(stream, user))
        assert waits(lines) == waiting(stream, table_errors.TABLE_MISSING, "shut")
        assert_loaded(stream, own_job, "open")
        assert 0 < len(own_job.rows("shut", database=stream.database)) < ROWS
        stream.execute(f"GRANT SELECT ON {stream.database}.shut TO {user}")
        own_job.run(first_load=login(stream, user))
        assert_loaded(stream, own_job, "shut")


def test_without_replication_client_nothing_is_begun(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, job = either_stream, job_of_either
    with tables(stream, "t"), account(stream, f"SELECT ON {stream.database}.*") as user:
        lines = job.run(first_load=login(stream, user))
        assert waits(lines) == waiting(stream, answer_errors.NO_REPLICATION, "t")
        assert not is_begun(stream, job, "t")
        stream.execute(f"GRANT {MONITOR} TO {user}")
        job.run(first_load=login(stream, user))
        assert_loaded(stream, job, "t")


def test_with_a_wrong_password_nothing_is_begun(stream: Stream, own_job: Job) -> None:
    with (
        tables(stream, "t"),
        account(stream, MONITOR, f"SELECT ON {stream.database}.*") as user,
    ):
        lines = own_job.run(first_load=login(stream, user, password="wrong"))
        assert waits(lines) == waiting(stream, answer_errors.WRONG_PASSWORD, "t")
        assert not is_begun(stream, own_job, "t")
        own_job.run(first_load=login(stream, user))
        assert_loaded(stream, own_job, "t")


@pytest.mark.parametrize("missing", ["ssl-ca", "password_command"])
def test_what_a_worker_lacks_is_named_with_the_worker(
    stream: Stream, own_job: Job, tmp_path: Path, missing: str
) -> None:
    """The driver has the file and the program, so it can begin the load."""
    load = own_job.load_range
    script = tmp_path / "password"
    script.write_text(f"#!/bin/sh\necho '{PASSWORD}'\n", encoding="utf-8")
    script.chmod(0o700)

    def on_bare_worker(job: RangeJob) -> RangeResult:
        if missing == "ssl-ca":
            tls = TlsSettings(mode="verify_ca", ca=tmp_path / "none.pem")
            changed: dict[str, Any] = {"tls": tls}
        else:
            changed = {"password_command": [str(tmp_path / "none")]}
        return load(replace(job, source=job.source.model_copy(update=changed)))

    own_job.load_range = on_bare_worker  # type: ignore[method-assign]
    with (
        tables(stream, "t"),
        account(stream, MONITOR, f"SELECT ON {stream.database}.*") as user,
    ):
        by_program = login(stream, user, password=None, password_command=[str(script)])
        lines = own_job.run(first_load=by_program)
        code = server_errors.TLS_CA if missing == "ssl-ca" else settings_errors.PASSWORD_COMMAND
        assert waits(lines) == waiting(stream, code, "t")
        (text,) = [line["error"] for line in lines if line["event"] == "load_waits"]
        assert text.startswith("on the worker ")
        key = "ssl-ca" if missing == "ssl-ca" else "first_load.password_command"
        assert key in text
        assert own_job.rows("t", database=stream.database) == []
        assert not list(Path(own_job.path("t", stream.database)).glob("*.parquet"))
        own_job.load_range = load  # type: ignore[method-assign]
        own_job.run(first_load=by_program)
        assert_loaded(stream, own_job, "t")
