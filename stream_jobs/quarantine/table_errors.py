"""Which errors concern one table alone: its table is set aside, and all others go on.

Every other error ends the job: Kafka or the storage does not answer, the schema topic cannot be
read, another process took over. A supervisor starts the job again, and it may succeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import mirror, mirror_choices, mirror_records, mirror_tables

if TYPE_CHECKING:
    from connector.errors import MirrorError

# The columns do not fit rows that exist; a `t` record takes these away.
_ROWS_IN_THE_WAY: Final = (
    mirror.KEY_CHANGED,
    mirror.KEY_LOST,
    mirror.KEY_IN_THE_WAY,
    mirror.COLUMN_RETYPED,
    mirror.ZERO_DEFAULT,
    mirror.UNKNOWN_DEFAULT,
)
_ONE_TABLE: Final = frozenset(
    code.code
    for code in (
        *_ROWS_IN_THE_WAY,
        # Another table may show it, too, but does not have to.
        mirror.TABLE_DEFECT,
        # The mirror cannot follow the columns.
        mirror.UNKNOWN_TYPE,
        mirror.COLUMN_NAME,
        mirror.SCHEMA_MISSING,
        # The topic, or the place of the mirror.
        mirror.PARTITIONS_ADDED,
        mirror.ANOTHER_TABLE,
        mirror.MIRROR_GONE,
        mirror.MODE_CHANGED,
        mirror_records.DAMAGED_BATCH,
        mirror_records.BATCH_TOO_LARGE,
        mirror_records.RECORDS_GONE,
        mirror_records.TOPIC_SHORTER,
        mirror_records.PARTITIONS_MISSING,
        # A record.
        mirror_records.BEYOND_PROGRESS,
        mirror_records.NO_SEQUENCE,
        mirror_records.WRONG_SEQUENCE,
        mirror_records.NO_HEADER,
        mirror_records.WRONG_OP,
        mirror_records.NO_VALUE,
        mirror_records.NO_KEY,
        mirror_records.NOT_JSON,
        mirror_records.NO_IMAGE,
        mirror_records.NO_COLUMN,
        mirror_records.WRONG_FORM,
        mirror_records.WRONG_VALUE,
        mirror_records.ZERO_DATE,
        mirror_records.ZERO_KEY,
        mirror_records.NO_SUCH_ROW,
        mirror_records.OUT_OF_ORDER,
        # The settings do not fit the table.
        mirror_choices.NO_COLUMN,
        mirror_choices.SIMILAR_COLUMN,
        mirror_choices.KEY_COLUMN,
        mirror_choices.HIDDEN_COLUMN_GONE,
        mirror_choices.OTHER_COLUMNS,
        mirror_choices.OTHER_PARTITIONS,
        mirror_choices.WRONG_LAYOUT,
        mirror_choices.NAME_TWICE,
        # The Delta table was changed by another program, or is damaged.
        mirror_tables.PATH_OUTSIDE,
        mirror_tables.VERSION_MISSING,
        mirror_tables.LOG_DAMAGED,
        mirror_tables.FEATURES_UNKNOWN,
        mirror_tables.OTHER_PROTOCOL,
        mirror_tables.COLUMN_UNKNOWN,
        mirror_tables.FILE_MISSING,
        mirror_tables.FILE_DAMAGED,
        mirror_tables.FILE_UNREADABLE,
        mirror_tables.VECTOR_DAMAGED,
        mirror_tables.FILES_GONE,
        mirror_tables.NO_METADATA,
        mirror_tables.PROPERTY_WRONG,
        mirror_tables.NO_PARTITION,
    )
)


def concerns_one_table(error: MirrorError) -> bool:
    """Return whether the other tables can go on after `error`."""
    return error.code.code in _ONE_TABLE


def concerns_existing_rows(error: MirrorError) -> bool:
    """Return whether the error is over once the rows of the table are gone."""
    return error.code in _ROWS_IN_THE_WAY
