from __future__ import annotations

from connector.binlog.header import EventHeader
from connector.binlog.payload_reader import PayloadReader
from tests.binlog.log_bytes import format_description


def test_a_header_has_nineteen_bytes() -> None:
    reader = PayloadReader(format_description(flags=0xA0))
    header = EventHeader.decode(reader)
    assert reader.offset == 19
    assert (header.type_code, header.event_size, header.log_pos) == (15, 122, 126)
    assert (header.artificial, header.ignorable) == (True, True)
