"""How a Kafka listener is entered: TLS and login, the same for the connector and the Spark job."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator

from connector.errors import SinkUnavailable
from connector.errors import settings_secrets as codes
from connector.settings.files import UnfitValueError
from connector.settings.secrets import command_secret, read_secret


class KafkaLogin(BaseModel):
    """The keys of `[kafka]` for TLS and login."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    def _whole_login(self) -> KafkaLogin:
        passwords = self.sasl_password, self.sasl_password_file, self.sasl_password_command
        given = sum(each is not None and each != [] for each in passwords)
        if given > 1:
            raise UnfitValueError(codes.TWO_SASL_PASSWORDS)
        if self.security_protocol.startswith("SASL") and not (
            self.sasl_mechanism and self.sasl_username and given
        ):
            raise UnfitValueError(codes.LOGIN, protocol=self.security_protocol)
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
