"""What a failure says, word for word, what becomes of the run, and where a user finds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from string import Formatter


class End(Enum):
    """What becomes of the command: as the page shows it."""

    CONFIGURATION = "2"  # ConfigError
    DEFINITE = "3"  # every other DefiniteError
    RETRIED = "retried"  # TransientError; exit code 1 once retry.attempts_max is reached
    COMMAND = "1"  # of a command that has waited long enough
    LOGGED = "goes on"  # a line in the log


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of a failure; placeholders stand in braces."""

    key: str
    what: str  # where, and what
    fix: str  # the rest of the text, which says what to do; "" where waiting is all there is
    end: End = End.DEFINITE

    @property
    def text(self) -> str:
        """The whole text."""
        return self.what + self.fix

    @property
    def placeholders(self) -> set[str]:
        """The names of what the text is filled with."""
        return {name for _, name, _, _ in Formatter().parse(self.text) if name}

    def filled(self, **values: object) -> str:
        """Return the text, with a value for each placeholder."""
        missing = self.placeholders.symmetric_difference(values)
        assert not missing, f"{self.key}: {missing}"
        return self.text.format(**values)

    def pattern(self, **values: object) -> re.Pattern[str]:
        """Return what the text has to be, where not every value is known beforehand."""
        parts = []
        for literal, name, _, _ in Formatter().parse(self.text):
            parts.append(re.escape(literal))
            if name is not None:
                parts.append(re.escape(str(values[name])) if name in values else "(?s:.+)")
        return re.compile("".join(parts))


@dataclass(frozen=True, slots=True)
class Group:
    """Causes of one kind, in the order of the page."""

    title: str
    about: str
    causes: tuple[Cause, ...]
