"""The settings of sessions, which a reader of the log must know to read a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

# A zero date has no type in Spark, and outside of strict mode any wrong date becomes one.
_ALWAYS: Final = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"
_MODES: Final = (
    "ANSI_QUOTES",
    "NO_BACKSLASH_ESCAPES",
    "PIPES_AS_CONCAT",
    "NO_AUTO_VALUE_ON_ZERO",
    "HIGH_NOT_PRECEDENCE",
)
_CHARSETS: Final = ("utf8mb4", "utf8mb4", "latin1", "cp1250", "gbk")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a session writes."""

    sql_mode: str = _ALWAYS
    binlog_format: str = "ROW"
    charset: str = "utf8mb4"

    def quoted(self, name: str) -> str:
        """Return a name as the session reads it."""
        mark = '"' if "ANSI_QUOTES" in self.sql_mode else "`"
        return f"{mark}{name.replace(mark, mark * 2)}{mark}"

    @property
    def statements(self) -> list[str]:
        """What makes a session have these settings."""
        return [
            f"SET NAMES {self.charset}",
            f"SET SESSION sql_mode = '{self.sql_mode}'",
            f"SET SESSION binlog_format = {self.binlog_format}",
        ]

    def __str__(self) -> str:
        """Return them in short."""
        extra = self.sql_mode.removeprefix(_ALWAYS).lstrip(",")
        return " ".join(filter(None, (self.binlog_format, self.charset, extra)))


def random_settings(random: Random) -> Settings:
    """Return settings; most sessions log rows."""
    modes = [mode for mode in _MODES if random.random() < 0.15]
    return Settings(
        ",".join([_ALWAYS, *modes]),
        random.choice(["ROW", "ROW", "ROW", "MIXED", "STATEMENT"]),
        random.choice(_CHARSETS),
    )
