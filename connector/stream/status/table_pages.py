"""The tables that a page shows, of thousands: those that somebody looks for, a hundred at a time.

A browser asks for `/?table=shop.&tables=2`. What a person looks for is a part of the name, or a
pattern with wildcards; upper and lower case are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qs, urlencode

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
