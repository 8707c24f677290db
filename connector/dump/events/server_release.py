"""A log's first event shows which server wrote it, as far as its texts depend on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from connector.binlog.charsets.collation_names import collation_name
from connector.binlog.charsets.collations import charset_of

if TYPE_CHECKING:
    from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_LATEST = (99, 0, 0)

# MySQL renamed the character set before its collations, MariaDB both at once.
_UTF8MB3_CHARSET = (8, 0, 28)
_UTF8MB3_COLLATIONS = (8, 0, 30)
_UTF8MB3_MARIADB = (10, 6, 0)


class ServerRelease(NamedTuple):
    """The server whose texts are shown; the latest MySQL if the log names none."""

    mariadb: bool = False
    version: tuple[int, int, int] = _LATEST

    @classmethod
    def of(cls, first_event: FormatDescriptionEvent | StartEventV3) -> ServerRelease:
        """Return the server of an event that starts a log."""
        text = first_event.server_version
        match = _VERSION.match(text)
        version = (int(match[1]), int(match[2]), int(match[3])) if match else _LATEST
        return cls("mariadb" in text.lower(), version)

    def charset_and_collation(self, collation: int) -> tuple[str, str] | None:
        """Return the names that this server has for a collation and its character set."""
        charset = charset_of(collation)
        name = collation_name(collation, mariadb=self.mariadb)
        if charset is None or name is None:
            return None
        if charset == "utf8mb3":
            if self.version < (_UTF8MB3_MARIADB if self.mariadb else _UTF8MB3_COLLATIONS):
                name = name.replace("utf8mb3", "utf8", 1)
            if self.version < (_UTF8MB3_MARIADB if self.mariadb else _UTF8MB3_CHARSET):
                charset = "utf8"
        return charset, name
