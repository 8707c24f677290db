"""Verifies signatures of AWS (SigV4) by their specification, and refuses requests in AWS's words.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import datetime as dt
import hmac
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from http.server import BaseHTTPRequestHandler

_FORMAT = "%Y%m%dT%H%M%SZ"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), "
    r"SignedHeaders=(?P<names>[^,]+), Signature=(?P<signature>[0-9a-f]{64})"
)
# What AWS wants to be signed.
_SIGNED = {"content-type", "host", "x-amz-content-sha256", "x-amz-date"}
_TOLERATED = dt.timedelta(minutes=5)


class SignedRequest(NamedTuple):
    """A request as it came."""

    method: str
    target: str  # path and query
    headers: Mapping[str, str]  # names in small letters
    body: bytes = b""

    def canonical(self, names: Iterable[str]) -> str:
        """The canonical request, of which the headers with these names are signed."""
        path, _, query = self.target.partition("?")
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        words = sorted((_encoded(unquote_plus(a)), _encoded(unquote_plus(b))) for a, _, b in pairs)
        names = sorted(names)
        lines = [
            self.method,
            # All services but S3 encode what is encoded.
            "/".join(_encoded(part) for part in path.split("/")),
            "&".join(f"{name}={value}" for name, value in words),
            *(f"{name}:{' '.join(self.headers[name].split())}" for name in names),
            "",
            ";".join(names),
            sha256(self.body).hexdigest(),
        ]
        return "\n".join(lines)

    def signature(self, secret: str, scope: str, names: Iterable[str]) -> str:
        """The signature for a scope: DATE/REGION/SERVICE/aws4_request."""
        digest = sha256(self.canonical(names).encode()).hexdigest()
        key = f"AWS4{secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = f"AWS4-HMAC-SHA256\n{self.headers['x-amz-date']}\n{scope}\n{digest}"
        return hmac.digest(key, text.encode(), "sha256").hex()


@dataclass
class SignatureVerifier:
    """A service of AWS in a region, as far as it verifies signatures."""

    service: str
    region: str
    # By access key: the secret, and the token of the session; empty for a user's own key.
    accounts: dict[str, tuple[str, str]]
    # Tokens that have ended.
    expired: set[str] = field(default_factory=set)
    # How far its clock is ahead of this machine's.
    ahead: dt.timedelta = dt.timedelta(0)
    # The keys of requests that it has admitted, in their order.
    admitted: list[str] = field(default_factory=list)

    def refusal(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, Any] | None:
        """Return status and document for a request that is refused; None if it is right."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        said = self._refused(SignedRequest(request.command, request.path, headers, body))
        return None if said is None else (403, said)

    def _refused(self, request: SignedRequest) -> dict[str, str] | None:
        found = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
        if found is None:
            return {"message": "Missing Authentication Token"}
        at = dt.datetime.strptime(request.headers["x-amz-date"], _FORMAT).replace(tzinfo=dt.UTC)
        now = dt.datetime.now(dt.UTC) + self.ahead
        if abs(now - at) > _TOLERATED:
            word = "expired" if at < now else "not yet current"
            message = f"Signature {word}: {at:{_FORMAT}} is not within 5 min. of {now:{_FORMAT}}"
            return {"__type": "com.amazon.coral#InvalidSignatureException", "message": message}
        if found["key"] not in self.accounts:
            message = "The security token included in the request is invalid."
            return {"__type": "UnrecognizedClientException", "message": message}
        secret, token = self.accounts[found["key"]]
        names = found["names"].split(";")
        wanted = _SIGNED | ({"x-amz-security-token"} if token else set())
        if not wanted <= set(names) or request.headers.get("x-amz-security-token", "") != token:
            return {"message": "The security token included in the request is invalid."}
        scope = f"{at:%Y%m%d}/{self.region}/{self.service}/aws4_request"
        if found["scope"] != scope:
            return {"message": f"Credential should be scoped to {scope}, not {found['scope']}."}
        if token in self.expired:
            message = "The security token included in the request is expired"
            return {"__type": "ExpiredTokenException", "message": message}
        is_whole = request.headers["x-amz-content-sha256"] == sha256(request.body).hexdigest()
        if not is_whole or request.signature(secret, scope, names) != found["signature"]:
            message = (
                "The request signature we calculated does not match the signature you provided. "
                "Check your AWS Secret Access Key and signing method.\n\nThe Canonical String for "
                f"this request should have been\n'{request.canonical(names)}'"
            )
            return {"message": message}
        self.admitted.append(found["key"])
        return None


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~")
