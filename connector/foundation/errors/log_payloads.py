"""L250: what is packed into events: compressed rows, payloads of events, fragments, messages."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_CHANGED = "No server writes this: bytes were changed."

NOT_ZLIB = ErrorCode(
    "L251",
    "{head:#04x} does not start a record that zlib compressed",
    cause=f"MariaDB compresses events by zlib alone (log_bin_compress). {_CHANGED}",
    example={"head": 0x12},
)
TOO_LONG_UNPACKED = ErrorCode(
    "L252",
    "{length} bytes before compression are more than any event has",
    cause=_CHANGED,
    example={"length": 4294967295},
)
NOT_UNPACKED = ErrorCode(
    "L253",
    "it cannot be decompressed: {why}",
    cause="The compressed bytes of the event were changed.",
    example={"why": "Error -3 while decompressing data: incorrect header check"},
)
RECORD_LENGTH = ErrorCode(
    "L254",
    "its record does not hold exactly the {length} bytes that it says",
    cause="The compressed bytes of the event, or the length before them, were changed.",
    example={"length": 120},
)
PAYLOAD_FIELD = ErrorCode(
    "L261",
    "field {number} of the payload's header is longer than its value",
    cause=_CHANGED,
    example={"number": 1},
)
PAYLOAD_INCOMPLETE = ErrorCode(
    "L262",
    "the payload's header lacks its size or its compression",
    cause=_CHANGED,
)
PAYLOAD_SIZE = ErrorCode(
    "L263",
    "the payload has {found} bytes, but its header says {size}",
    cause="The event, or its header, was changed.",
    example={"found": 300, "size": 400},
)
PAYLOAD_LONGER = ErrorCode(
    "L264",
    "decompression gives more than the {size} bytes that its header says",
    cause="The compressed events, or the size before them, were changed.",
    example={"size": 900},
)
PAYLOAD_SHORTER = ErrorCode(
    "L265",
    "the payload ends {missing} bytes too soon",
    cause="The compressed events, or the size before them, were changed.",
    example={"missing": 12},
)
PAYLOAD_EVENT_SIZE = ErrorCode(
    "L266",
    "the next event says it has {size} bytes, but {left} of {whole} are left",
    cause="The bytes of the compressed events were changed.",
    example={"size": 500, "left": 120, "whole": 900},
)
NEVER_INSIDE = ErrorCode(
    "L267",
    "no server writes it inside of a payload",
    cause="Events that describe a log, or hold others, are never compressed. Bytes were changed.",
)
AFTER_INSIDE = ErrorCode(
    "L268",
    "after event {number} inside: {why}",
    frame=True,
    cause="The events inside of a TRANSACTION_PAYLOAD_EVENT are counted from 1.",
    example={"number": 3, "why": "the payload ends 12 bytes too soon"},
)
PAYLOAD_EVENT_LIMIT = ErrorCode(
    "L269",
    "the next event says it has {size} bytes, more than the {limit} of the largest event",
    cause=(
        "No server sends an event that is larger than max_allowed_packet, 1 GiB at most. The bytes "
        "were changed, or made to fill the memory of their reader."
    ),
    example={"size": 2147483648, "limit": 1073807360},
)
FRAGMENT_NUMBER = ErrorCode(
    "L271",
    "fragment {number} of {total} cannot be",
    cause=_CHANGED,
    example={"number": 4, "total": 3},
)
FRAGMENT_ORDER = ErrorCode(
    "L272",
    "fragment {number} of {total} came, but fragment {awaited} of {awaited_total} was to come",
    cause="MariaDB writes the fragments of a rows event one after the other. Some are missing.",
    example={"number": 3, "total": 3, "awaited": 2, "awaited_total": 3},
)
FRAGMENT_NOT_BEGUN = ErrorCode(
    "L273",
    "fragment {number} of {total} came, but no fragment before it",
    cause="Reading began between the fragments of a rows event, or some are missing.",
    example={"number": 3, "total": 3},
)
FRAGMENTS_SIZE = ErrorCode(
    "L274",
    "the rows event has {size} bytes, but its fragments up to {number} of {total} have {found}",
    cause="The bytes of a fragment were changed.",
    example={"size": 900, "number": 3, "total": 3, "found": 880},
)
FRAGMENT_MISSING = ErrorCode(
    "L275",
    "it came before fragment {awaited} of {awaited_total} of a rows event",
    cause="MariaDB writes the fragments of a rows event one after the other. Some are missing.",
    example={"awaited": 2, "awaited_total": 3},
)
FRAGMENTS_NO_EVENT = ErrorCode(
    "L276",
    "the fragments make {found} bytes that start a {event} of {size}, not one whole rows event",
    cause="The bytes of a fragment were changed.",
    example={"found": 900, "event": "XID_EVENT", "size": 31},
)
MESSAGE_SIZE = ErrorCode(
    "L281",
    "the message says it has {size} bytes, but the event has {found}",
    cause=f"The event is written by MySQL's serialization library. {_CHANGED}",
    example={"size": 40, "found": 38},
)
