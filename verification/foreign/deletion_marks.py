"""Columns by which replication programs mark rows as deleted: such rows are as good as absent.

https://debezium.io/documentation/reference/stable/transformations/event-flattening.html
https://fivetran.com/docs/core-concepts/system-columns-and-tables
https://docs.airbyte.com/platform/understanding-airbyte/airbyte-metadata-fields
https://clickhouse.com/docs/integrations/clickpipes/mysql/deduplication
https://clickhouse.com/docs/engines/database-engines/materialized-mysql
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa


class Mark(NamedTuple):
    """Which values mark a deleted row."""

    marks: Callable[[object], bool]
    sql: str  # the same for DuckDB, of a text


def _one_of(*words: str) -> Mark:
    listed = ", ".join(f"'{word}'" for word in words)
    return Mark(lambda value: str(value).lower() in words, f"lower({{}}) IN ({listed})")


_TRUE: Final = _one_of("true", "t", "1", "yes", "y")
_DELETES: Final = _one_of("d", "delete", "deleted")
_NEGATIVE: Final = Mark(lambda value: str(value).startswith("-"), "starts_with({}, '-')")
_THERE: Final = Mark(lambda value: value is not None and value != "", "{} <> ''")

# By the name of a column, in lower case.
MARKS: Final[Mapping[str, Mark]] = {
    "__deleted": _TRUE,
    "_fivetran_deleted": _TRUE,
    "_deleted": _TRUE,
    "is_deleted": _TRUE,
    "_peerdb_is_deleted": _TRUE,
    "_sign": _NEGATIVE,
    "__op": _DELETES,
    "_op": _DELETES,
    "op": _DELETES,
    "_ab_cdc_deleted_at": _THERE,
    "_sdc_deleted_at": _THERE,
    "deleted_at": _THERE,
}


def mark_among(names: Sequence[str]) -> str | None:
    """Return the first of some columns that marks deleted rows; None if none does."""
    return next((name for name in names if name.lower() in MARKS), None)


def sql_of(name: str, quoted: str, kind: pa.DataType) -> str:
    """Return the condition of DuckDB for the rows that the column `name` marks."""
    condition = quoted
    if not pa.types.is_boolean(kind):
        condition = MARKS[name.lower()].sql.format(f"CAST({quoted} AS VARCHAR)")
    return f"coalesce({condition}, false)"
