"""The recording of the two commands in docs/tasks/up.md, between two marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from benchmarks.home import REPOSITORY
from benchmarks.markdown import table, where
from benchmarks.mirror_documents import put_block
from benchmarks.targets import first_row_target

if TYPE_CHECKING:
    from benchmarks.home import Home

BEGIN: Final = "<!-- the first row: written by make first-row -->"
END: Final = "<!-- end of the first row -->"
_PAGE: Final = REPOSITORY / "docs" / "tasks" / "up.md"
# The line of the page that the block follows.
_AFTER: Final = "resume, also after a crash, run `binlog-connector up --to lake`."


def write_first_row(home: Home) -> None:
    """Write what was measured into the page."""
    if found := home.load("first-row"):
        put_block(_PAGE, first_row_text(found), _AFTER)


def first_row_text(found: dict[str, Any]) -> str:
    """Return the recording and the seconds of each step, with marks."""
    title = (
        "In an empty environment, with all packages in pip's cache and two small tables on the "
        "same machine, the terminal shows:"
    )
    recording = "\n".join(["```", *found["recording"], "```"])
    bound = first_row_target(found)
    rows = [
        ["an empty environment, before the two commands", f"{found['environment_s']:.0f} s"],
        ["`pip install`", f"{found['install_s']:.0f} s"],
        ["`up`, until a row can be read", f"{found['up_s']:.0f} s"],
        ["both commands", f"{bound.measured:.0f} s"],
    ]
    steps = table(["step", "time"], rows)
    return "\n\n".join([BEGIN, title, recording, steps, f"{where(found)}.", END])
