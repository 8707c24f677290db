"""T500: filters that do not fit the columns of a table."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

_FIX = "correct {envelope.filters}: docs/topics.md says what one may compare"
_EXACT = "A filter must have the same result here as on the server, so it compares few types."


def _filter(code: str, text: str, cause: str = _EXACT, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        f"the filter of {{table}} {text}",
        _FIX,
        scope=Scope.TABLE,
        cause=cause,
        example={"table": "erp.orders", **example},
    )


NO_COLUMN = _filter(
    "T501",
    "names {column}, which is no column of its records",
    "The table has no such column now, or its records leave it out.",
    column="prize",
)
MASKED = _filter(
    "T502",
    "names {column}, which is masked",
    "Records have another value than the row, and a filter would tell something about it.",
    column="erp.orders.phone",
)
NOT_COMPARABLE = _filter(
    "T503",
    "compares {what}, and can only tell whether it is NULL",
    what="erp.orders.weight (DOUBLE)",
)
KINDS = _filter(
    "T504",
    "compares {one} with {other}",
    "A server converts one of them, by rules that depend on its version and settings.",
    one="erp.orders.status (VARCHAR)",
    other="5",
)
ORDER = _filter(
    "T505",
    "asks for the order of texts, of {what}",
    "Which of two texts comes first depends on the collation.",
    what="erp.orders.status (VARCHAR)",
)
NO_MOMENT = _filter(
    "T506",
    "compares a date with {constant!r}",
    "A date is written as 2026-01-31, a moment as 2026-01-31 08:15:00 or 2026-01-31.",
    constant="31.1.2026",
)
LIKE = _filter(
    "T507",
    "uses LIKE for something else than a text column and a text, for {what}",
    what="erp.orders.amount (DECIMAL)",
)
NO_TRUTH = _filter(
    "T508",
    "takes {what} for true or false",
    what="erp.orders.status (VARCHAR)",
)
