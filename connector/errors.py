"""The errors that the library raises, under the name that users import.

`ConnectorError` is the base of all. `LogRefused`, `LogTruncated` and `EventError` say what is wrong
with a log, and where; `ConfigError` is about arguments; `SourceRefused` and `SourceUnavailable` are
about a server. `docs/library.md` has a table of them.
"""

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
