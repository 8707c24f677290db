"""The rows of one rows event become records.

The value is Debezium's envelope with values of the profile `exact`::

    {"before":…,"after":…,"source":{…,"row":n,…},"transaction":null,"op":"u","ts_ms":…,…}

The parts that the rows of an event share are composed once; a row adds only its own parts.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog.event import Event
from connector.binlog.events.rows_header import DELETE, INSERT, RowsKind
from connector.binlog.gtid import Gtid
from connector.binlog.text_writer import put_uint
from connector.foundation.contract import OP_CREATE, OP_DELETE, OP_TRUNCATE, OP_UPDATE
from connector.foundation.kafka_records import RecordTarget
from connector.stream.changes.transaction import SourceTransaction
from connector.stream.envelope.cloud_events import EVENT_END, CloudEvents
from connector.stream.envelope.flat_fields import FlatFields
from connector.stream.envelope.key_windows import KEYS_MAX
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.outbox_events import OutboxEvents
from connector.stream.envelope.record_frame import RecordFrame
from connector.stream.envelope.record_headers import RecordHeaders
from connector.stream.envelope.row_images import RowImages
from connector.stream.envelope.source_block import SourceBlock
from connector.stream.envelope.table_registry import TableParts

US_PER_MS: Final = 1000
# A sequence counts halves of rows: the delete side and the create side of a primary key change.
HALVES: Final = 2

# The headers of Debezium's records of a primary key change; its consumers expect them.
_NEW_KEY: Final = b"__debezium.newkey"
_OLD_KEY: Final = b"__debezium.oldkey"

_CREATE: Final = ord(OP_CREATE)
_UPDATE: Final = ord(OP_UPDATE)
_DELETE: Final = ord(OP_DELETE)
_TRUNCATE: Final = ord(OP_TRUNCATE)

_AFTER: Final = b',"after":'
_NO_AFTER: Final = b',"after":null'

# The memory of a large row must be freed.
_KEPT_BYTES_MAX: Final = 1024 * 1024


@final
class EventEncoder:
    """Writes the records of events, one after the other."""

    __slots__ = (
        "_cloud",
        "_deletes",
        "_exact",
        "_flat",
        "_form",
        "_gtid_prefix",
        "_gtid_prefix_bytes",
        "_headers",
        "_keys",
        "_out",
        "_outbox",
        "_row_shift",
        "_source",
        "_target",
        "_timestamp_ms",
        "_tombstones",
        "_topic",
        "_transaction",
        "_transaction_id",
    )

    def __init__(self, options: EnvelopeOptions, target: RecordTarget) -> None:
        """Write the records to `target`."""
        self._target = target
        self._tombstones = options.tombstones
        self._exact = options.debezium is None
        self._source = SourceBlock(options)
        self._flat: FlatFields | None = None
        self._cloud: CloudEvents | None = None
        self._deletes = ""
        form = options.debezium
        if form is not None and form.is_flat:
            self._flat = FlatFields(options)
            self._deletes = form.flat_deletes
            # The other ways drop them.
            self._tombstones = options.tombstones and form.flat_deletes == "rewrite-with-tombstone"
        elif form is not None and form.is_cloud_event:
            self._cloud = CloudEvents(options)
        self._form = RecordFrame(options, None)
        self._headers = RecordHeaders()
        self._out = BytesWriter()
        self._row_shift: i64 = 0
        self._topic = ""
        self._outbox: OutboxEvents | None = None
        self._keys: set[bytes] | None = None  # collects keys of records, for copies
        self._timestamp_ms: i64 = 0
        self._transaction: SourceTransaction | None = None
        self._transaction_id = b""
        self._gtid_prefix = ""  # of the latest GTID, shared by those of one server
        self._gtid_prefix_bytes = b""

    def begin(
        self,
        transaction: SourceTransaction,
        event: Event,
        table: TableParts,
        start: tuple[int, int, int],
        event_number: i64,
        now_us: i64,
        row_shift: i64 = 0,
    ) -> None:
        """Compose the parts that the records of an event share.

        `start` has the first three parts of the transaction's sequences. `now_us` is the time of
        encoding. `row_shift` is added to the row numbers in sequences.
        """
        self._row_shift = row_shift
        if transaction is not self._transaction:
            self._transaction = transaction
            self._transaction_id = self._id_of(transaction)
            self._timestamp_ms = transaction.committed_us // US_PER_MS
        self._topic = table.topic
        self._outbox = table.outbox
        keys = table.watched.keys
        if keys is not None and len(keys) > KEYS_MAX:
            # A source transaction may change any number of rows, but a sequence counts only so far.
            table.watched.give_up()
            keys = None
        self._keys = keys
        self._form = table.form
        if self._cloud is not None:
            self._cloud.begin(transaction, self._transaction_id, event, table.source)
        elif self._flat is None:
            self._source.begin(transaction, self._transaction_id, event, table.source, now_us)
        else:
            self._flat.begin(transaction, self._transaction_id, event, table.source, now_us)
        self._headers.begin(
            start[0], start[1], start[2], event_number, table.headers, self._transaction_id
        )

    def _id_of(self, transaction: SourceTransaction) -> bytes:
        """Return the text of the transaction's id, mostly without a `str`."""
        gtid = transaction.gtid
        if not isinstance(gtid, Gtid) or not gtid.prefix:
            return transaction.id.encode()
        if gtid.prefix is not self._gtid_prefix:
            self._gtid_prefix = gtid.prefix
            self._gtid_prefix_bytes = gtid.prefix.encode()
        out = self._out
        out.truncate(0)
        out.write(self._gtid_prefix_bytes)
        put_uint(out, gtid.gno)
        return out.getvalue()

    def row(self, kind: RowsKind, images: RowImages, number: i64) -> None:
        """Write the records of the event's row `number`; if an error is raised, none is written."""
        outbox = self._outbox
        if outbox is None:
            self._row(kind, images, number)
        else:
            self._event(kind, images, number, outbox)
        if len(self._out) > _KEPT_BYTES_MAX:
            self._out = BytesWriter()

    def truncate(self) -> None:
        """Write the record that says that all earlier rows of the table are gone."""
        out = self._out
        out.truncate(0)
        out.write(self._form.no_before)
        out.write(b"null")
        self._record(_TRUNCATE, None, 0, 0)

    def _row(self, kind: RowsKind, images: RowImages, number: i64) -> None:
        out = self._out
        out.truncate(0)
        if kind is INSERT:
            out.write(self._form.no_before)
            row_start: i64 = len(out)
            images.put(out)
            key = images.record_key(out)
            if self._keys is not None:
                self._touch(images.key(out) if images.has_message_key else key)
            self._record(_CREATE, key, number, row_start)
            return
        out.write(self._form.before)
        row_start = len(out)
        images.put(out)
        old_key = images.record_key(out)
        if self._keys is not None:
            self._touch(images.key(out) if images.has_message_key else old_key)
        before_end: i64 = len(out)
        if kind is DELETE:
            self._delete(old_key, number, row_start, None)
            return
        out.write(_AFTER)
        images.put(out)
        new_key = images.record_key(out)
        if self._keys is not None:
            self._touch(images.key(out) if images.has_message_key else new_key)
        if old_key is None or new_key is None or old_key == new_key:
            self._record(_UPDATE, old_key, number, before_end + len(_AFTER))
        else:
            self._move(old_key, new_key, row_start, before_end, number)

    def _event(self, kind: RowsKind, images: RowImages, number: i64, outbox: OutboxEvents) -> None:
        """Write the event that a new row of an outbox is; other changes have none."""
        out = self._out
        out.truncate(0)
        images.put(out)
        if self._keys is not None:
            self._touch(images.key(out))
        if kind is INSERT:
            made = outbox.event(out.getvalue())
            row = number * HALVES + self._row_shift
            headers = self._headers.encode_more(_CREATE, row, made.headers)
            self._target.take(made.topic, made.key, made.value, headers, self._timestamp_ms)
        elif kind is not DELETE:
            images.put(out)
            if self._keys is not None:
                self._touch(images.key(out))
            outbox.updated()

    def _move(
        self, old_key: bytes, new_key: bytes, row_start: i64, before_end: i64, number: i64
    ) -> None:
        """Write a row that changes its key, and perhaps its partition."""
        out = self._out
        both = out.getvalue()
        out.truncate(0)
        out.write(self._form.no_before)
        created_start: i64 = len(out)
        out.write(both[before_end + len(_AFTER) :])
        created = self._value(_CREATE, number, created_start)
        created_key = self._form.key(new_key)
        sequence_row = number * HALVES + 1 + self._row_shift
        headers = self._headers.encode_with(_CREATE, sequence_row, _OLD_KEY, old_key)
        # Before the delete is written, so that either both are written or neither is.
        self._target.require_room(self._topic, created_key, created, headers)
        out.truncate(0)
        out.write(both[:before_end])
        self._delete(old_key, number, row_start, new_key)
        self._target.take(self._topic, created_key, created, headers, self._timestamp_ms)

    def _delete(
        self, key: bytes | None, number: i64, row_start: i64, new_key: bytes | None
    ) -> None:
        """Write the end of a row whose image was written from `row_start` on."""
        sequence_row = number * HALVES + self._row_shift
        if new_key is None:
            headers = self._headers.encode(_DELETE, sequence_row)
        else:
            headers = self._headers.encode_with(_DELETE, sequence_row, _NEW_KEY, new_key)
        value: bytes | None
        if self._flat is None:
            self._out.write(_NO_AFTER)
            value = self._value(_DELETE, number, row_start)
        elif self._deletes == "drop":
            return
        elif self._deletes == "tombstone":
            value = self._form.gone
        elif self._deletes == "delete-to-tombstone":
            value = None
        else:
            value = self._value(_DELETE, number, row_start)
        record_key = self._form.key(key)
        self._target.take(self._topic, record_key, value, headers, self._timestamp_ms)
        # Debezium's tombstone of a table without a key has no key.
        if self._tombstones and (key is not None or not self._exact):
            self._target.take(self._topic, record_key, None, headers, self._timestamp_ms)

    def _record(self, op: i64, key: bytes | None, number: i64, row_start: i64) -> None:
        value = self._value(op, number, row_start)
        headers = self._headers.encode(op, number * HALVES + self._row_shift)
        key = self._form.key(key)
        self._target.take(self._topic, key, value, headers, self._timestamp_ms)

    def _value(self, op: i64, number: i64, row_start: i64) -> bytes:
        """Return the value of an envelope that is written up to its source.

        Without an envelope, its row is what was written from `row_start` on.
        """
        out = self._out
        flat = self._flat
        if flat is None:
            cloud = self._cloud
            if cloud is None:
                self._source.put(out, op, number)
                return self._form.value(out.getvalue())
            written = out.getvalue()
            out.truncate(0)
            cloud.put(out, op, number)
            out.write(written)
            out.write(EVENT_END)
            return out.getvalue()
        written = out.getvalue()
        out.truncate(0)
        out.write(self._form.flat_head)
        # The fields follow in the same object.
        out.write(written[row_start:-1])
        flat.put(out, op, number)
        return self._form.value(out.getvalue())

    def _touch(self, key: bytes | None) -> None:
        """Keep the key for running copies, because their row with this key is outdated."""
        keys = self._keys
        if keys is not None and key is not None:
            keys.add(key)
