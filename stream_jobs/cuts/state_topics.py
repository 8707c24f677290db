"""The connector's state topics: how much it has delivered, and which tables it is copying.

*Progress* (`<prefix>.progress`). Each Kafka transaction of the connector ends with a progress
record and holds whole transactions of the source. So the place of such a record is one moment of
the source. All changes before it have a lower `cdc.seq`: changes of transactions, which begin
before its position, and changes that were written between two transactions, which it counts
(`connector.stream.progress.sequences`).

*Copies* (`<prefix>.snapshot`). Each state of a copy is a record in the Kafka transaction of the
rows that it counts. A table that is being copied does not have all rows of any moment.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from connector.foundation import contract, control_records
from connector.foundation.record_formats import read_document
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.topics import OffsetRange

# Offsets that are looked at for the newest record; a transaction takes two of them.
_TAIL: Final = 200
# Offsets that are read at once of the whole topic.
_PIECE: Final = 20_000
_ROWS_OF_AN_EVENT: Final = 10**contract.SEQ_ROW_DIGITS


class DeliveredPosition(NamedTuple):
    """A moment of the source, up to which the topics have everything."""

    flavour: str
    gtid: str | None
    position: str  # FILE:POSITION; "" if the server has not named it
    bound: PackedSequence  # all changes before the moment are below it, and no other one is
    # Tables with rows that foreign keys have changed, and that are not copied yet.
    cascaded: frozenset[str] = frozenset()
    server_uuid: str = ""  # of the server that the position belongs to
    # By `database.table`, the id of its column list, of tables that may have another one than in
    # their newest schema record; as in `ProgressRecord`.
    column_lists: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, record: control_records.ProgressRecord) -> "DeliveredPosition":
        """Return the moment of a progress record.

        Raises KeyError, TypeError or ValueError for other documents, and MirrorError for a sequence
        that is too large.
        """
        file, position, count = record["file"], record["position"], record["between"]
        number = int(file.rpartition(".")[2]) if file else 0
        # Records between two transactions count from the last byte of the one before.
        event, row = divmod(count, _ROWS_OF_AN_EVENT)
        bound = contract.Sequence(record["epoch"], number, contract.last_byte(position), event, row)
        place = f"{file}:{position}" if file else ""
        packed = PackedSequence.pack(bound)
        cascaded = frozenset(
            f"{database}.{table}"
            for database, tables in record["cascaded_rows"].items()
            for table in tables
        )
        server = record.get("server_uuid", "")
        # Of rows, and of statements since then.
        lists = {**record.get("current_schemas", {}), **record.get("stated_schemas", {})}
        return cls(record["flavour"], record["gtid_set"], place, packed, cascaded, server, lists)


class ProgressTopic:
    """Follows `<prefix>.progress`."""

    def __init__(self, client: KafkaClient, prefix: str) -> None:
        """Read the topic of the pipelines with `prefix`."""
        self._client = client
        self._place = contract.control_topic(prefix, contract.PROGRESS_TOPIC_SUFFIX), 0
        self._read_to = -1
        self._newest: DeliveredPosition | None = None
        self._pipeline: bytes | None = None
        # Pipelines that others have replaced.
        self._replaced: set[bytes] = set()

    @property
    def read_to(self) -> int:
        """The offset after the newest record, and its marker."""
        return self._read_to

    @property
    def topic(self) -> str:
        """The name of the topic."""
        return self._place[0]

    @property
    def are_several(self) -> bool:
        """Whether two pipelines write at the same time: then no record stands for all tables."""
        return self._pipeline in self._replaced

    def newest(self) -> DeliveredPosition | None:
        """Return the newest record that can be read; None if there is none.

        Raises MirrorError if the brokers do not answer.
        """
        if self._read_to < 0 and not self._client.partitions(self._place[0]):
            return None
        end = self._client.end_offsets([self._place])[self._place]
        if end < self._read_to:
            # The topic was made again.
            self._read_to, self._newest = -1, None
        if end > self._read_to:
            self._read(max(0, end - _TAIL, self._read_to), end)
        return self._newest

    def highest(self) -> PackedSequence | None:
        """Return the sequence that no change of any pipeline reaches; None without a record.

        This reads the whole topic. Raises MirrorError if the brokers do not answer.
        """
        first = self._client.first_offsets([self._place])[self._place]
        end = self._client.end_offsets([self._place])[self._place]
        bound = None
        while first < end:
            wanted = OffsetRange(*self._place, first, min(end, first + _PIECE))
            ((_, columns),) = self._client.read_ranges([wanted])
            of_pipelines = dict(zip(columns.keys, columns.values, strict=True))
            for moment in filter(None, map(_moment, of_pipelines.values())):
                bound = moment.bound if bound is None else max(bound, moment.bound)
            first = wanted.end
        return bound

    def _read(self, start: int, end: int) -> None:
        first = self._client.first_offsets([self._place])[self._place] if self._read_to < 0 else 0
        for columns in self._client.read_back(self._place, first, end, end - start):
            for key, value in zip(columns.keys, columns.values, strict=True):
                self._take(key or b"", value or b"")
            if self._newest is not None:
                break
            # Aborted transactions alone.
        self._read_to = end

    def _take(self, pipeline: bytes, value: bytes) -> None:
        moment = _moment(value)
        if moment is None:
            return
        self._newest = moment
        if pipeline != self._pipeline:
            if self._pipeline is not None:
                self._replaced.add(self._pipeline)
            self._pipeline = pipeline


def _moment(value: bytes | None) -> DeliveredPosition | None:
    """Return the moment of a record; None if another program wrote it."""
    try:
        return DeliveredPosition.of(read_document(value or b""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


COPYING: Final = "the connector is copying it"
COPY_FAILED: Final = "its copy has failed"
_REASONS: Final = {
    "waiting": COPYING,
    "copying": COPYING,
    "failed": COPY_FAILED,
}


class SnapshotTopic:
    """Follows `<prefix>.snapshot`, which Kafka compacts: it is short."""

    def __init__(self, client: KafkaClient, prefix: str) -> None:
        """Read the topic of the pipelines with `prefix`."""
        self._client = client
        self.topic = contract.control_topic(prefix, contract.SNAPSHOT_TOPIC_SUFFIX)
        self._read_to = 0
        self._is_there = False
        # By the key of a copy: its table, and why that does not have all rows.
        self._incomplete: dict[bytes, tuple[str, str]] = {}
        # By the key of a copy: its table, and the load that stands for it.
        self._loads: dict[bytes, tuple[tuple[str, str], str]] = {}

    def incomplete(self, end: int) -> dict[str, str]:
        """Return the tables that are not copied up to offset `end`, and why.

        Raises MirrorError if the brokers do not answer.
        """
        self._read(end)
        return dict(self._incomplete.values())

    def loads(self) -> dict[tuple[str, str], str]:
        """Return by (database, table) the loads of tables whose first rows are not in their topics.

        Raises MirrorError if the brokers do not answer.
        """
        self._is_there = self._is_there or bool(self._client.partitions(self.topic))
        if self._is_there:
            self._read(self._client.end_offsets([(self.topic, 0)])[self.topic, 0])
        return dict(self._loads.values())

    def _read(self, end: int) -> None:
        if end < self._read_to:
            # The topic was made again.
            self._read_to = 0
            self._incomplete.clear()
            self._loads.clear()
        if end > self._read_to:
            first = self._client.first_offsets([(self.topic, 0)])[self.topic, 0]
            wanted = OffsetRange(self.topic, 0, max(first, self._read_to), end)
            for _, columns in self._client.read_ranges([wanted]):
                for key, value in zip(columns.keys, columns.values, strict=True):
                    self._take(key or b"", value)
            self._read_to = end

    def _take(self, key: bytes, value: bytes | None) -> None:
        self._incomplete.pop(key, None)
        self._loads.pop(key, None)
        try:
            record: control_records.SnapshotRecord = read_document(value or b"{}")
            name, phase = f"{record['database']}.{record['table']}", record["phase"]
        except (ValueError, KeyError, TypeError):
            return  # of another program
        if phase in _REASONS:
            self._incomplete[key] = name, _REASONS[phase]
        # Older states have none.
        if load := record.get("load"):
            self._loads[key] = (record["database"], record["table"]), load
