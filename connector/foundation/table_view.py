"""Which tables a list shows, of thousands: the options of both programs, and words for the rest.

A list begins with what is wrong, and then has what is hot. So its first tables are mostly enough.
"""

import argparse
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from connector.foundation.argument_parser import ArgumentParser, whole_number

TABLES_SHOWN: Final = 20


class TableView(NamedTuple):
    """Which tables are shown."""

    pattern: str = "*"  # of `database.table`
    limit: int | None = TABLES_SHOWN  # how many; None: all of them

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "TableView":
        """Return what the options of `add_table_view` chose."""
        return cls(arguments.table, None if arguments.all else arguments.limit)

    @property
    def is_narrow(self) -> bool:
        """Whether a pattern leaves tables out."""
        return self.pattern != "*"

    def fits(self, name: str) -> bool:
        """Return whether `database.table` fits the pattern."""
        return fnmatchcase(name, self.pattern)

    def hint(self, count: int) -> str:
        """Return how to see the others of `count` tables; "" if all are shown."""
        if self.limit is None or count <= self.limit:
            return ""
        return f"{self.limit:,} are shown: --table PATTERN chooses, --limit N and --all show more"


# What is shown without these options, and what programs get.
FIRST_TABLES: Final = TableView()
ALL_TABLES: Final = TableView(limit=None)


def add_table_view(parser: ArgumentParser, note: str = "") -> None:
    """Declare which tables are shown; `note` says more about the pattern."""
    parser.add_argument(
        "--table",
        default="*",
        metavar="PATTERN",
        help=f"Only these tables: database.table, with *, ? and [...].{note}",
    )
    parser.add_argument(
        "--limit",
        type=whole_number(1),
        default=TABLES_SHOWN,
        metavar="N",
        help=f"Show at most N tables, {TABLES_SHOWN} by default.",
    )
    parser.add_argument("--all", action="store_true", help="All of them.")
