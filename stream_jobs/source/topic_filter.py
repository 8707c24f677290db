"""The filter that leaves out the topics of tables that have no mirror by choice.

Patterns of tables count in the order of the settings: the first match decides. The name of a
topic tells the name of its table, except that `_` stands for every character that Kafka forbids.
The schema record of such a table has its real name; until that record is there, the topic is
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from connector.foundation.contract import row_topic
from connector.foundation.record_formats import read_document
from stream_jobs.source.topics import OffsetRange, schema_topic

if TYPE_CHECKING:
    from stream_jobs.source.client import KafkaClient


_T = TypeVar("_T")

_WILD: Final = frozenset("*?[")


def first_match(
    choices: Iterable[tuple[str, str, _T]], database: str, table: str, default: _T
) -> _T:
    """Return what is chosen for `database.table`; `default` if no pattern fits.

    A choice has the pattern of the database, that of the table, and what is chosen for them.
    """
    for of, name, chosen in choices:
        if fnmatchcase(database, of) and fnmatchcase(table, name):
            return chosen
    return default


def is_pattern(name: str) -> bool:
    """Return whether `name` may fit several names."""
    return not _WILD.isdisjoint(name)


class SkippedTables(NamedTuple):
    """Patterns of tables in the order of the settings; the first one that fits decides."""

    # The patterns of the database and of the table, and whether they are skipped.
    patterns: tuple[tuple[str, str, bool], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no table is skipped."""
        return not any(is_skipped for _, _, is_skipped in self.patterns)

    def have(self, database: str, table: str) -> bool:
        """Return whether `database.table` is skipped."""
        return first_match(self.patterns, database, table, default=False)


NO_SKIPPED_TABLES: Final = SkippedTables()


class TopicFilter:
    """Leaves topics of skipped tables out."""

    def __init__(self, prefix: str, skipped: SkippedTables) -> None:
        """Look at the topics of the pipeline `prefix`."""
        self._prefix = prefix
        self._skipped = skipped
        self._are_skipped: dict[str, bool] = {}
        # By topic, the database and the table of a schema record.
        self._names: dict[str, tuple[str, str]] = {}
        self._read_to = 0

    def skips(self, name: str) -> bool:
        """Return whether the table `name`, `database.table`, has no mirror by choice."""
        database, _, table = name.partition(".")
        return self._skipped.have(database, table)

    def without_skipped(self, client: KafkaClient, topics: Mapping[str, int]) -> dict[str, int]:
        """Return `topics` without those of skipped tables."""
        if self._skipped.is_empty:
            return dict(topics)
        for topic in topics.keys() - self._are_skipped.keys():
            _, database, table = topic.split(".")
            if "_" not in database + table:
                self._are_skipped[topic] = self._skipped.have(database, table)
        unknown = topics.keys() - self._are_skipped.keys()
        if unknown:
            self._read_names(client)
        for topic in unknown & self._names.keys():
            self._are_skipped[topic] = self._skipped.have(*self._names[topic])
        return {
            topic: count
            for topic, count in topics.items()
            if not self._are_skipped.get(topic, False)
        }

    def _read_names(self, client: KafkaClient) -> None:
        """Read the new records of the schema topic; those that are wrong are not for this class."""
        topic = schema_topic(self._prefix)
        if not client.partitions(topic):
            return
        start = max(self._read_to, client.first_offsets([(topic, 0)])[topic, 0])
        end = client.end_offsets([(topic, 0)])[topic, 0]
        for _, columns in client.read_ranges([OffsetRange(topic, 0, start, end)]):
            for value in columns.values:
                try:
                    record = read_document(value or b"")
                    database, table = str(record["database"]), str(record["table"])
                except (ValueError, KeyError, TypeError):
                    continue
                self._names[row_topic(self._prefix, database, table)] = database, table
        self._read_to = max(start, end)
