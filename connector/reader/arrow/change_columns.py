"""The columns that every batch begins with: they say where each row comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import pyarrow as pa
from mypy_extensions import i64

from connector.binlog.events.rows_head import DELETE, INSERT
from connector.reader.arrow.builder import ArrayBuilder, FixedWidthBuilder, VariableWidthBuilder
from connector.reader.arrow.nested import NamesBuilder

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.binlog.events.rows import RowsEvent

_OP: Final = pa.field("_op", pa.string(), nullable=False)
_IMAGE: Final = pa.field("_image", pa.string(), nullable=False)
_FILE: Final = pa.field("_file", pa.string(), nullable=False)
_POS: Final = pa.field("_pos", pa.uint64(), nullable=False)
_GTID: Final = pa.field("_gtid", pa.string())
_TIMESTAMP: Final = pa.field("_timestamp", pa.timestamp("us", tz="UTC"), nullable=False)
_SEQ: Final = pa.field("_seq", pa.uint64(), nullable=False)
_ABSENT: Final = pa.field("_absent", pa.list_(pa.string()))
CHANGE: Final = [_OP, _IMAGE, _FILE, _POS, _GTID, _TIMESTAMP, _SEQ, _ABSENT]
CHANGE_NAMES: Final = frozenset(field.name for field in CHANGE)

_MICROSECONDS: Final = 1_000_000


@final
class ChangeColumns:
    """The columns, and the values that the images of the current event share."""

    def __init__(self) -> None:
        self._op = VariableWidthBuilder(_OP.type)
        self._image = VariableWidthBuilder(_IMAGE.type)
        self._file = VariableWidthBuilder(_FILE.type)
        self._pos = FixedWidthBuilder(_POS.type)
        self._gtid = VariableWidthBuilder(_GTID.type)
        self._timestamp = FixedWidthBuilder(_TIMESTAMP.type)
        self._seq = FixedWidthBuilder(_SEQ.type)
        self._absent = NamesBuilder(_ABSENT.type)
        self.builders: list[ArrayBuilder] = [  # in the order of the columns
            self._op,
            self._image,
            self._file,
            self._pos,
            self._gtid,
            self._timestamp,
            self._seq,
            self._absent,
        ]
        self._op_text = b""
        self._file_name = ""
        self._file_text = b""
        self._event_pos: i64 = 0
        self._gtid_text: bytes | None = None
        self._microseconds: i64 = 0

    def begin(self, event: Event, rows: RowsEvent, gtid: bytes | None) -> None:
        """Expect images of this event."""
        kind = rows.kind
        self._op_text = b"insert" if kind is INSERT else b"delete" if kind is DELETE else b"update"
        if event.file != self._file_name:
            self._file_name = event.file
            self._file_text = event.file.encode()
        self._event_pos = event.position
        self._gtid_text = gtid
        self._microseconds = i64(event.header.timestamp) * _MICROSECONDS

    def append(self, image: bytes, absent: list[bytes], seq: i64, row: i64) -> None:
        """Add a row for an image of the event; the columns in `absent` are not in the image."""
        self._op.append_bytes(self._op_text)
        self._image.append_bytes(image)
        self._file.append_bytes(self._file_text)
        self._pos.append_int64(self._event_pos)
        gtid = self._gtid_text
        if gtid is None:
            self._gtid.append_null(row)
        else:
            self._gtid.append_bytes(gtid)
        self._timestamp.append_int64(self._microseconds)
        self._seq.append_int64(seq)
        if absent:
            self._absent.append_names(absent)
        else:
            self._absent.append_null(row)
