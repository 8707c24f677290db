"""The errors of a record and of a table, and which of them stop that table alone.

The scope of an error's code says whether the other tables can go on. Every error of another scope
ends the job: Kafka or the storage does not answer, the schema topic cannot be read, another
process took over. A supervisor starts the job again, and it may succeed.

A defect of the program becomes an error of the table in which it shows. Only what a program
raises when its own assumptions fail is a defect. What the machine, the storage or Kafka raise
concerns all tables, and passes through.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from connector.foundation.errors.code import Scope
from connector.foundation.errors.message import Message
from stream_jobs.errors import MirrorError, job_errors, record_errors

if TYPE_CHECKING:
    from stream_jobs.source.sequence import PackedSequence


class RecordPosition(NamedTuple):
    """The topic, partition and offset of a record."""

    topic: str
    partition: int
    offset: int
    seq: PackedSequence | None

    def corrupt(self, why: Message) -> MirrorError:
        """Return the error that names this record, and why it is refused."""
        where = {"topic": self.topic, "partition": self.partition, "offset": self.offset}
        if self.seq is None:
            return MirrorError(record_errors.RECORD_WITHOUT_SEQUENCE, **where, why=why)
        # Two pieces of advice would contradict each other.
        code = record_errors.ADVISED_RECORD if why.fix else record_errors.RECORD
        return MirrorError(code, **where, seq=self.seq.unpack(), why=why)


class InvalidRecordError(Exception):
    """The first of several records that is wrong, by its place among them."""

    def __init__(self, place: int, why: Message) -> None:
        """Refuse the record at `place`."""
        super().__init__(place, why)
        self.place = place
        self.why = why


DEFECT_TYPES: Final = (
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
)
# The innermost places of the code that are told.
_PLACES_MAX: Final = 4
_FOLDER: Final = Path(__file__).parents[2]


def table_defect(topic: str, error: Exception) -> MirrorError:
    """Return the error of a table; it has no text of `error`, which may hold values."""
    facts = {"topic": topic, "kind": type(error).__name__, "places": places_of(error)}
    return MirrorError(job_errors.TABLE_DEFECT, **facts)


def places_of(error: Exception) -> list[str]:
    """Return where an error was raised: the innermost places of the code."""
    frames = traceback.extract_tb(error.__traceback__)[-_PLACES_MAX:]
    return [f"{_short(frame.filename)}:{frame.lineno}" for frame in frames]


def _short(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(_FOLDER)) if path.is_relative_to(_FOLDER) else path.name


# The columns do not fit rows that exist; a `t` record takes these away.
_ROWS_IN_THE_WAY: Final = (
    job_errors.KEY_CHANGED,
    job_errors.KEY_LOST,
    job_errors.KEY_IN_THE_WAY,
    job_errors.COLUMN_RETYPED,
    job_errors.ZERO_DEFAULT,
    job_errors.UNKNOWN_DEFAULT,
)


def concerns_one_table(error: MirrorError) -> bool:
    """Return whether the other tables can go on after `error`."""
    return error.code.scope is Scope.TABLE


def concerns_existing_rows(error: MirrorError) -> bool:
    """Return whether the error is over once the rows of the table are gone."""
    return error.code in _ROWS_IN_THE_WAY
