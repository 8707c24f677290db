"""Logins and secrets: Kafka's TLS and SASL, servers by URL, passwords from a file or a command.

The login to Kafka is the same for the connector and the Spark job.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator

from connector.foundation.errors import ConfigError, SinkUnavailable, SourceUnavailable
from connector.foundation.settings import settings_errors
from connector.foundation.settings.file_settings import Alternatives, UnfitValueError

COMMAND_SECONDS: Final = 10.0
# The keys of which one gives a password.
PASSWORDS: Final = ("password", "password_file", "password_command")
# A shell's way to say that a signal ended a program.
_BY_SIGNAL: Final = 128


def read_secret(key: str, path: Path) -> str:
    """Return the secret in the file that `key` names; raises ConfigError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(
            settings_errors.PASSWORD_FILE, key=key, path=path, said=error.strerror
        ) from error


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
        raise ConfigError(
            settings_errors.PASSWORD_COMMAND, said=said, key=key, program=program
        ) from error
    with process:
        try:
            written, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            # The group may have ended by now.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise failure(
                settings_errors.PASSWORD_COMMAND_SLOW, seconds=seconds, key=key, program=program
            ) from error
    if process.returncode:
        code = process.returncode if process.returncode > 0 else _BY_SIGNAL - process.returncode
        raise failure(
            settings_errors.PASSWORD_COMMAND_FAILED, exit_code=code, key=key, program=program
        )
    try:
        secret = written.decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        secret = ""
    if not secret:
        raise failure(settings_errors.PASSWORD_COMMAND_EMPTY, key=key, program=program)
    return secret


class KafkaLogin(BaseModel):
    """The keys of `[kafka]` for TLS and login."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alternatives: ClassVar[Alternatives] = (tuple(f"sasl_{name}" for name in PASSWORDS),)

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    sasl_password_file: Path | None = None
    # Called for each client, it writes the password.
    sasl_password_command: list[str] = []
    ssl_ca: Path | None = None
    ssl_certificate: Path | None = None
    ssl_key: Path | None = None

    @model_validator(mode="after")
    def _whole_login(self) -> "KafkaLogin":
        passwords = self.sasl_password, self.sasl_password_file, self.sasl_password_command
        given = sum(each is not None and each != [] for each in passwords)
        if given > 1:
            raise UnfitValueError(settings_errors.TWO_SASL_PASSWORDS)
        if self.security_protocol.startswith("SASL") and not (
            self.sasl_mechanism and self.sasl_username and given
        ):
            raise UnfitValueError(settings_errors.LOGIN, protocol=self.security_protocol)
        return self

    def read_sasl_password(self) -> str | None:
        """Return the password, from the file or command if there is one; None without a login.

        Raises ConfigError if the file cannot be read or the command cannot be started, and
        SinkUnavailable if the command fails.
        """
        if self.sasl_password_command:
            key = "kafka.sasl_password_command"
            return command_secret(key, self.sasl_password_command, SinkUnavailable)
        if self.sasl_password_file is not None:
            return read_secret("kafka.sasl_password_file", self.sasl_password_file)
        return None if self.sasl_password is None else self.sasl_password.get_secret_value()

    def login_arguments(self) -> dict[str, object]:
        """Return the arguments of kafka-python for TLS and login.

        Raises what `read_sasl_password` raises.
        """
        arguments: dict[str, object] = {"security_protocol": self.security_protocol}
        if self.sasl_mechanism is not None:
            arguments |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.read_sasl_password(),
            }
        files = {
            "ssl_cafile": self.ssl_ca,
            "ssl_certfile": self.ssl_certificate,
            "ssl_keyfile": self.ssl_key,
        }
        return arguments | {name: str(path) for name, path in files.items() if path is not None}


class ServerLogin(BaseModel):
    """The keys of a section for a MySQL or MariaDB server that a URL names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Its name, for errors.
    section: ClassVar[str]
    alternatives: ClassVar[Alternatives] = (PASSWORDS,)

    # mysql://user@host:port/, with the options of the connector's URLs.
    url: SecretStr | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    # Called for each login, as the connector's source.password_command.
    password_command: list[str] = []

    @model_validator(mode="after")
    def _one_password(self) -> Self:
        given = self.password, self.password_file, self.password_command
        if sum(value is not None and value != [] for value in given) > 1:
            raise UnfitValueError(settings_errors.TWO_PASSWORDS)
        return self

    def read_password(self) -> str | None:
        """Return the password; None if the URL has it, or the command writes it.

        Raises ConfigError if the file cannot be read.
        """
        if self.password_file is not None:
            return read_secret(f"{self.section}.password_file", self.password_file)
        return None if self.password is None else self.password.get_secret_value()
