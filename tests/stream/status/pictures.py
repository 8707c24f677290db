"""Writes the pictures in docs/ of the pages and of the terminal: `make status-pictures`.

Most of those that are stored have been reduced to 256 colours, to a third of their size.
"""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from connector.stream.status.model import State
from connector.stream.status.page import html
from connector.stream.status.pipeline_page import list_html
from connector.stream.status.terminal import render_status
from tests.stream.status.browser import Screen
from tests.stream.status.fleet import fleet
from tests.stream.status.many_tables import many_tables
from tests.stream.status.states import facts_in
from tests.stream.status.tab import tab

DOCS = Path(__file__).parents[3] / "docs"
_PAGE = Screen(1120, 1700, dark=False)
_LIST = Screen(1280, 1010, dark=False)
_LIST_NARROW = Screen(390, 1900, dark=False)
_MANY = Screen(1280, 1400, dark=False)
_MANY_NARROW = Screen(390, 2000, dark=False)
_TERMINAL = Screen(1000, 480, dark=True)
_COLUMNS = 112
# Of the terminal, as a page.
_FRAME = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #10141a; }}
pre {{ margin: 16px; font: 14px/1.35 "DejaVu Sans Mono", monospace; color: #dfe5ec; }}
{stylesheet}</style><pre>{code}</pre>"""


def terminal() -> str:
    """Return what the command `status` prints, as a page."""
    console = Console(
        file=StringIO(), record=True, width=_COLUMNS, force_terminal=True, highlight=False
    )
    # What happened is on the page; the picture has the rest.
    console.print(render_status(replace(facts_in(State.LAGGING), events=[])))
    return console.export_html(theme=SVG_EXPORT_THEME, code_format=_FRAME)


def main() -> None:
    """Write all pictures."""
    with TemporaryDirectory() as folder, tab(Path(folder)) as browser:
        page = html(facts_in(State.COPYING), acting=True)
        browser.picture(page, DOCS / "status-page.png", _PAGE)
        browser.picture(terminal(), DOCS / "status-terminal.png", _TERMINAL)
        browser.picture(list_html(fleet()), DOCS / "status-list.png", _LIST)
        browser.picture(list_html(fleet()), DOCS / "status-list-narrow.png", _LIST_NARROW)
        many = html(many_tables())
        browser.picture(many, DOCS / "status-tables.png", _MANY)
        browser.picture(many, DOCS / "status-tables-narrow.png", _MANY_NARROW)


if __name__ == "__main__":
    main()
