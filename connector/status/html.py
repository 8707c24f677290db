"""The page: a template that escapes everything, and a policy by which only our script runs.

Names of databases, tables and columns come from the source, and anybody may have chosen them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from connector.errors.visible import visible
from connector.status import curve, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Template

    from connector.status.facts import Facts

# With more tables, the page would be slow; `/status.json` has all.
_TABLES_MAX = 100


_QUOTED = re.compile(r"`(\S(?:[^`]*[^`\s])?)`")


class _Parts(NamedTuple):
    template: Template
    style: str
    script: str


def html(facts: Facts, *, acting: bool = False) -> str:
    """Return the page; with `acting`, it has forms, which need the token."""
    parts = _parts()
    mirrors = [] if facts.mirror is None else facts.mirror.tables
    return parts.template.render(
        facts=facts,
        acting=acting,
        style=parts.style,
        script=parts.script,
        tables=facts.tables[:_TABLES_MAX],
        noted=any(table.copy or table.kept_back for table in facts.tables),
        more_tables=max(0, len(facts.tables) - _TABLES_MAX),
        mirror_tables=mirrors[:_TABLES_MAX],
        more_mirrors=max(0, len(mirrors) - _TABLES_MAX),
        curves=_curves(facts),
        width=curve.WIDTH,
        height=curve.HEIGHT,
    )


def _curves(facts: Facts) -> list[tuple[str, str, curve.Curve, Callable[[float], str]]]:
    """Return id, title, curve, and the words of its scale."""
    if facts.throughput is None:
        return []
    points, now = facts.throughput.hour, facts.at
    return [
        ("hour", "Records a second", curve.rates(points, now), words.number),
        ("late", "Lag", curve.lags(points, now), words.duration),
    ]


def said(text: str) -> Markup:
    """Return a sentence in which the words between backticks are code."""
    escaped = str(escape(visible(text)))
    return Markup(_QUOTED.sub(r"<code>\1</code>", escaped))  # noqa: S704  # it is escaped


def security_headers(*, acting: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the headers that let the page load nothing but what is in it.

    With `acting`, its forms may be sent to where it came from.
    """
    parts = _parts()
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
def _parts() -> _Parts:
    folder = files(__package__)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    for word in (
        said,
        words.amount,
        words.clock,
        words.duration,
        words.iso,
        words.number,
        words.size,
        visible,
        words.when,
    ):
        environment.filters[word.__name__] = word
    template = environment.from_string(folder.joinpath("page.html").read_text("utf-8"))
    return _Parts(
        template,
        folder.joinpath("page.css").read_text("utf-8"),
        folder.joinpath("page.js").read_text("utf-8"),
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
