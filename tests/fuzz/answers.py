"""What brokers, topics and registries answer, as targets: bytes that others may have changed."""

from __future__ import annotations

import json
import struct
from contextlib import nullcontext, suppress
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import crc32c

from connector.foundation.errors import SinkRefused, SinkUnavailable, UnsupportedChange
from connector.foundation.record_batch import HEADER_BYTES
from connector.foundation.record_reader import RecordColumns
from connector.foundation.settings.sections import RegistrySettings
from connector.kafka import transaction_requests
from connector.kafka.failures import MalformedResponse
from connector.stream.sink.schema_registry import SchemaRegistry
from stream_jobs.errors import MirrorError
from stream_jobs.source.record_batches import (
    AbortedTransaction,
    FetchResponse,
    first_committed_time,
    newest_time,
    read_committed_records,
)
from stream_jobs.source.table_schema import TableSchema
from tests.foundation.test_record_batch import Sample
from tests.stream_jobs.source.test_record_batches import ABORT, CODECS, Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_LENGTH_AT: Final = 8
_CRC_AT: Final = 17
_SUMMED_AT: Final = 21
_STATUSES: Final = (200, 401, 409, 422, 404, 500, 999)
_SEQUENCE: Final = "0001" + "00000002" + "0000000004" + "00000000" + "00000000"


def write_responses(data: bytes) -> None:
    """Read what a broker answers to the requests of a transaction."""
    for read in (
        transaction_requests.add_partitions_errors,
        transaction_requests.produce_results,
        transaction_requests.end_txn_error,
    ):
        with suppress(MalformedResponse):
            read(data)


def record_batches(data: bytes) -> None:
    """Read a fetch as a mirror does: as it is, and with a checksum that hides what is wrong."""
    for fetched in (data, _summed(data)):
        answer = FetchResponse("t", 0, fetched, (AbortedTransaction(1, 0),))
        with suppress(MirrorError):
            read_committed_records(answer, 0, 2**62, RecordColumns())
        with suppress(MirrorError):
            first_committed_time(answer, 0)
        newest_time(fetched)


def _summed(data: bytes) -> bytes:
    """Return a batch that has the length and the checksum of its bytes."""
    if len(data) < HEADER_BYTES:
        return data
    batch = bytearray(data)
    struct.pack_into(">i", batch, _LENGTH_AT, len(batch) - _LENGTH_AT - 4)
    struct.pack_into(">I", batch, _CRC_AT, crc32c.crc32c(bytes(batch[_SUMMED_AT:])))
    return bytes(batch)


def schema_records(data: bytes) -> None:
    """Read a record of the schema topic, and look at the columns that it has."""
    try:
        schema = TableSchema.decode(data)
    except (MirrorError, ValueError, KeyError, TypeError):
        return
    assert len(schema.by_name) <= len(schema.columns)
    assert set(schema.key) <= schema.by_name.keys()
    assert schema.is_storable in (True, False)


class _Answer:
    def __init__(self, status: int, data: bytes) -> None:
        self.status = status
        self._data = data

    def read(self, size: int) -> bytes:
        return self._data[:size]


class _Opener:
    """Answers each request with the same bytes."""

    def __init__(self, status: int, data: bytes) -> None:
        self._answer = _Answer(status, data)

    def open(self, *_: object, **__: object) -> AbstractContextManager[_Answer]:
        return nullcontext(self._answer)


def registry_answers(data: bytes) -> None:
    """Register a schema at a registry that answers with a status and these bytes."""
    status = _STATUSES[data[0] % len(_STATUSES)] if data else 200
    for registers in (True, False):
        settings = RegistrySettings(urls=["http://registry"], auto_register=registers)
        registry = SchemaRegistry(settings)
        opener: Any = _Opener(status, data[1:])
        registry._opener = opener
        with suppress(SinkRefused, SinkUnavailable, UnsupportedChange):
            assert 0 <= registry.id_of("shop.items-value", "AVRO", "{}") < 2**31
        with suppress(SinkRefused, SinkUnavailable):
            registry.check()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "write_responses": write_responses,
    "record_batches": record_batches,
    "schema_records": schema_records,
    "registry_answers": registry_answers,
}


def seeds(target: str) -> Iterator[bytes]:
    """Yield inputs that are right."""
    if target == "write_responses":
        topic = struct.pack(">h", 1) + b"t"
        one = struct.pack(">i", 1)
        number = struct.pack(">i", 7)
        yield number + bytes(4) + one + topic + one + struct.pack(">ih", 0, 0)
        yield number + one + topic + one + struct.pack(">ihqqq", 0, 0, 5, -1, 0) + bytes(4)
        yield number + bytes(4) + struct.pack(">h", 0)
    elif target == "record_batches":
        headers = [("cdc.seq", _SEQUENCE.encode()), ("cdc.op", b"c")]
        for codec in CODECS:
            log = Log()
            log.append([Sample(b"k", b"v", headers, 5)], codec, producer=1)
            log.end_transaction(1, ABORT)
            yield bytes(log.data)
    elif target == "schema_records":
        column = {"name": "id", "type": "int", "nullable": False, "key": 1}
        record = {"schema_id": "1", "database": "d", "table": "t", "seq": _SEQUENCE}
        yield json.dumps(record | {"columns": [column], "stated": _SEQUENCE}).encode()
    else:
        answers = {"id": 7}, {"error_code": 40401, "message": "unknown"}, ["shop.items-value"]
        for status, answer in product(range(len(_STATUSES)), answers):
            yield bytes([status]) + json.dumps(answer).encode()
