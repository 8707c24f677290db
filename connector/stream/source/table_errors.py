"""Tables at the server: what they are, and conditions and filters on their rows."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode, Scope

TABLE_MISSING = ErrorCode(
    "S801",
    "{server}: table {table} does not exist, or the account may not read it",
    "GRANT SELECT ON {database}.* TO the account of {source.user}",
    cause="Servers hide tables that an account may not read, so the two look the same.",
    example={"server": "source db1:3306", "table": "erp.orders", "database": "erp"},
    scope=Scope.TABLE,
)

VIEW = ErrorCode(
    "S802",
    "{server}: {table} is a view, whose rows are not in the log",
    "name the tables that it is made of",
    cause="A view has no rows of its own. The log has the rows of its tables.",
    example={"server": "source db1:3306", "table": "erp.open_orders"},
    scope=Scope.TABLE,
)

SEQUENCE = ErrorCode(
    "S803",
    "{server}: {table} is a sequence, whose values are no rows",
    "exclude it",
    cause="A sequence of MariaDB gives numbers to rows of tables. These rows are in the log.",
    example={"server": "source db1:3306", "table": "erp.order_numbers"},
    scope=Scope.TABLE,
)

ROWS_WITHOUT_TABLE = ErrorCode(
    "T901",
    "{server}: table {name} has rows at {file}:{position}, but does not exist, and the log up to "
    "{end_file}:{end_position} has no statement that drops it",
    "exclude the table",
    cause=(
        "The log does not name the columns of the table, so the server is asked for them. It has "
        "no such table, or the account does not see it."
    ),
    example={
        "server": "source db1:3306",
        "name": "erp.orders",
        "file": "binlog.000042",
        "position": 1187,
        "end_file": "binlog.000042",
        "end_position": 90210,
    },
    scope=Scope.TABLE,
)

LABELS_UNCERTAIN = ErrorCode(
    "T902",
    "{server}: table {name}: the log does not name the labels of column {column}, and the server "
    "shows some characters of them as `?`",
    "SET GLOBAL binlog_row_metadata=FULL, or exclude the table",
    cause=(
        "Labels of ENUM and SET may have characters that information_schema cannot show, so they "
        "are known from the log alone."
    ),
    example={"server": "source db1:3306", "name": "erp.orders", "column": "mood"},
    scope=Scope.TABLE,
)

COPY = ErrorCode(
    "T905",
    "copy of table {name}: {why}",
    frame=True,
    cause="The table cannot be copied.",
    example={"name": "erp.orders", "why": "column shape has type xmltype"},
)

NOT_SHOWN = ErrorCode(
    "T906",
    "table {name}: the log does not name its columns, and the server does not show them: {why}",
    cause=(
        "The server is asked for the columns of the table, by its name. It refuses: the account "
        "may not read the table, or the table is damaged."
    ),
    example={
        "name": "erp.orders",
        "why": "source db1:3306: error 1142: SELECT command denied to user 'cdc'@'%' for table "
        "'orders'; GRANT SELECT on the table TO the account of source.user",
    },
    scope=Scope.TABLE,
)

_EXACT = "A filter must have the same result here as on the server, so it compares few types."

_FIX = "correct {envelope.filters}: docs/topics.md says what one may compare"


def _filter(code: str, text: str, cause: str = _EXACT, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        f"the filter of {{table}} {text}",
        _FIX,
        scope=Scope.TABLE,
        cause=cause,
        example={"table": "erp.orders", **example},
    )


FILTER_NO_COLUMN = _filter(
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

_CAUSE = (
    "Every account with the right to write to the topic of commands can send a condition. So a "
    "condition may only choose rows of one table, by the values that its records show."
)

ARGUMENT = ErrorCode(
    "R201",
    "--where: {why}",
    end=End.CONFIGURATION,
    frame=True,
    cause=_CAUSE,
    example={"why": "the condition is empty"},
)

ARGUMENT_OF_TABLE = ErrorCode(
    "R202",
    "{table}: --where: {why}",
    end=End.CONFIGURATION,
    frame=True,
    cause=_CAUSE,
    example={"table": "erp.orders", "why": "the condition is empty"},
)


def _condition(code: str, what: str, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        f"the condition {what}",
        "docs/snapshot.md says what one may hold",
        end=End.CONFIGURATION,
        cause=_CAUSE,
        example=example,
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

CONDITION_NO_COLUMN = _condition(
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
    end=End.CONFIGURATION,
    cause="A filter is evaluated here, and must have the same result as on the server.",
)

FILTER = ErrorCode(
    "R232",
    "envelope.filters, {tables}: {why}",
    end=End.CONFIGURATION,
    frame=True,
    cause="A filter chooses the rows of tables that have records, by their values alone.",
    example={"tables": "erp.orders", "why": "the condition is empty"},
)

_TABLE = {"table": "erp.orders"}

SURROGATE_KEY = ErrorCode(
    "R326",
    "copy of table {table}: surrogate-key {column} is not one of the columns of its records that "
    "are NOT NULL and alone a unique key",
    "name another column, or leave surrogate-key out",
    cause=(
        "The table is read in the order of that column, each chunk after the last row of the one "
        "before. Rows with the same value, or without one, would be left out."
    ),
    example={**_TABLE, "column": "created_at"},
    scope=Scope.TABLE,
)

SURROGATE_KEY_MASKED = ErrorCode(
    "R327",
    "copy of table {table}: surrogate-key {column} is masked by {source.masks}",
    "name another column, or leave surrogate-key out",
    cause="The table is read in the order of that column, so the order of its records would tell "
    "the order of the values that are masked.",
    example={"table": "erp.users", "column": "mail"},
    scope=Scope.TABLE,
)
