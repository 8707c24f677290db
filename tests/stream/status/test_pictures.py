"""A picture of the page in each state: build/status-page has them, to be looked at.

`make test` takes one state on each of the four screens, `make test-all` all states on all of them.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.stream.status.model import State
from connector.stream.status.page import html
from connector.stream.status.pipeline_page import list_html
from tests.length import FULL
from tests.stream.status.browser import SCREENS, needs_browser
from tests.stream.status.fleet import fleet
from tests.stream.status.many_tables import many_tables
from tests.stream.status.states import STATES, facts_in
from tests.stream.status.tab import Tab, tab

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[3] / "build" / "status-page"
TAKEN = [
    (state, name)
    for number, state in enumerate(STATES)
    for place, name in enumerate(SCREENS)
    if FULL or number == place
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One for all pictures: it takes ten times as long to start as to draw."""
    with tab(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def first_pixel(png: bytes) -> tuple[tuple[int, int], int]:
    """Return the size of a picture, and how bright its first pixel is, from 0 to 765."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colours = struct.unpack(">IIBB", png[16:26])
    assert (depth, colours) in ((8, 2), (8, 6))
    data, position = b"", 8
    while position < len(png):
        (size,) = struct.unpack(">I", png[position : position + 4])
        if png[position + 4 : position + 8] == b"IDAT":
            data += png[position + 8 : position + 8 + size]
        position += 12 + size
    # The first pixel has no neighbour, so no filter changes it.
    return (width, height), sum(zlib.decompress(data)[1:4])


def test_every_state_is_among_them_but_those_without_a_process() -> None:
    others = {State.STOPPED, State.UNKNOWN, State.CANNOT_CONTINUE}
    assert {*STATES} == {*State} - others


@needs_browser
@pytest.mark.parametrize(("state", "screen"), TAKEN)
def test_each_state_has_a_picture(state: State, screen: str, browser: Tab) -> None:
    file = FOLDER / f"{state.value}-{screen}.png"
    wanted = SCREENS[screen]
    browser.picture(html(facts_in(state), acting=True), file, wanted)
    size, brightness = first_pixel(file.read_bytes())
    assert size == (wanted.width, wanted.height)
    assert (brightness < 200) == wanted.dark


@needs_browser
@pytest.mark.parametrize("page", [html(many_tables()), list_html(fleet())], ids=["tables", "list"])
@pytest.mark.parametrize("screen", ["wide-light", "narrow-light"])
def test_commands_are_whole_and_a_phone_shows_no_empty_cell(
    page: str, screen: str, browser: Tab, tmp_path: Path
) -> None:
    browser.picture(page, tmp_path / "page.png", SCREENS[screen])
    lines = (
        "[...document.querySelectorAll('.reason code, .notes code')].map(one => one.offsetHeight)"
    )
    heights = browser.value(lines)
    # In pixels; two lines have more.
    assert heights
    assert max(heights) < 30
    empty = "[...document.querySelectorAll('td:empty')].map(one => one.offsetHeight)"
    if screen.startswith("narrow"):
        assert set(browser.value(empty)) <= {0}
