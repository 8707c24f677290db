"""What is written around the rows of one SELECT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from librt.strings import BytesWriter

from connector.envelope.cloud_events import EVENT_END, CloudEvents
from connector.envelope.copied.copy_position import COPIED
from connector.envelope.flat_fields import FlatFields
from connector.envelope.record_form import NO_BEFORE
from connector.envelope.source_block import SourceBlock, SourceTable

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.envelope.copied.copy_position import CopyPosition
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.record_form import RecordForm
    from connector.envelope.schemas.table_schema import TableSchema


def copied_parts(
    options: EnvelopeOptions,
    form: RecordForm,
    schema: TableSchema,
    read_at: CopyPosition,
    op: i64,
    now_us: i64,
    snapshot: str = COPIED,
) -> tuple[bytes, bytes]:
    """Return what comes before `{"before":` or a row without an envelope, and what follows it.

    Each record is about one row of `schema`, with the operation `op`, encoded at `now_us`, and has
    `snapshot` in its source.
    """
    table = SourceTable(schema.database, schema.table, snapshot)
    file, position, read_us = read_at.file, read_at.position, read_at.read_us
    chosen = options.debezium
    # Debezium's copied rows have the time of the SELECT, by the connector's clock.
    time_us = read_at.time_us if chosen is None else read_us
    out = BytesWriter()
    if chosen is not None and chosen.is_flat:
        fields = FlatFields(options)
        fields.begin_copy(file, position, read_us, table, now_us)
        fields.put(out, op, 0)
        return form.flat_head, out.getvalue()
    if chosen is not None and chosen.is_cloud_event:
        events = CloudEvents(options)
        events.begin_copy(file, position, read_us, table)
        events.put(out, op, 0)
        return out.getvalue(), EVENT_END
    source = SourceBlock(options)
    source.begin_copy(file, position, time_us, table, now_us)
    source.put(out, op, 0)
    return form.no_before[: -len(NO_BEFORE)], out.getvalue()
