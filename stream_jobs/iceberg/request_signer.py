"""Signatures (SigV4) of requests to the Iceberg catalogs of AWS: Glue, S3 Tables, API Gateway.

    signer = RequestSigner("glue", "eu-central-1")
    headers = signer.signed("GET", url, "application/json", None)

Signed are method, path, query, host, type, time, and the SHA-256 of the body. The credentials are
found as all programs of AWS find them: environment, profile (also SSO, roles and programs), web
identity, container, machine. Those that end are renewed some minutes before.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

import threading
from hashlib import sha256
from typing import Any, Final

from botocore import exceptions
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session

from connector.foundation.errors.code import ErrorCode
from stream_jobs.iceberg import catalog_errors
from stream_jobs.iceberg.catalog_errors import UnsignedError

# RuntimeError: a role has given credentials that have ended.
_FAILURES: Final = (
    exceptions.BotoCoreError,
    exceptions.ClientError,
    OSError,
    RuntimeError,
    ValueError,
)
_PASSING: Final = (exceptions.ConnectionError, exceptions.HTTPClientError)
# The provider of a program that a profile names; its error is what the program has written.
_PROGRAM: Final = "custom-process"
_SAID_MAX: Final = 300
# What services of AWS and API Gateway say, as names and in words; a time that is wrong comes first,
# because it has the name of a wrong signature, too.
_REFUSALS: Final[tuple[tuple[ErrorCode, tuple[str, ...]], ...]] = (
    (
        catalog_errors.CLOCK,
        (
            "RequestTimeTooSkewed",
            "Signature expired",
            "Signature not yet current",
            "difference between the request time and the current time",
        ),
    ),
    (catalog_errors.CREDENTIALS, ("ExpiredToken", "token included in the request is expired")),
    (
        catalog_errors.SIGNATURE,
        (
            "SignatureDoesNotMatch",
            "InvalidSignature",
            "IncompleteSignature",
            "UnrecognizedClient",
            "InvalidClientTokenId",
            "InvalidAccessKeyId",
            "signature we calculated does not match",
            "token included in the request is invalid",
            "Credential should be scoped to",
        ),
    ),
)


class RequestSigner:
    """Signs requests to a service of AWS in a region; threads may share it."""

    def __init__(self, service: str, region: str) -> None:
        """No credentials are looked for before the first request."""
        self._service = service
        self._region = region
        self._lock = threading.Lock()
        self._credentials: Any = None

    def signed(self, method: str, url: str, kind: str, content: bytes | None) -> dict[str, str]:
        """Return the headers to add to a request for `url`, with the Content-Type `kind`.

        Raises UnsignedError without credentials.
        """
        try:
            credentials = self._found().get_frozen_credentials()
        except _FAILURES as error:
            self.renew()
            # What a program has said in vain is in the error of the library.
            raise UnsignedError(_told(error), may_pass=isinstance(error, _PASSING)) from None
        digest = sha256(content or b"").hexdigest()
        headers = {"Content-Type": kind, "X-Amz-Content-SHA256": digest}
        request = AWSRequest(method=method, url=url, headers=headers)
        SigV4Auth(credentials, self._service, self._region).add_auth(request)
        return {name: value for name, value in request.headers.items() if name != "Content-Type"}

    def renew(self) -> None:
        """Read environment, profiles and roles once more before the next request."""
        with self._lock:
            self._credentials = None

    def refusal(self, said: str) -> ErrorCode | None:
        """Return how a catalog that has `said` this refuses a signature; None if it does not."""
        for code, signs in _REFUSALS:
            if any(sign in said for sign in signs):
                return code
        return None

    def _found(self) -> Any:
        with self._lock:
            if self._credentials is None:
                self._credentials = Session().get_credentials()
            if self._credentials is None:
                raise UnsignedError
            return self._credentials


def _told(error: Exception) -> str:
    if (
        isinstance(error, exceptions.CredentialRetrievalError)
        and error.kwargs["provider"] == _PROGRAM
    ):
        return "the program of credential_process fails; what it says may be a secret"
    return str(error).partition("\n")[0][:_SAID_MAX]
