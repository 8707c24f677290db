"""Passwords that are not in the configuration: in a file, or written by a command."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from connector.errors import ConfigError
from connector.errors import settings_secrets as codes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from connector.errors import SinkUnavailable, SourceUnavailable

COMMAND_SECONDS: Final = 10.0
# A shell's way to say that a signal ended a program.
_BY_SIGNAL: Final = 128


def read_secret(key: str, path: Path) -> str:
    """Return the secret in the file that `key` names; raises ConfigError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(codes.PASSWORD_FILE, key=key, path=path, said=error.strerror) from error


def command_secret(
    key: str,
    command: Sequence[str],
    failure: type[SourceUnavailable | SinkUnavailable],
    seconds: float = COMMAND_SECONDS,
) -> str:
    """Return what `command`, which `key` names, writes to its standard output, without line breaks.

    It is called without a shell. After some `seconds`, it and what it has started are killed.
    Nothing that it writes is in an error: it may be the secret. Raises ConfigError if it cannot be
    started, and `failure` if it fails, because it may need something that is away for now.
    """
    program = command[0]
    try:
        process = subprocess.Popen(  # noqa: S603 - the command that the configuration names
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise ConfigError(codes.PASSWORD_COMMAND, said=said, key=key, program=program) from error
    with process:
        try:
            written, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            # The group may have ended by now.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise failure(
                codes.PASSWORD_COMMAND_SLOW, seconds=seconds, key=key, program=program
            ) from error
    if process.returncode:
        code = process.returncode if process.returncode > 0 else _BY_SIGNAL - process.returncode
        raise failure(codes.PASSWORD_COMMAND_FAILED, exit_code=code, key=key, program=program)
    try:
        secret = written.decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        secret = ""
    if not secret:
        raise failure(codes.PASSWORD_COMMAND_EMPTY, key=key, program=program)
    return secret
