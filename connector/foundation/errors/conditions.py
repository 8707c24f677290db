"""R200: conditions that a user gives for a copy."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_END = End.CONFIGURATION
_CAUSE = (
    "Every account with the right to write to the topic of commands can send a condition. So a "
    "condition may only choose rows of one table, by the values that its records show."
)


def _condition(code: str, what: str, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        f"the condition {what}",
        "docs/snapshot.md says what one may hold",
        end=_END,
        cause=_CAUSE,
        example=example,
    )


ARGUMENT = ErrorCode(
    "R201",
    "--where: {why}",
    end=_END,
    frame=True,
    cause=_CAUSE,
    example={"why": "the condition is empty"},
)
ARGUMENT_OF_TABLE = ErrorCode(
    "R202",
    "{table}: --where: {why}",
    end=_END,
    frame=True,
    cause=_CAUSE,
    example={"table": "erp.orders", "why": "the condition is empty"},
)
NOT_ONE = _condition("R211", "is not one expression: look at its operators and parentheses")
TWO_WAYS = _condition("R212", "can be read in two ways: put parentheses around its parts")
LENGTH = _condition("R213", "has {length} characters, of {limit} at most", length=5000, limit=4096)
BACKSLASH = _condition("R214", "holds a backslash: write X'5C' instead")
CONTROL = _condition("R215", "holds a control character")
QUOTES = _condition("R216", "cannot be read: look at its quotes")
EMPTY = _condition("R217", "is empty")
COMMENT = _condition("R218", "holds a comment")
HEXADECIMAL = _condition("R219", "holds {word}: write X'…'", word="0x41")
FUNCTION = _condition(
    "R220", "calls {word}, which is none of the functions that it may", word="SLEEP"
)
WORD = _condition("R221", "holds {word}", word="@@version")
CLOSES = _condition("R222", "closes a parenthesis that is not open")
DEPTH = _condition("R223", "is nested more than {limit} deep", limit=12)
IS_OTHER = _condition("R224", "compares by IS with something else than NULL, TRUE and FALSE")
ESCAPE = _condition("R225", "has an ESCAPE that is not one plain character after LIKE")
UNKNOWN_FUNCTION = _condition("R226", "calls a function that it may not")
STAR = _condition("R227", "holds * where a column should be")
OTHER_TABLE = _condition("R228", "names another table than {table}", table="erp.orders")
NO_COLUMN = _condition(
    "R229",
    "names a column that {table} does not have, {column}",
    table="erp.orders",
    column="prize",
)
HIDDEN_COLUMN = _condition(
    "R233",
    "reads {column}, whose values the records of {table} do not show",
    table="erp.users",
    column="ssn",
)
OTHER = _condition("R230", "holds something else than comparisons of columns and constants")
CALCULATES = ErrorCode(
    "R231",
    "the condition calls a function or calculates, which a filter cannot",
    "docs/topics.md says what one may hold",
    end=_END,
    cause="A filter is evaluated here, and must have the same result as on the server.",
)
FILTER = ErrorCode(
    "R232",
    "envelope.filters, {tables}: {why}",
    end=_END,
    frame=True,
    cause="A filter chooses the rows of tables that have records, by their values alone.",
    example={"tables": "erp.orders", "why": "the condition is empty"},
)
