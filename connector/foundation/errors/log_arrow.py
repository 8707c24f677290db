"""L600: what has no form in Arrow."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

COLUMN = ErrorCode(
    "L601",
    "column {column}: {why}",
    frame=True,
    cause="The column, or a value of it, has no form in Arrow.",
    example={"column": "first_day", "why": "Arrow has no date 2024-00-00"},
)
NO_TYPE = ErrorCode(
    "L602",
    "its type {type} has no form in Arrow",
    cause="No released server writes columns of this type.",
    example={"type": "type 20"},
)
BATCH_TOO_LARGE = ErrorCode(
    "L603",
    "its values in one batch take more than 2 GiB",
    "ask for fewer batch_rows",
    cause="An Arrow array of strings or bytes holds 2 GiB at most.",
)
NO_DATE = ErrorCode(
    "L604",
    "Arrow has no date {value}",
    "ask for dates as text",
    cause="A server stores dates with zeros, such as 2024-00-00. Arrow has no value for them.",
    example={"value": "2024-00-00"},
)
NOT_TEXT = ErrorCode(
    "L605",
    "its value is not text of its character set",
    cause=(
        "An Arrow string is UTF-8, and the bytes of the value cannot be converted. With `rows()` "
        "the value comes as bytes."
    ),
)
NO_LABEL = ErrorCode(
    "L606",
    "its value {value} has no label",
    cause="An ENUM has fewer labels than the number that is stored. Bytes were changed.",
    example={"value": 9},
)
NO_DOCUMENT = ErrorCode(
    "L607",
    "it has changes of a document, which the log does not have",
    "SET GLOBAL binlog_row_image=FULL",
    cause=(
        "With binlog_row_value_options=PARTIAL_JSON, the log has the changes of a document. It has "
        "the document before them only if whole rows are logged."
    ),
)
