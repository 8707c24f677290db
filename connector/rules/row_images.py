"""The columns that a row event records before and after a change."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from connector.foundation.server_version import ServerVersion
from connector.rules.statement_facts import Generated, Table


class RowImage(Enum):
    """The values of `binlog_row_image`; the last one is only on MariaDB, since 11.4."""

    MINIMAL = "MINIMAL"
    NOBLOB = "NOBLOB"
    FULL = "FULL"
    FULL_NODUP = "FULL_NODUP"


class RowEventKind(Enum):
    """The kinds of row events."""

    WRITE = "write"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Images:
    """The names of the recorded columns; None for an image that the event does not have."""

    before: frozenset[str] | None
    after: frozenset[str] | None


def primary_key_equivalent(table: Table) -> frozenset[str]:
    """Return the columns of the PKE, by which a replica finds a row.

    The document leaves open which unique key is chosen if there are several without nullable
    columns. The servers take the first in their own order, which is that of `unique_keys`.
    """
    nullable = {column.name for column in table.columns if column.nullable}
    for key in table.unique_keys:
        if key.primary or nullable.isdisjoint(key.columns):
            return frozenset(key.columns)
    return _names(table)


def recorded_columns(
    table: Table,
    change: RowEventKind,
    row_image: RowImage,
    given: AbstractSet[str],
    server: ServerVersion,
) -> Images:
    """Return the columns of both images.

    `given` are the columns for which the statement has a value.
    """
    before = _before(table, row_image)
    after = _after(table, change, row_image, given, server)
    if change is not RowEventKind.WRITE and server.leaves_out_generated:
        generated = {
            column.name for column in table.columns if column.generated is not Generated.NO
        }
        before, after = before - generated, after - generated
    return Images(
        None if change is RowEventKind.WRITE else before,
        None if change is RowEventKind.DELETE else after,
    )


def _before(table: Table, row_image: RowImage) -> frozenset[str]:
    if row_image is RowImage.MINIMAL:
        return primary_key_equivalent(table)
    if row_image is RowImage.NOBLOB:
        return primary_key_equivalent(table) | _without_blobs(table)
    return _names(table)


def _after(
    table: Table,
    change: RowEventKind,
    row_image: RowImage,
    given: AbstractSet[str],
    server: ServerVersion,
) -> frozenset[str]:
    full = row_image is RowImage.FULL
    if full or (row_image is RowImage.FULL_NODUP and change is RowEventKind.WRITE):
        return _names(table)
    key = primary_key_equivalent(table)
    # The document does not say so: without a key, MariaDB records all columns.
    if server.is_mariadb and key == _names(table):
        return key
    after = frozenset(given) | _computed(table, change, given, server)
    if change is RowEventKind.WRITE and table.auto_increment is not None:
        after |= {table.auto_increment.name}
    if row_image is RowImage.NOBLOB:
        after |= _without_blobs(table)
        if server.is_mariadb:
            after |= key
    return after


def _computed(
    table: Table, change: RowEventKind, given: AbstractSet[str], server: ServerVersion
) -> frozenset[str]:
    """Return the generated columns that count as given; the document does not mention them.

    MariaDB records those that are stored. MySQL records each of an inserted row, and of an updated
    one those that are computed from a given column.
    """
    generated = [column for column in table.columns if column.generated is not Generated.NO]
    if server.is_mariadb:
        chosen = [column for column in generated if column.generated is Generated.STORED]
    elif change is RowEventKind.WRITE:
        chosen = generated
    else:
        chosen = [column for column in generated if column.based_on & given]
    return frozenset(column.name for column in chosen)


def _without_blobs(table: Table) -> frozenset[str]:
    return frozenset(column.name for column in table.columns if not column.blob)


def _names(table: Table) -> frozenset[str]:
    return frozenset(column.name for column in table.columns)
