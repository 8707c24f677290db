"""A stream whose log does not name the columns, in memory, from a real server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from connector.binlog.decoder import EventDecoder
from connector.binlog.table_filter import TableFilter
from connector.foundation.operating_system import TemporaryFolder
from connector.foundation.record_batch import BatchingTarget
from connector.foundation.settings.sections import SourceSettings
from connector.replication.protocol.event_stream import EventStream
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.envelope.schemas.server_schemas import ServerSchemas
from connector.stream.progress.progress_record import Progress, pending_columns
from connector.stream.progress.stream_position import Instance, StreamPosition
from connector.stream.quarantine.fences import Fences
from connector.stream.quarantine.guard import FENCE_TABLE, Guard
from connector.stream.quarantine.store import QuarantineStore
from connector.stream.run.delivery_parts import ChangeHandlers, DeliveryOptions, RecordOutput
from connector.stream.run.delivery_stream import DeliveryStream
from connector.stream.source.server_selection import choose_source
from tests.integration.restarts import Batches, feed_event
from tests.integration.unchecked_stream import open_stream
from tests.stream.changes.heard import Heard

if TYPE_CHECKING:
    from connector.foundation.kafka_records import Record
    from local_stack import Endpoint

NOW_US = 1_700_000_000_000_000
PREFIX = "p"


class AnchoredStream:
    """What Kafka would have of tables of one server, over all runs."""

    def __init__(
        self,
        source: Endpoint,
        *tables: str,
        keeps_rows: bool = False,
        is_guarded: bool = False,
        **settings: Any,
    ) -> None:
        """Follow `tables` from the log's end; `keeps_rows` as in `OnlineSchemaChanges`.

        If it `is_guarded`, tables are set aside in a run; `fences` has the reasons by their names.
        """
        self._keeps_rows = keeps_rows
        self._is_guarded = is_guarded
        values: dict[str, Any] = {
            "host": source.host,
            "port": source.port,
            "user": source.user,
            "password": SecretStr(source.password),
            "server_id": 5798,
            "tables": list(tables),
            "start": "latest",
        }
        self._settings = SourceSettings(**values | settings)
        self.records: list[Record] = []
        self.progress: Progress | None = None
        self.resyncs: list[tuple[str, str, str]] = []
        self.gone: list[str] = []
        self.fences: dict[str, str] = {}
        self.run()

    def run(self, events_max: int | None = None, name: str = "p") -> list[Record]:
        """Deliver to the end of the log, or die behind `events_max` events; return what is new.

        A run begins where the one before committed, which is behind each transaction. `name` is the
        pipeline's.
        """
        source = choose_source(self._settings, self.progress)
        last = self.progress
        position = StreamPosition(source.identity, source.point, last, source=source.address)
        flavour = source.identity.flavour
        batches = Batches()
        target = BatchingTarget(batches, 4096, 16384, 1 << 24)
        schemas: dict[str, bytes] = {}
        for record in self.records:
            if record.topic == f"{PREFIX}.schema":
                assert record.key is not None
                assert record.value is not None
                schemas.pop(record.key.decode(), None)
                schemas[record.key.decode()] = record.value
        heard = Heard()
        encoder = RecordEncoder(
            EnvelopeOptions(PREFIX, flavour, "1"),
            position.order,
            target,
            SchemaState(
                schemas,
                pending_columns(last) if last is not None else {},
                last.current_schemas if last is not None else {},
                last.stated_schemas if last is not None else {},
            ),
            server_schemas=ServerSchemas(
                source.definitions(),
                name,
                heard,
                mariadb=flavour == "mariadb",
                schemas=schemas,
                changed=last.changed_tables if last is not None else (),
            ),
            unlogged=source.unlogged_columns(),
        )
        decoder = EventDecoder(
            file=source.point.file, position=source.point.position, mariadb=flavour == "mariadb"
        )
        fences = Fences(PREFIX, name, target, {}, heard)
        store = QuarantineStore(encoder.options, name, encoder, decoder, target, 1 << 24)
        stream = DeliveryStream(
            decoder,
            TableFilter(self._settings.tables, self._settings.exclude_tables, heard),
            RecordOutput(encoder, target),
            position,
            TemporaryFolder(),
            DeliveryOptions(
                source.lower_case_names,
                OnlineSchemaChanges.of_record(
                    last.online_changes if last is not None else {}, keeps_rows=self._keeps_rows
                ),
            ),
            ChangeHandlers(
                Guard(FENCE_TABLE, encoder, fences, store) if self._is_guarded else None, heard
            ),
        )
        before = len(self.records)
        events = EventStream("source")
        received = 0
        with open_stream(
            self._settings, source.point, replica_name="anchored", stop_at_end=True
        ) as dump:
            self._commit(stream, target, batches, heard)
            while not dump.ended and received != events_max:
                data = dump.receive(5.0)
                if data is None:
                    continue
                received += 1
                feed_event(events, received, data)
                stream.run(events, 1 << 40, NOW_US)
                if stream.waiting and not stream.in_transaction:
                    self._commit(stream, target, batches, heard)
        self.gone += heard.dropped
        self.fences |= {fence.name: fence.reason for fence in fences}
        return self.records[before:]

    def _commit(
        self, stream: DeliveryStream, target: BatchingTarget, batches: Batches, heard: Heard
    ) -> None:
        target.flush()
        self.records += batches.records
        batches.records = []
        stream.waiting = 0
        self.resyncs += heard.resyncs
        heard.resyncs.clear()
        # As it is read back.
        record = stream.progress(Instance("a", "host", 7), 1).encode(PREFIX, "p")
        assert record.value is not None
        self.progress = Progress.decode(record.value, "progress")


def rows_of(records: list[Record], table: str) -> list[tuple[str, Any, Any]]:
    """Return the operation, before and after of each record of a table, without tombstones."""
    rows = []
    for record in records:
        if record.topic.endswith(f".{table}") and record.value is not None:
            value = json.loads(record.value)
            rows.append((value["op"], value["before"], value["after"]))
    return rows


def schema_ids_of(records: list[Record], table: str) -> list[str]:
    """Return the id of the column list of each record of a table."""
    return [
        dict(record.headers)["cdc.schema"].decode()
        for record in records
        if record.topic.endswith(f".{table}")
    ]
