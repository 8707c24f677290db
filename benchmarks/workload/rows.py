"""Rows as SQL literals, the same ones for the same seed.

The order in which random numbers are drawn is part of the data: a generator that draws one more
makes another file.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from typing import TYPE_CHECKING

from benchmarks.workload.tables import WIDE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = [
    "alpha",
    "bravo",
    "delta",
    "echo",
    "karton",
    "größe",
    "prix",
    "été",
    "mañana",
    "注文",
    "配送",
    "quick",
    "brown",
    "fox",
    "leave",
    "at",
    "door",
    "call",
    "before",
    "gift",
    "wrap",
    "fragile",
    "second",
    "floor",
    "ring",
    "twice",
    "no",
    "signature",
    "paid",
    "cash",
    "discount",
    "loyalty",
]
STATUS = ("new", "paid", "packed", "shipped", "returned", "cancelled")
EPOCH = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - a DATETIME has no zone

_SHARE_OF_NULLS = 0.1
_SHARE_OF_NULLS_WIDE = 0.08


class Rows:
    """Draws rows of shop.orders and shop.wide."""

    def __init__(self, seed: int) -> None:
        """Begin at the start of the sequence of `seed`."""
        self.random = random.Random(seed)
        self.draw = self.random.random
        self._kinds = self._makers()

    def below(self, limit: float) -> int:
        """Draw a whole number from 0 on, below `limit`."""
        return int(self.draw() * limit)

    def text(self, low: int, high: int) -> str:
        """Draw a text of `low` to `high` words."""
        return " ".join(WORDS[self.below(len(WORDS))] for _ in range(low + self.below(high - low)))

    def when(self, *, micros: bool) -> str:
        """Draw a point in time within two years."""
        seconds = self.below(60_000_000)
        fraction = self.below(1_000_000) if micros else 0
        return f"'{EPOCH + dt.timedelta(seconds=seconds, microseconds=fraction)}'"

    def attributes(self) -> str:
        """Draw a small JSON document."""
        if self.draw() < _SHARE_OF_NULLS:
            return "NULL"
        document = {
            "src": ("web", "app", "shop")[self.below(3)],
            "qty": 1 + self.below(9),
            "w": round(self.draw() * 40, 3),
            "gift": self.draw() < 0.2,  # noqa: PLR2004
            "tags": WORDS[: self.below(4)],
        }
        return "'" + json.dumps(document, ensure_ascii=False) + "'"

    def order(self, key: int) -> str:
        """Draw the values of a row of shop.orders."""
        score = "NULL" if self.draw() < _SHARE_OF_NULLS else repr(self.draw() * 1000)
        note = "NULL" if self.draw() < _SHARE_OF_NULLS else "'" + self.text(4, 24) + "'"
        return (
            f"({key},{self.below(2_000_000)},'SKU-{self.below(10**9):09d}-{WORDS[self.below(9)]}',"
            f"{self.draw() * 100_000:.2f},{self.when(micros=True)},{self.when(micros=False)},"
            f"{self.attributes()},'{STATUS[self.below(6)]}',{score},{note})"
        )

    def wide(self, key: int) -> str:
        """Draw the values of a row of shop.wide."""
        values, makers = [str(key)], self._kinds
        for _, _, kind in WIDE_COLUMNS[1:]:
            null = self.draw() < _SHARE_OF_NULLS_WIDE
            values.append("NULL" if null else makers[kind]())
        return "(" + ",".join(values) + ")"

    def _makers(self) -> dict[str, Callable[[], str]]:
        """Return what draws a value of each kind of WIDE_COLUMNS."""
        below, draw, bits = self.below, self.draw, self.random.getrandbits
        return {
            "tiny": lambda: str(below(256) - 128),
            "small": lambda: str(below(65536)),
            "medium": lambda: str(below(2**24) - 2**23),
            "int": lambda: str(below(2**32) - 2**31),
            "big": lambda: str(below(2**62) - 2**61),
            "decimal": lambda: f"{(draw() - 0.5) * 1e12:.4f}",
            "long_decimal": lambda: str(Decimal(below(10**18)) * Decimal("0.0000000001")),
            "float": lambda: f"{draw() * 1000:.3f}",
            "double": lambda: repr((draw() - 0.5) * 1e9),
            "word": lambda: f"'{self.text(1, 4)[:40]}'",
            "words": lambda: f"'{self.text(4, 24)}'",
            "digits": lambda: f"'{below(10**8):08d}'",
            "date": lambda: f"'{(EPOCH + dt.timedelta(days=below(900))).date()}'",
            "time": lambda: f"'{below(24):02d}:{below(60):02d}:{below(60):02d}'",
            "seconds": lambda: self.when(micros=False),
            "micros": lambda: self.when(micros=True),
            "year": lambda: str(1990 + below(60)),
            "binary": lambda: f"X'{bits(128):032x}'",
            "varbinary": lambda: f"X'{bits(8 * 24):048x}'",
            "enum": lambda: str(1 + below(4)),
            "set": lambda: str(below(32)),
        }


class Pages:
    """Draws rows of docs.pages: two to ten kilobytes of text and JSON."""

    def __init__(self, seed: int) -> None:
        """Make the paragraphs and documents that the rows are put together from."""
        rows = Rows(seed)
        self._rows = rows
        self._paragraphs = [
            f'{rows.text(10, 40)} "{rows.text(2, 8)}",\n\t{rows.text(20, 80)}\\.\n'
            for _ in range(300)
        ]
        self._props = [
            {f"{WORDS[rows.below(9)]}_{n}": self._value(n) for n in range(24)} for _ in range(300)
        ]
        self._history = [
            [
                {"at": rows.below(10**10), "by": rows.text(1, 3), "diff": rows.draw()}
                for _ in range(rows.below(30))
            ]
            for _ in range(300)
        ]

    def _value(self, number: int) -> object:
        rows = self._rows
        choices: tuple[object, ...] = (
            rows.below(10**6),
            rows.draw() * 1e6,
            rows.text(1, 12),
            None,
            {"name": rows.text(1, 3), "on": rows.draw() < 0.5, "levels": [rows.below(100)] * 3},  # noqa: PLR2004
        )
        return choices[number % len(choices)]

    def page(self, key: int) -> str:
        """Draw the values of a row."""
        rows = self._rows
        body = "".join(
            self._paragraphs[rows.below(len(self._paragraphs))] for _ in range(2 + rows.below(12))
        )
        props = json.dumps(self._props[rows.below(300)], ensure_ascii=False)
        history = json.dumps(self._history[rows.below(300)], ensure_ascii=False)
        return (
            f"({key},'{rows.text(3, 9)}',{_literal(body)},{_literal(props)},{_literal(history)},"
            f"{rows.when(micros=False)})"
        )


def _literal(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f"'{text}'"
