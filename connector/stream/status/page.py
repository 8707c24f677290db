"""The status page: a template that escapes everything, tables, and charts of the last hour as SVG.

Names of databases, tables and columns come from the source, and anybody may have chosen them. So
the page has a content security policy by which only its own script runs.

Of thousands of tables, it shows those that somebody looks for, a hundred at a time. A browser asks
for `/?table=shop.&tables=2`. What a person looks for is a part of the name, or a pattern with
wildcards; upper and lower case are the same.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Final, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qs, urlencode

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from connector.foundation import formatting
from connector.foundation.errors.message import visible
from connector.foundation.record_formats import utc_text
from connector.stream.status.model import PipelineStatus, RatePoint

WIDTH = 720
HEIGHT = 140
# The curve of a young process would be a short line at the edge of an hour.
_SPANS_SECONDS = (300, 900, 1800, 3600)
# A curve of zeros has a top, too.
_TOP_MIN = 1.0
# This part of the values is usual; a highest one of so many times as much is a peak, which is cut.
_USUAL_PART = 0.9
_PEAK = 4.0
_HEADROOM = 1.5
_STEPS = (1, 2, 2.5, 5, 10)
# With more rows, a page would be slow.
ROWS_MAX: Final = 100
# Fewer tables are seen at a glance.
_LOOKED_FOR_FROM: Final = 20
_SEARCH_CHARACTERS_MAX: Final = 200
_FIELDS_MAX: Final = 8
_DIGITS_MAX: Final = 6
_WILDCARDS: Final = frozenset("*?[")


class Named(Protocol):
    """A row of a list."""

    @property
    def name(self) -> str:
        """`database.table`."""
        raise NotImplementedError


_Row = TypeVar("_Row", bound=Named)


class PageView(NamedTuple):
    """What a browser asks to see."""

    search: str = ""
    # The page of each list, from 1 on.
    tables: int = 1
    mirrors: int = 1

    @classmethod
    def of(cls, query: str) -> "PageView":
        """Read the query of an address; what is wrong in it counts as missing."""
        try:
            fields = parse_qs(query, max_num_fields=_FIELDS_MAX)
        except ValueError:
            return cls()
        search = fields.get("table", [""])[0].strip()[:_SEARCH_CHARACTERS_MAX]
        return cls(search, _number(fields, "tables"), _number(fields, "mirrors"))

    def fits(self, name: str) -> bool:
        """Return whether a table is among those that are looked for."""
        wanted, own = self.search.lower(), name.lower()
        return fnmatchcase(own, wanted) if _WILDCARDS & {*wanted} else wanted in own

    def is_offered(self, rows: int) -> bool:
        """Return whether a list of so many tables has a field to look for one."""
        return bool(self.search) or rows > _LOOKED_FOR_FROM

    def link(self, section: str, page: int) -> str:
        """Return the address of another page of a list: `tables` or `mirrors`."""
        pages = {"tables": self.tables, "mirrors": self.mirrors, section: page}
        fields = {"table": self.search} if self.search else {}
        shown = {name: str(number) for name, number in pages.items() if number > 1}
        return f"?{urlencode(fields | shown)}"


FIRST_PAGE: Final = PageView()


@dataclass(frozen=True, slots=True)
class TablePage(Generic[_Row]):
    """One page of a list."""

    rows: Sequence[_Row]
    first: int  # of all that fit, the number of the first row here, from 1 on
    fitting: int
    # Addresses; "" if there is no such page.
    before: str
    after: str

    @property
    def last(self) -> int:
        """The number of the last row here."""
        return self.first + len(self.rows) - 1


def table_page(rows: Sequence[_Row], view: PageView, section: str) -> TablePage[_Row]:
    """Return the page of `rows` that `view` asks for; after the last page, the last one."""
    fitting = [row for row in rows if view.fits(row.name)] if view.search else rows
    pages = max(1, -(-len(fitting) // ROWS_MAX))
    page = min(view.tables if section == "tables" else view.mirrors, pages)
    start = (page - 1) * ROWS_MAX
    return TablePage(
        fitting[start : start + ROWS_MAX],
        start + 1,
        len(fitting),
        view.link(section, page - 1) if page > 1 else "",
        view.link(section, page + 1) if page < pages else "",
    )


def _number(fields: dict[str, list[str]], name: str) -> int:
    text = fields.get(name, [""])[0]
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
    return max(1, int(text)) if is_number else 1


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve that ends with its newest point, at the right.

    A point comes every quarter of a minute, and until then the curve stays as it is: a browser that
    draws it again for each step of the clock would do little else.
    """

    line: str  # the path of the curve; "" without two points
    area: str  # the same, closed at the bottom
    top: float  # the value at the upper edge
    span_seconds: float  # from the left to the right edge
    words: str  # what the curve shows, for a person who does not see it


def rates(points: Sequence[RatePoint], now: float) -> Curve:
    """Return the curve of records a second; `now` says which of their times are of today."""
    values = [(point.at, point.records) for point in points]
    return _curve(values, _top([value for _, value in values]), now, formatting.number)


def lags(points: Sequence[RatePoint], now: float) -> Curve:
    """Return the curve of the lag, where it is known."""
    known = [(point.at, point.lag) for point in points if point.lag is not None]
    return _curve(
        known, _round_top(max((lag for _, lag in known), default=0.0)), now, formatting.duration
    )


def _curve(
    points: Sequence[tuple[float, float]], top: float, now: float, text_of: Callable[[float], str]
) -> Curve:
    values = [value for _, value in points]
    if len(points) < 2:  # noqa: PLR2004  # a line has two ends
        return Curve("", "", top, _SPANS_SECONDS[0], "the curve begins after half a minute")
    end = points[-1][0]
    seconds = end - points[0][0]
    span = next((one for one in _SPANS_SECONDS if seconds <= one), _SPANS_SECONDS[-1])
    places = [
        (WIDTH * (1 - min(1.0, (end - at) / span)), HEIGHT * (1 - min(1.0, value / top)))
        for at, value in points
    ]
    line = "M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    area = f"{line} L{places[-1][0]:.1f},{HEIGHT} {places[0][0]:.1f},{HEIGHT} Z"
    at, highest = max(points, key=itemgetter(1))
    mean = sum(values) / len(values)
    cut = ", above the upper edge," if highest > top else ""
    return Curve(
        line,
        area,
        top,
        span,
        f"the last {formatting.duration(seconds)}: mean {text_of(mean)}, most {text_of(highest)}"
        f"{cut} at {formatting.clock(at, now)} UTC",
    )


def _top(values: Sequence[float]) -> float:
    """Return the value at the upper edge.

    A few high values, such as those of a copy, are cut: else all others would be a flat line. While
    nothing comes, nothing is usual.
    """
    busy = sorted(value for value in values if value)
    highest = max(busy, default=0.0)
    usual = busy[int(len(busy) * _USUAL_PART)] if busy else 0.0
    return _round_top(highest if highest <= usual * _PEAK else usual * _HEADROOM)


def _round_top(highest: float) -> float:
    """Return the next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 1.0
    while power * 10 < highest:
        power *= 10
    for step in _STEPS:
        if highest <= step * power:
            return max(_TOP_MIN, step * power)
    return max(_TOP_MIN, highest)


_QUOTED = re.compile(r"`(\S(?:[^`]*[^`\s])?)`")


class PageParts(NamedTuple):
    """A template, and the style and the script that all pages have."""

    template: Template
    style: str
    script: str


def html(facts: PipelineStatus, view: PageView = FIRST_PAGE, *, acting: bool = False) -> str:
    """Return the page with the tables of `view`; with `acting`, it has forms for the token."""
    parts = parts_of("page.html")
    mirrors = [] if facts.mirror is None else facts.mirror.tables
    return parts.template.render(
        facts=facts,
        acting=acting,
        style=parts.style,
        script=parts.script,
        view=view,
        tables=table_page(facts.tables, view, "tables"),
        noted=any(table.copy or table.kept_back for table in facts.tables),
        mirrors=table_page(mirrors, view, "mirrors"),
        curves=_curves(facts),
        width=WIDTH,
        height=HEIGHT,
    )


def _curves(facts: PipelineStatus) -> list[tuple[str, str, Curve, Callable[[float], str]]]:
    """Return id, title, curve, and the words of its scale."""
    if facts.throughput is None:
        return []
    points, now = facts.throughput.hour, facts.at
    return [
        ("hour", "Records a second", rates(points, now), formatting.number),
        ("late", "Lag", lags(points, now), formatting.duration),
    ]


def sentence(text: str) -> Markup:
    """Return a sentence in which the words between backticks are code."""
    escaped = str(escape(visible(text)))
    return Markup(_QUOTED.sub(r"<code>\1</code>", escaped))  # noqa: S704  # it is escaped


def security_headers(*, acting: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the headers that let the page load nothing but what is in it.

    With `acting`, its forms may be sent to where it came from.
    """
    parts = parts_of("page.html")
    policy = {
        "default-src": "'none'",
        "style-src": _source(parts.style),
        "script-src": _source(parts.script),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'" if acting else "'none'",
        "frame-ancestors": "'none'",
    }
    return (
        ("Content-Security-Policy", "; ".join(f"{key} {value}" for key, value in policy.items())),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    )


@cache
def parts_of(name: str) -> PageParts:
    """Return the parts of the page whose template has this name."""
    folder = files(__package__)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    for word in (
        sentence,
        formatting.amount,
        formatting.clock,
        formatting.duration,
        formatting.number,
        formatting.size,
        utc_text,
        visible,
        formatting.when,
    ):
        environment.filters[word.__name__] = word
    template = environment.from_string(folder.joinpath(name).read_text("utf-8"))
    return PageParts(
        template,
        folder.joinpath("page.css").read_text("utf-8"),
        folder.joinpath("page.js").read_text("utf-8"),
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
