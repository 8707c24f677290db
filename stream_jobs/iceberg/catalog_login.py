"""Where an Iceberg catalog is, and how the job says who it is: a token, OAuth2, or signatures."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from connector.foundation.errors import ConfigError, SinkUnavailable
from connector.foundation.errors.code import ErrorCode
from connector.foundation.settings import settings_errors
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


class Signer(Protocol):
    """Signs each request, instead of a login."""

    def signed(self, method: str, url: str, kind: str, content: bytes | None) -> dict[str, str]:
        """Return the headers to add to a request for `url`, with the Content-Type `kind`.

        Raises UnsignedError.
        """

    def renew(self) -> None:
        """Look for credentials once more before the next request."""

    def refusal(self, said: str) -> ErrorCode | None:
        """Return how a catalog that has `said` this refuses a signature; None if it does not.

        The facts of the code are `catalog`, `doing` and `why`.
        """


def signer_of(service: str, region: str) -> Signer | None:
    """Return what signs requests for a service of AWS; None without one.

    Raises ConfigError if a package is missing.
    """
    if not service:
        return None
    try:
        from stream_jobs.iceberg.request_signer import RequestSigner  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(settings_errors.SIGV4_EXTRA, said=error) from error
    return RequestSigner(service, region)


class CatalogAccess(NamedTuple):
    """Where a catalog is, and who asks it."""

    url: str
    warehouse: str = ""
    login: CatalogLogin = CatalogLogin()  # none
    signer: Signer | None = None


def _unreadable(catalog: str, error: ConfigError | SinkUnavailable) -> MirrorError:
    why = error.message.what
    return MirrorError(catalog_errors.LOGIN, catalog=catalog, doing="every request", why=why)
