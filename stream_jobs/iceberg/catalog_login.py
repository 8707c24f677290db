"""Where an Iceberg catalog is, and how the job says who it is: a token, or OAuth2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from connector.foundation.errors import ConfigError, SinkUnavailable
from connector.foundation.settings.credentials import command_secret, read_secret
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_errors


@dataclass(frozen=True, slots=True)
class CatalogLogin:
    """What `[iceberg]` says of it. Nothing is read before it is needed."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    token_command: Sequence[str] = ()
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_secret_file: Path | None = None
    scope: str = ""
    # Empty: that of the catalog.
    token_url: str = ""

    @property
    def is_given(self) -> bool:
        """Whether there is one."""
        return any((self.token, self.token_file, self.token_command, self.client_id))

    def read_token(self, catalog: str) -> str:
        """Return the token for `catalog` as it is now; empty without one.

        Raises MirrorError if its file cannot be read, or its command fails.
        """
        try:
            if self.token_command:
                return command_secret("iceberg.token_command", self.token_command, SinkUnavailable)
            if self.token_file is not None:
                return read_secret("iceberg.token_file", self.token_file)
        except (ConfigError, SinkUnavailable) as error:
            raise _unreadable(catalog, error) from error
        return self.token

    def read_client_secret(self, catalog: str) -> str:
        """Return the secret of the client; raises MirrorError if its file cannot be read."""
        if self.client_secret_file is None:
            return self.client_secret
        try:
            return read_secret("iceberg.client_secret_file", self.client_secret_file)
        except ConfigError as error:
            raise _unreadable(catalog, error) from error


class CatalogAccess(NamedTuple):
    """Where a catalog is, and who asks it."""

    url: str
    warehouse: str = ""
    login: CatalogLogin = CatalogLogin()  # none


def _unreadable(catalog: str, error: ConfigError | SinkUnavailable) -> MirrorError:
    why = error.message.what
    return MirrorError(catalog_errors.LOGIN, catalog=catalog, doing="every request", why=why)
