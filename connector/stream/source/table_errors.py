"""Tables at the server: what they are, and conditions and filters on their rows."""

from connector.foundation.errors.code import configuration_error, frame, table_error

TABLE_MISSING = table_error(
    "S801",
    "{server}: table {table} does not exist, or the account may not read it",
    "GRANT SELECT ON {database}.* TO the account of {source.user}",
    cause="Servers hide tables that an account may not read, so the two look the same.",
)
VIEW = table_error(
    "S802",
    "{server}: {table} is a view, whose rows are not in the log",
    "name the tables that it is made of",
    cause="A view has no rows of its own. The log has the rows of its tables.",
)
SEQUENCE = table_error(
    "S803",
    "{server}: {table} is a sequence, whose values are no rows",
    "exclude it",
    cause="A sequence of MariaDB gives numbers to rows of tables. These rows are in the log.",
)
ROWS_WITHOUT_TABLE = table_error(
    "T901",
    "{server}: table {name} has rows at {file}:{position}, but does not exist, and the log up to "
    "{end_file}:{end_position} has no statement that drops it",
    "exclude the table",
    cause="The log does not name the columns of the table, so the server is asked for them. It "
    "has no such table, or the account does not see it.",
    example={"end_file": "binlog.000042", "end_position": 90210},
)
LABELS_UNCERTAIN = table_error(
    "T902",
    "{server}: table {name}: the log does not name the labels of column {column}, and the server "
    "shows some characters of them as `?`",
    "SET GLOBAL binlog_row_metadata=FULL, or exclude the table",
    cause="Labels of ENUM and SET may have characters that information_schema cannot show, so "
    "they are known from the log alone.",
    example={"column": "mood"},
)
COPY = frame("copy of table {name}: {why}", was="T905")
NOT_SHOWN = table_error(
    "T906",
    "table {name}: the log does not name its columns, and the server does not show them: {why}",
    cause="The server is asked for the columns of the table, by its name. It refuses: the account "
    "may not read the table, or the table is damaged.",
    example={
        "why": "source db1:3306: error 1142: SELECT command denied to user 'cdc'@'%' for table "
        "'orders'; GRANT SELECT on the table TO the account of source.user"
    },
)

ROW_FILTER = table_error(
    "T509",
    "the filter of {table} {reason}",
    "correct {envelope.filters}: docs/topics.md says what one may compare",
    cause="A filter must have the same result here as on the server.",
)
FILTER_NO_COLUMN = ROW_FILTER.because(
    "names {column}, which is no column of its records", was="T501"
)
MASKED = ROW_FILTER.because("names {column}, which is masked", was="T502")
NOT_COMPARABLE = ROW_FILTER.because(
    "compares {what}, and can only tell whether it is NULL", was="T503"
)
KINDS = ROW_FILTER.because("compares {one} with {other}", was="T504")
ORDER = ROW_FILTER.because("asks for the order of texts, of {what}", was="T505")
NO_MOMENT = ROW_FILTER.because("compares a date with {constant!r}", was="T506")
LIKE = ROW_FILTER.because(
    "uses LIKE for something else than a text column and a text, for {what}", was="T507"
)
NO_TRUTH = ROW_FILTER.because("takes {what} for true or false", was="T508")

ARGUMENT = frame("--where: {why}", was="R201")
ARGUMENT_OF_TABLE = frame("{table}: --where: {why}", was="R202")

CONDITION = configuration_error(
    "R240",
    "the condition {reason}",
    "docs/snapshot.md says what one may hold",
    cause="Every account with the right to write to the topic of commands can send a condition. "
    "So a condition may only choose rows of one table, by the values that its records show.",
)
NOT_ONE = CONDITION.because(
    "is not one expression: look at its operators and parentheses", was="R211"
)
TWO_WAYS = CONDITION.because(
    "can be read in two ways: put parentheses around its parts", was="R212"
)
LENGTH = CONDITION.because("has {length} characters, of {limit} at most", was="R213")
BACKSLASH = CONDITION.because("holds a backslash: write X'5C' instead", was="R214")
CONTROL = CONDITION.because("holds a control character", was="R215")
QUOTES = CONDITION.because("cannot be read: look at its quotes", was="R216")
EMPTY = CONDITION.because("is empty", was="R217")
COMMENT = CONDITION.because("holds a comment", was="R218")
HEXADECIMAL = CONDITION.because("holds {word}: write X'…'", was="R219")
FUNCTION = CONDITION.because("calls {word}, which is none of the functions that it may", was="R220")
WORD = CONDITION.because("holds {word}", was="R221")
CLOSES = CONDITION.because("closes a parenthesis that is not open", was="R222")
DEPTH = CONDITION.because("is nested more than {limit} deep", was="R223")
IS_OTHER = CONDITION.because(
    "compares by IS with something else than NULL, TRUE and FALSE", was="R224"
)
ESCAPE = CONDITION.because("has an ESCAPE that is not one plain character after LIKE", was="R225")
UNKNOWN_FUNCTION = CONDITION.because("calls a function that it may not", was="R226")
STAR = CONDITION.because("holds * where a column should be", was="R227")
OTHER_TABLE = CONDITION.because("names another table than {table}", was="R228")
CONDITION_NO_COLUMN = CONDITION.because(
    "names a column that {table} does not have, {column}", was="R229"
)
OTHER = CONDITION.because(
    "holds something else than comparisons of columns and constants", was="R230"
)
HIDDEN_COLUMN = CONDITION.because(
    "reads {column}, whose values the records of {table} do not show", was="R233"
)

CALCULATES = configuration_error(
    "R231",
    "the condition calls a function or calculates, which a filter cannot",
    "docs/topics.md says what one may hold",
    cause="A filter is evaluated here, and must have the same result as on the server.",
)
FILTER = frame("envelope.filters, {tables}: {why}", was="R232")

SURROGATE_KEYS = table_error(
    "R329",
    "copy of table {table}: surrogate-key {column} {reason}",
    "name another column, or leave surrogate-key out",
    cause="The table is read in the order of that column, each chunk after the last row of the "
    "one before.",
)
SURROGATE_KEY = SURROGATE_KEYS.because(
    "is not one of the columns of its records that are NOT NULL and alone a unique key", was="R326"
)
SURROGATE_KEY_MASKED = SURROGATE_KEYS.because("is masked by {source.masks}", was="R327")
