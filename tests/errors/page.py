"""Writes docs/errors.md from the table: `make errors-page`."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

from tests.errors.cause import Cause, End
from tests.errors.texts import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"

_HEAD = """# What a failure says

Every text of `run`, `check`, `snapshot` and `quarantine`, with what to do; *words* in italics stand
for what differs. A text says where, what, and what to do, and has no values of rows and no secrets.

| end | what becomes of the command | exit code |
|---|---|---|
| 2 | the configuration or an argument is wrong: nothing was done | 2 |
| 3 | starting again cannot help; in Kafka is what stands before the failure, and no more | 3 |
| retried | `run` goes on from what was committed, after pauses (`[retry]`), without end | 1 \
once `retry.attempts_max` attempts have failed, and of a command that makes no other one |
| 1 | the command has waited long enough | 1 |
| goes on | a line of the log | |

0 is the code of a clean end, also after SIGTERM. After a second SIGTERM or Ctrl-C it is 130:
"stopped before the batch was committed; it is read again by the next run".

If the fix is to continue after a refused transaction, `run` adds the place after it: `the place
after this transaction is source.start = "gtid:..."`. With `log.format = "json"`, the text is the
field `error` of the last line.

`make errors-page` writes this page from the table in `tests/errors/`, with which tests compare what
is said.
"""
_SPECIAL = re.compile(r"([\\|*_<>\[\]])")


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for group in GROUPS:
        lines = [
            f"## {group.title}",
            "",
            group.about,
            "",
            "| what is said | what to do | end |",
            "|---|---|---|",
        ]
        lines += [_line(cause) for cause in group.causes]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(cause: Cause) -> str:
    fix = _shown(cause.fix.lstrip(".:; "))
    waits = "wait" if cause.end is End.RETRIED else ""
    return f"| {_shown(cause.what)} | {fix or waits} | {cause.end.value} |"


def _shown(text: str) -> str:
    """Write a text as a cell of a table."""
    shown = ""
    for literal, name, _, _ in Formatter().parse(text):
        shown += _SPECIAL.sub(r"\\\1", literal)
        if name is not None:
            shown += f"*{name.replace('_', ' ')}*"
    return shown.replace("\n", "<br>").strip()


if __name__ == "__main__":
    PAGE.write_text(page())
