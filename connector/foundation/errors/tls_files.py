"""C180: the files of TLS to the source."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_END = End.CONFIGURATION
_PEM = "name a PEM file that this user may read"
_UNREADABLE = "The file does not exist, is not readable for this user, or is of another kind."

TLS_CA = ErrorCode(
    "C183",
    "{source.tls.ca} {path}: {why}",
    _PEM,
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/etc/ca.pem", "why": "No such file or directory"},
)
TLS_CERTIFICATE = ErrorCode(
    "C184",
    "{source.tls.certificate} {path}: {why}",
    _PEM,
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/etc/client.pem", "why": "No such file or directory"},
)
PUBLIC_KEY = ErrorCode(
    "C182",
    "{source.tls.server_public_key} {path}: {why}",
    "name the file public_key.pem of the server's data directory",
    end=_END,
    cause=_UNREADABLE,
    example={"path": "/etc/public_key.pem", "why": "No such file or directory"},
)
