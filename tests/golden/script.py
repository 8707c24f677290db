"""A theme's SQL file becomes the statements that one server runs, and the settings it runs with.

::

    -- Row images: what the log holds of a changed row.        the first line says what it is about
    -- servers: mysql>=8.0 mariadb                             who runs it; any of them
    -- settings: binlog_checksum=NONE                          over those of a source, for everyone
    -- variant minimal: binlog_row_image=MINIMAL               each variant is recorded on its own
    -- tables: none                                            rows that are not in the log
    -- dumps: 0 2                                              also what a replica is sent, by flags

    INSERT INTO t VALUES (1);                                  ends with the line's last semicolon
    -- only: mysql>=8.0.17
    INSERT INTO t VALUES (2);                                  left out elsewhere
    -- fails
    INSERT INTO t VALUES (1);                                  leaves something in the log, though
    -- restart                                                 a clean stop, and a new log
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SQL_FOLDER = Path(__file__).with_name("sql")

# In the place of a statement.
RESTART = "-- restart"
FAILS = "-- fails"

_CONDITION = re.compile(r"(mysql|mariadb)(?:(>=|<)([0-9.]+))?")

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """The product and the version that conditions are about."""

    product: str  # mysql, mariadb
    version: Version

    def meets(self, conditions: str) -> bool:
        """Return whether any of the conditions, separated by spaces, is true."""
        return any(self._meets(condition) for condition in conditions.split())

    def _meets(self, condition: str) -> bool:
        match = _CONDITION.fullmatch(condition)
        assert match is not None, f"{condition!r} is no condition"
        product, comparison, text = match.groups()
        if product != self.product:
            return False
        if comparison is None:
            return True
        bound = tuple(int(part) for part in text.split("."))
        return (self.version >= bound) is (comparison == ">=")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, or RESTART."""

    sql: str
    condition: str = ""
    fails: bool = False


@dataclass(slots=True)
class Theme:
    """What one SQL file says."""

    name: str
    servers: str = "mysql mariadb"
    replayed: bool = True  # the log's rows give the tables
    dumps: list[int] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    variants: dict[str, dict[str, str]] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Theme:
        """Read a file; a comment that is none of those above is a comment."""
        theme = cls(path.stem)
        condition = ""
        fails = False
        lines: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("-- ") and not lines:
                condition = theme._directive(line) or condition
                fails = fails or line == FAILS
            elif line or lines:
                lines.append(line)
                if line.endswith(";"):
                    theme.statements.append(Statement("\n".join(lines)[:-1], condition, fails))
                    lines, condition, fails = [], "", False
        assert not lines, f"{path.name} ends inside a statement"
        return theme

    def _directive(self, line: str) -> str | None:
        """Keep what a comment says of the theme; return the condition that it gives."""
        word, colon, text = line.removeprefix("-- ").partition(":")
        text = text.strip()
        if line == RESTART:
            self.statements.append(Statement(RESTART))
        elif not colon:
            pass
        elif word == "only":
            return text
        elif word == "servers":
            self.servers = text
        elif word == "tables":
            self.replayed = False
        elif word == "dumps":
            self.dumps = [int(flags) for flags in text.split()]
        elif word == "settings":
            self.settings = _settings(text)
        elif word.startswith("variant "):
            self.variants[word.removeprefix("variant ")] = _settings(text)
        return None

    def statements_for(self, server: ServerVersion) -> list[Statement]:
        """Return the statements that `server` runs."""
        return [s for s in self.statements if not s.condition or server.meets(s.condition)]


def themes() -> list[Theme]:
    """Return every theme, by name."""
    return [Theme.read(path) for path in sorted(SQL_FOLDER.glob("*.sql"))]


def _settings(text: str) -> dict[str, str]:
    return dict(word.split("=", maxsplit=1) for word in text.split())
