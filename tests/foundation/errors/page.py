"""Writes docs/errors.md from the catalogue: `make errors-page`."""

from __future__ import annotations

import re
from string import Formatter
from typing import TYPE_CHECKING

from connector.foundation.errors.catalogue import GROUPS, codes, retired, texts
from connector.foundation.errors.code import End, Scope
from tests.foundation.errors.catalogue import MODULES, ROOT

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode

PAGE = ROOT / "docs" / "errors.md"

_HEAD = """# Error codes

Every text of a failure begins with its code: `[S112] source db:3306: …`. A log in JSON has the code
as a field. A code never changes its meaning. `binlog-connector explain S112` prints the same as
this page, with an example.

A text says where, what, and what to do. *Words* in italics stand for what differs. No text has a
value of a row or a secret.

| end | what becomes of the command | exit code |
|---|---|---|
| 2 | The configuration or an argument is wrong. Nothing was done. | 2 |
| 3 | Starting again cannot help. Kafka has what comes before the failure, and no more. | 3 |
| 3, later | It may pass: `run` tries again for `retry.refused_seconds`, at the start for 10 \
seconds. Other commands end at once. | 3 |
| table | Its table goes to [quarantine](quarantine.md), or its copy fails, and all other tables \
go on. With `quarantine.policy = "stop"`, and in other commands, it is 3. In the Spark job, it \
[sets the table aside](mirror.md#when-a-table-cannot-go-on). | |
| table or 3 | In rows of a table, or for its topic: as *table*. Elsewhere: as 3. | 3 |
| retried | `run` goes on from what was committed, after a pause (`[retry]`). | 1, after \
`retry.attempts_max` attempts |
| 1 | The command has waited long enough, or the demo or the Spark job has failed. | 1 |
| goes on | Nothing ends. This is a line of the log. | |

`dump`, `stat` and `flashback` have exit codes of their own: see their `--help`. 0 is a clean end,
also after SIGTERM. After a second SIGTERM or Ctrl-C the exit code is 130.

`make errors-page` writes this page from the catalogues, which are the modules `*_errors.py`.
"""
_ENDS = {End.FAILED: "1"}
_SCOPES = {Scope.TABLE: "table", Scope.PLACE: "table or 3"}
_SPECIAL = re.compile(r"([\\|*_<>\[\]])")


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for letter, title in GROUPS.items():
        parts.append(f"## {letter}: {title}\n")
        for name, known in MODULES.items():
            shown = sorted(
                (
                    code
                    for code in known.values()
                    if code.code.startswith(letter) and code.group is None
                ),
                key=lambda code: code.code,
            )
            if shown:
                parts.append(_table(name, shown))
    parts.append(_retired())
    return "\n".join(parts)


def _retired() -> str:
    """Return which numbers were replaced, one line for each code."""
    numbers: dict[str, list[str]] = {}
    for number, code in retired().items():
        numbers.setdefault(code.code, []).append(number)
    parts_of_texts = " ".join(numbers.pop(""))
    lines = [
        "## Retired numbers\n",
        "Older versions show these numbers. `explain` knows them, too.\n",
        "| now | before |",
        "|---|---|",
        *(f"| {code} | {' '.join(numbers[code])} |" for code in codes() if code in numbers),
        f"| parts of other texts | {parts_of_texts} |",
    ]
    return "\n".join(lines) + "\n"


def _table(module: str, shown: list[ErrorCode]) -> str:
    lines = [
        f"### {_title(module)}",
        "",
        "| code | text | why | what to do | end |",
        "|---|---|---|---|---|",
        *(_line(code) for code in shown),
    ]
    return "\n".join(lines) + "\n"


def _title(module: str) -> str:
    """Return the first sentence of the module's docstring."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    first = path.read_text("utf-8").split('"""')[1].split("\n\n")[0].replace("\n", " ")
    return first.rstrip(".")


def _line(code: ErrorCode) -> str:
    fix = _shown(code.fix)
    waits = "Wait." if code.end is End.RETRIED else ""
    end = _ENDS.get(code.end, code.end.value)
    if code.end in (End.DEFINITE, End.FAILED):
        end = _SCOPES.get(code.scope, end)
    why = _SPECIAL.sub(r"\\\1", code.cause)
    text = "<br>".join(map(_shown, texts(code)))
    return f"| {code} | {text} | {why} | {fix or waits} | {end} |"


def _shown(text: str) -> str:
    """Write a template as a cell of a table."""
    shown = ""
    for literal, name, _, _ in Formatter().parse(text):
        shown += _SPECIAL.sub(r"\\\1", literal)
        if name is not None:
            shown += name if "." in name else f"*{name.replace('_', ' ')}*"
    return shown.replace("\n", "<br>").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
