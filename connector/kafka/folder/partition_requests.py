"""The requests about partitions, as bytes: produce, fetch, offsets, and those of transactions.

They come in each transaction, and about thousands of partitions. kafka-python decodes them by a
description of the protocol, which takes 25 µs for a partition. So each has one version here, the
one of our own clients (`transaction_requests`, `stream_jobs/source/offset_requests.py`): other
clients take it when no other is offered.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from struct import Struct
from typing import Final

from kafka import errors

from connector.kafka.folder.fetch_session import FetchSession, Position
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.request_fields import COUNT, RequestFields, outcome, text_field
from connector.kafka.folder.results import Fetched, PartitionId

PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
ADD_PARTITIONS: Final = 24
END_TRANSACTION: Final = 26
# By kind.
VERSIONS: Final = {PRODUCE: 7, FETCH: 7, LIST_OFFSETS: 2, ADD_PARTITIONS: 1, END_TRANSACTION: 1}

_UNKNOWN: Final = errors.UnknownTopicOrPartitionError.errno
_LATEST: Final = -1
_EARLIEST: Final = -2
_NONE: Final = -1
_NO_THROTTLE: Final = COUNT.pack(0)
_MS: Final = 1000

_PRODUCE_HEAD: Final = Struct(">hi")
_NUMBER: Final = Struct(">i")
_PRODUCED: Final = Struct(">ihqqq")
_PRODUCER: Final = Struct(">qh")
_PARTITION_ERROR: Final = Struct(">ih")
_ERROR: Final = Struct(">h")
_END: Final = Struct(">b")
_LIST: Final = Struct(">ib")
_LISTED: Final = Struct(">iq")
_OFFSET: Final = Struct(">ihqq")
_FETCH_REQUEST: Final = Struct(">iiiibii")
_WANTED: Final = Struct(">iqqi")
_FETCH_HEAD: Final = Struct(">ihi")
_FETCHED: Final = Struct(">ihqqqi")
_ABORTED: Final = Struct(">qq")
_NOTHING: Final = Fetched(b"", _NONE, _NONE, _NONE, [])


def produce(log: FolderLog, fields: RequestFields) -> list[bytes] | None:
    """Append record batches; return None if the client wants no response.

    Batches outside of a transaction are on the disk then; those of a transaction are when it has
    been committed.
    """
    transactional_id = fields.text_or_none()
    acknowledgements, _ = fields.unpack(_PRODUCE_HEAD)

    def append(topic: str) -> bytes:
        (number,) = fields.unpack(_NUMBER)
        code, _, offset = outcome(log.append, (topic, number), fields.data(), transactional_id)
        return _PRODUCED.pack(number, code, _NONE if offset is None else offset, _NONE, _NONE)

    body = _each_partition(fields, append)
    return [*body, _NO_THROTTLE] if acknowledgements else None


def add_partitions(log: FolderLog, fields: RequestFields) -> list[bytes]:
    """Add partitions to a transaction: all, or none if one does not exist."""
    transactional_id = fields.text()
    producer_id, epoch = fields.unpack(_PRODUCER)
    wanted = [(topic, fields.unpack(_NUMBER)[0]) for topic, count in fields.topics() for _ in count]
    code = outcome(log.add_to_transaction, transactional_id, producer_id, epoch, wanted).code
    codes = dict.fromkeys(wanted, code)
    if code == _UNKNOWN:
        # Nothing was added.
        for partition in wanted:
            code = outcome(log.offsets, partition).code
            codes[partition] = code or errors.OperationNotAttemptedError.errno
    rows: dict[str, list[bytes]] = {}
    for (name, number), code in codes.items():
        rows.setdefault(name, []).append(_PARTITION_ERROR.pack(number, code))
    return [_NO_THROTTLE, *_by_topic(rows.items())]


def end_transaction(log: FolderLog, fields: RequestFields) -> list[bytes]:
    """Commit or abort."""
    transactional_id = fields.text()
    producer_id, epoch = fields.unpack(_PRODUCER)
    (is_commit,) = fields.unpack(_END)

    def end() -> None:
        log.end_transaction(transactional_id, producer_id, epoch, commit=bool(is_commit))

    code = outcome(end).code
    return [_NO_THROTTLE, _ERROR.pack(code)]


def list_offsets(log: FolderLog, fields: RequestFields) -> list[bytes]:
    """Return the first or last offset of partitions, or the first one since a time."""
    _, committed = fields.unpack(_LIST)

    def find(topic: str) -> bytes:
        number, which = fields.unpack(_LISTED)
        code, _, found = outcome(_offset, log, (topic, number), which, committed=bool(committed))
        time, offset = found or (_NONE, _NONE)
        return _OFFSET.pack(number, code, time, offset)

    return [_NO_THROTTLE, *_each_partition(fields, find)]


def _offset(
    log: FolderLog, partition: PartitionId, which: int, *, committed: bool
) -> tuple[int, int] | None:
    """Return time and offset; no time for an end of the partition."""
    if which >= 0:
        found = log.offset_at(partition, which)
        return None if found is None else (found.timestamp_ms, found.offset)
    earliest, latest, stable = log.offsets(partition)
    if which == _EARLIEST:
        return _NONE, earliest
    if which == _LATEST:
        return _NONE, stable if committed else latest
    raise errors.UnsupportedVersionError


def fetch(
    log: FolderLog, fields: RequestFields, session: FetchSession, now: Callable[[], float]
) -> list[bytes]:
    """Return records, as soon as there are some, within the time that the client gives."""
    _, wait_ms, _, bytes_max, committed, session_id, epoch = fields.unpack(_FETCH_REQUEST)
    wanted = {}
    for topic, count in fields.topics():
        for _ in count:
            number, offset, _, partition_bytes_max = fields.unpack(_WANTED)
            wanted[topic, number] = Position(offset, partition_bytes_max)
    gone = [(topic, fields.unpack(_NUMBER)[0]) for topic, count in fields.topics() for _ in count]
    code = session.begin(session_id, epoch, wanted, gone)
    if code:
        return [_FETCH_HEAD.pack(0, code, 0), COUNT.pack(0)]
    until = now() + wait_ms / _MS
    while True:
        found, has_news = _fetch_each(log, session, bytes_max, committed=bool(committed))
        left = until - now()
        if has_news or left <= 0:
            break
        offsets = {partition: each.offset for partition, each in session.positions.items()}
        log.wait(offsets, left, committed=bool(committed))
    rows: dict[str, list[bytes]] = {}
    for (topic, number), (code, fetched) in session.news(found).items():
        rows.setdefault(topic, []).append(_fetched(number, code, fetched))
    return [_FETCH_HEAD.pack(0, 0, session.id), *_by_topic(rows.items())]


def _fetch_each(
    log: FolderLog, session: FetchSession, bytes_max: int, *, committed: bool
) -> tuple[dict[PartitionId, tuple[int, Fetched]], bool]:
    """Return code and records of each partition, and whether there is a record or an error."""
    found: dict[PartitionId, tuple[int, Fetched]] = {}
    has_news = False
    for partition, position in session.positions.items():
        code, _, fetched = outcome(
            log.fetch,
            partition,
            position.offset,
            min(position.bytes_max, bytes_max),
            committed=committed,
        )
        fetched = fetched or _NOTHING
        bytes_max -= len(fetched.records)
        has_news = has_news or bool(code or fetched.records)
        found[partition] = code, fetched
        # Those that come after get their turn with the next request.
        if bytes_max <= 0:
            break
    if session.is_whole:
        for partition in session.positions.keys() - found.keys():
            code, _, ends = outcome(log.offsets, partition)
            earliest, latest, stable = ends or (_NONE, _NONE, _NONE)
            found[partition] = code, Fetched(b"", latest, stable, earliest, [])
    return found, has_news


def _fetched(number: int, code: int, fetched: Fetched) -> bytes:
    head = _FETCHED.pack(
        number,
        code,
        fetched.high_watermark,
        fetched.last_stable_offset,
        fetched.log_start_offset,
        len(fetched.aborted),
    )
    aborted = [_ABORTED.pack(*each) for each in fetched.aborted]
    return b"".join((head, *aborted, COUNT.pack(len(fetched.records)), fetched.records))


def _each_partition(fields: RequestFields, answer: Callable[[str], bytes]) -> list[bytes]:
    return _by_topic([(topic, [answer(topic) for _ in count]) for topic, count in fields.topics()])


def _by_topic(rows: Collection[tuple[str, list[bytes]]]) -> list[bytes]:
    fields = [COUNT.pack(len(rows))]
    for topic, partitions in rows:
        fields += (text_field(topic), COUNT.pack(len(partitions)), *partitions)
    return fields
