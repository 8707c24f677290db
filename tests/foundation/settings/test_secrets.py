"""Passwords that a command writes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError, SinkUnavailable, SourceUnavailable
from connector.foundation.settings import settings_errors
from connector.foundation.settings.credentials import command_secret
from connector.foundation.settings.sections import SourceSettings

if TYPE_CHECKING:
    from pathlib import Path

KEY = "source.password_command"
SECRET = "s3cret"


def failure(script: str, seconds: float = 10.0) -> SourceUnavailable:
    with pytest.raises(SourceUnavailable) as caught:
        command_secret(KEY, ["sh", "-c", script], SourceUnavailable, seconds)
    return caught.value


def test_the_output_without_its_line_breaks_is_the_password() -> None:
    assert command_secret(KEY, ["printf", " pass word \\n"], SourceUnavailable) == " pass word "


def test_a_login_fills_in_its_server_and_its_user() -> None:
    settings = SourceSettings(
        host="db2",
        port=3307,
        user="cdc",
        server_id=1,
        password_command=["echo", "{host}:{port}/{user}", "$HOME"],
    )
    # There is no shell, which would know $HOME.
    assert settings.read_password() == "db2:3307/cdc $HOME"


def test_a_program_that_is_not_there_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError) as caught:
        command_secret(KEY, ["/no/such/program"], SourceUnavailable)
    assert caught.value.code is settings_errors.PASSWORD_COMMAND
    assert str(caught.value) == (
        "[C113] source.password_command: /no/such/program: No such file or directory; name a "
        "program that this user may start, with its path; there is no shell"
    )


def test_a_program_that_fails_may_succeed_later_and_its_output_stays_hidden() -> None:
    error = failure(f"echo {SECRET}; echo {SECRET} >&2; exit 7")
    assert str(error) == (
        "[C197] source.password_command: sh ended with exit code 7; call it as this user, with "
        "this environment: what it says is not shown here, because it may be the password"
    )
    assert "exit code 137" in str(failure("kill -9 $$"))
    with pytest.raises(SinkUnavailable):
        command_secret("kafka.sasl_password_command", ["false"], SinkUnavailable)


def test_a_program_that_takes_too_long_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    late = tmp_path / "late"
    began = time.monotonic()
    error = failure(f"(sleep 3; touch {late}) & echo {SECRET}; sleep 60", seconds=0.5)
    assert time.monotonic() - began < 20
    assert str(error) == (
        "[C197] source.password_command: sh has not ended within 0.5 s; call it as this user, "
        "with this environment; what it starts must end, too, or must not keep its output open"
    )
    time.sleep(4)
    assert not late.exists()


@pytest.mark.parametrize("script", ["true", "echo", r"printf '\377\n'"])
def test_output_that_is_no_text_is_no_password(script: str) -> None:
    assert str(failure(script)) == (
        "[C197] source.password_command: sh has written no password; let it write the password to "
        "its standard output, as UTF-8"
    )


def test_a_login_has_one_way_to_its_password() -> None:
    with pytest.raises(ValueError, match="give one of password, password_file and password_"):
        SourceSettings.model_validate(
            {"server_id": 1, "password": "a", "password_command": ["true"]}
        )
