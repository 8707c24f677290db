"""`up` says by its exit code whether the tables have everything."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.cli import command_errors, up
from connector.errors import SourceUnavailable
from connector.foundation.settings import settings_errors
from connector.lake.lake_folder import LakeFolder
from connector.lake.lake_start import options_of
from local_stack.server import free_port
from tests.application import invoke
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode


class Terminated:
    """A lake whose process gets SIGTERM while it waits for anything."""

    def catch_up(self, _: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    def check(self) -> None:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("options", "code"), [([], 0), (["--once"], 130), (["--once", "--verify"], 130)]
)
def test_an_interrupted_once_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int
) -> None:
    @contextmanager
    def running(*_: object) -> Iterator[Terminated]:
        yield Terminated()

    monkeypatch.setattr(up, "lake_of", lambda *_: LakeFolder(tmp_path))
    monkeypatch.setattr(up, "running", running)
    done = invoke(["up", "--to", str(tmp_path), *options])
    assert (done.exit_code, done.stderr) == (code, "stopped; the same command resumes\n")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--tables", "shop.new"], command_errors.NEEDS_URL),
        (["--format", "both"], command_errors.NEEDS_URL),
        (["--password-env", "NEW"], command_errors.NEEDS_URL),
        (["--listen", "127.0.0.1:9400"], command_errors.NEEDS_URL),
        (["--verify"], command_errors.NEEDS_ONCE),
    ],
)
def test_options_without_a_meaning_are_refused(
    tmp_path: Path, options: list[str], code: ErrorCode
) -> None:
    done = invoke(["up", "--to", str(tmp_path), *options])
    assert (done.exit_code, done.stderr) == (2, f"error: {shown(code)}\n")


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "::1:9400", "my host:9400", "9400"])
def test_an_address_that_cannot_be_listened_on_is_refused(address: str) -> None:
    done = invoke(["up", "--to", "lake", "--listen", address])
    assert done.exit_code == 2
    assert f"{address!r} is not HOST:PORT, such as 127.0.0.1:8080" in done.stderr


def test_a_section_of_the_environment_that_is_not_json_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE", "not json")
    done = invoke(["up", "--to", "lake", "mysql://cdc@127.0.0.1:1/shop"])
    error = shown(settings_errors.NOT_JSON, variable="BINLOG_CONNECTOR_SOURCE")
    assert (done.exit_code, done.stderr) == (2, f"error: {error}\n")


def test_variables_of_the_connector_do_not_change_the_source_of_a_new_lake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "hunter2secret")
    monkeypatch.setenv("BINLOG_CONNECTOR_KAFKA__PARTITIONS", "none")
    port = free_port()
    options = options_of(f"mysql://cdc:x@127.0.0.1:{port}/shop", None, [], iceberg=False)
    with pytest.raises(SourceUnavailable, match=f"127.0.0.1:{port}: cannot connect"):
        up._check(options.followed)
