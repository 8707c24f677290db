"""How `check` shows many tables of one kind."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from connector.cli.check import show_row_gaps
from connector.foundation.errors.message import Message
from connector.stream.source import table_errors
from connector.stream.source.findings import RowLoggingGap

NOT_SEEN = Message(table_errors.NOT_SEEN, {"rights": "SUPER"})
LAST = (
    "[S679] not seen: sessions of accounts with SUPER can change binlog_format for themselves, or "
    "set sql_log_bin = 0, after which the log has nothing of their changes\n"
)


def shown(*gaps: RowLoggingGap) -> str:
    output = StringIO()
    show_row_gaps(Console(file=output, width=80), gaps, NOT_SEEN)
    return output.getvalue()


def test_five_tables_are_shown_with_the_number_of_the_others() -> None:
    places = tuple((f"shop.t{number}", "ALTER TABLE …") for number in range(1, 1201))
    gap = RowLoggingGap("row images: PKE", Message(table_errors.NO_KEY, {}), places)
    assert shown(gap) == (
        "Changes of followed tables that would not arrive as whole rows:\n"
        "row images: PKE: [S675] these tables have no primary key, and no unique key without "
        "nullable columns: their rows arrive without a key\n"
        "  shop.t1  ALTER TABLE …\n"
        "  shop.t2  ALTER TABLE …\n"
        "  shop.t3  ALTER TABLE …\n"
        "  shop.t4  ALTER TABLE …\n"
        "  shop.t5  ALTER TABLE …\n"
        f"  1,195 more of 1,200\n{LAST}"
    )


def test_a_schema_without_gaps_says_so() -> None:
    facts = {"objects": ["events"], "rights": ["EVENT"], "account": "'cdc'@'%'"}
    hidden = RowLoggingGap("", Message(table_errors.HIDDEN, facts))
    nothing = (
        "Nothing was found that keeps changes of followed tables from arriving as whole rows.\n"
    )
    assert shown() == nothing + LAST
    assert shown(hidden) == (
        f"{nothing}"
        "[S677] the account does not see all events of this server, so that some may be missing "
        "here\n"
        "  GRANT EVENT ON *.* TO 'cdc'@'%'\n"
        f"{LAST}"
    )
