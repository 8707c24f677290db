"""The errors that the library raises, under the name that users import."""

from __future__ import annotations

from connector.binlog.log_errors import (
    EventError,
    LogRefused,
    LogTruncated,
    ProtocolError,
    TruncatedPayload,
)
from connector.foundation.errors import (
    ConfigError,
    ConnectorError,
    DecodeError,
    DefiniteError,
    SourceRefused,
    SourceUnavailable,
    TransientError,
    UnsupportedChange,
)

__all__ = [
    "ConfigError",
    "ConnectorError",
    "DecodeError",
    "DefiniteError",
    "EventError",
    "LogRefused",
    "LogTruncated",
    "ProtocolError",
    "SourceRefused",
    "SourceUnavailable",
    "TransientError",
    "TruncatedPayload",
    "UnsupportedChange",
]
