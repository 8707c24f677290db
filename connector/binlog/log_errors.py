"""Logs: their files, events, packed events and rows; fields of a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.errors.code import ErrorCode, Scope
from connector.foundation.errors.kinds import DecodeError

if TYPE_CHECKING:
    from connector.foundation.errors.kinds import ConnectorError

_CHANGED = (
    "Bytes were lost or changed, or the payload is of a form that this version does not know."
)

PAYLOAD_ENDS = ErrorCode(
    "L101",
    "need {needed} bytes at offset {offset}, but the payload ends at {end}",
    cause=f"A field of a payload is longer than what is left of the payload. {_CHANGED}",
    example={"needed": 18, "offset": 23, "end": 31},
    scope=Scope.PLACE,
)

EVENT_DAMAGED = ErrorCode(
    "L102",
    "{file}:{position}: cannot decode {event}: {why}",
    "compare with `mysqlbinlog --start-position={position} {file}`",
    frame=True,
    cause="The bytes of an event are not what they claim to be.",
    example={
        "file": "binlog.000042",
        "position": 1187,
        "event": "TABLE_MAP_EVENT",
        "why": "need 18 bytes at offset 23, but the payload ends at 31",
    },
)

FILE_ENDS = ErrorCode(
    "L103",
    "{file}:{position}: the file ends inside an event: need {needed} bytes, but {found} are left",
    "every event before {position} is complete",
    cause="The server died while it wrote the file, or the file was copied while it was written.",
    example={"file": "binlog.000042", "position": 1187, "needed": 19, "found": 7},
)

LENGTH_UNKNOWN = ErrorCode(
    "L111",
    "{first:#04x} at offset {offset} does not start a length-encoded integer",
    cause=f"The first byte of such a number says how many bytes follow it. {_CHANGED}",
    example={"first": 0xFB, "offset": 12},
    scope=Scope.PLACE,
)

LEFT_OVER = ErrorCode(
    "L112",
    "{count} bytes are left over after {field}",
    cause=f"Every field was read, and there is more than them. {_CHANGED}",
    example={"count": 3, "field": "the last field"},
    scope=Scope.PLACE,
)

NO_END = ErrorCode(
    "L113",
    "the {field} has no end",
    cause=f"The field ends with a zero byte, and there is none. {_CHANGED}",
    example={"field": "name of the file"},
    scope=Scope.PLACE,
)

END_ELSEWHERE = ErrorCode(
    "L114",
    "the {field} does not end where its length says",
    cause=f"A zero byte must follow the field, and another byte does. {_CHANGED}",
    example={"field": "name of the table"},
    scope=Scope.PLACE,
)

NOT_UTF8 = ErrorCode(
    "L115",
    "the {field} is not UTF-8",
    cause=f"Servers write such a field in UTF-8 alone. {_CHANGED}",
    example={"field": "name of a column"},
    scope=Scope.PLACE,
)

NOT_ASCII = ErrorCode(
    "L116",
    "the {field} is not ASCII",
    cause=f"Servers write such a field in ASCII alone. {_CHANGED}",
    example={"field": "view id"},
    scope=Scope.PLACE,
)

VALUE_UNKNOWN = ErrorCode(
    "L121",
    "{field} {value} is not known",
    "upgrade the connector",
    cause=(
        "The field has a value that no server wrote when this version was made. A newer server "
        "wrote it, or bytes were changed."
    ),
    example={"field": "compression type", "value": 7},
    scope=Scope.PLACE,
)

EMPTY = ErrorCode(
    "L130",
    "{file}: not a binary log: there is nothing in it",
    cause="The file is empty. A binary log starts with four bytes that name it.",
    example={"file": "binlog.000042"},
)

NOT_A_LOG = ErrorCode(
    "L131",
    "{file}: not a binary log: it starts with {found}, not {magic}",
    cause="A binary log starts with four bytes that name it. This file starts with others.",
    example={"file": "dump.bin", "found": "89 50 4e 47", "magic": "fe 62 69 6e"},
)

TEXT_NOT_A_LOG = ErrorCode(
    "L132",
    "{file}: not a binary log: it starts with {found}, a text, not {magic}",
    cause=(
        "A binary log starts with four bytes that name it. This file starts as a text does, such "
        "as an index of logs, SQL or the output of mysqlbinlog."
    ),
    example={"file": "binlog.index", "found": "2e 2f 62 69", "magic": "fe 62 69 6e"},
)

_SERVER_READS = "The server itself can read the file, and sends its events to a replica."

ENCRYPTED = ErrorCode(
    "L133",
    "{file}: encrypted (binlog_encryption=ON)",
    "read it from the server, which decrypts it",
    cause=f"MySQL encrypted the file with a key that it keeps to itself. {_SERVER_READS}",
    example={"file": "binlog.000042"},
)

ENCRYPTED_FROM_HERE = ErrorCode(
    "L134",
    "{file}: encrypted with version {version} of a key that only its MariaDB server has",
    "read the log from the server, which decrypts it",
    cause=(
        "A START_ENCRYPTION_EVENT says that everything after it is encrypted (encrypt_binlog=ON). "
        f"{_SERVER_READS}"
    ),
    example={"file": "mariadb-bin.000007", "version": 1},
)

INNODB_PAGES = ErrorCode(
    "L135",
    "{file}: a log in pages of InnoDB (binlog_storage_engine=innodb)",
    "read it from the server, which sends plain events",
    cause=f"MariaDB 12.3 can keep its log in pages of InnoDB. {_SERVER_READS}",
    example={"file": "binlog-000000.ibb"},
)

GTID_INDEX = ErrorCode(
    "L136",
    "{file}: MariaDB's index of the GTIDs of a log",
    "give the log beside it",
    cause="MariaDB writes a file .idx beside each log, which has no events.",
    example={"file": "mariadb-bin.000007.idx"},
)

PACKED_TWICE = ErrorCode(
    "L137",
    "{file}: {inner} inside of {outer}",
    "unpack it once",
    cause="The log was compressed twice. One compression is undone while the log is read, no more.",
    example={"file": "binlog.000042.gz", "inner": "zstd", "outer": "gzip"},
)

PACKED_DAMAGED = ErrorCode(
    "L138",
    "the {compression} data are damaged: {why}",
    cause="The compressed bytes were changed after they were written, or were not copied whole.",
    example={"compression": "gzip", "why": "CRC check failed 0x1 != 0x2"},
)

SIZE_DIFFERS = ErrorCode(
    "L141",
    "its header says {size} bytes, but {found} came",
    cause="An event arrived whole, and its header says another size. Its bytes were changed.",
    example={"size": 64, "found": 60},
)

SIZE_BELOW_HEADER = ErrorCode(
    "L142",
    "its header says {size} bytes, less than the {header} of a header",
    cause="The size of an event counts its header. Bytes were changed, or no event starts here.",
    example={"size": 7, "header": 19},
)

SIZE_ABOVE_LIMIT = ErrorCode(
    "L143",
    "its header says {size} bytes, more than the {limit} that an event can have",
    cause="Servers write no events of this size. Bytes were changed, or no event starts here.",
    example={"size": 4294967295, "limit": 1073741824},
)

NO_ROOM_FOR_CHECKSUM = ErrorCode(
    "L144",
    "{size} bytes do not hold a header and a checksum",
    cause="The log has checksums, and the event is too short for one. Its bytes were changed.",
    example={"size": 20},
)

END_DIFFERS = ErrorCode(
    "L145",
    "its header says that it ends at {said}, not at {found}",
    cause=(
        "The header of an event has the position of the next one. If they differ, no event starts "
        "here, or bytes were added to or taken from the file."
    ),
    example={"said": 2048, "found": 1251},
)

CHECKSUM_DIFFERS = ErrorCode(
    "L146",
    "CRC32 is {computed:#010x}, but the event says {stored:#010x}: bytes changed on disk, in "
    "memory or on the way",
    "check the file with mysqlbinlog --verify-binlog-checksum, and restart to read it again",
    cause="The server computed a checksum of each event, and the bytes that came have another one.",
    example={"computed": 0x1A2B3C4D, "stored": 0x1A2B3C4E},
)

POSITION_TOO_LARGE = ErrorCode(
    "L147",
    "it says that {file} goes on at {position}, but no file is as long",
    cause="An event of the server names where a log goes on. Its bytes were changed.",
    example={"file": "binlog.000042", "position": 1 << 63},
)

SEEKED_INTO = ErrorCode(
    "L151",
    "{why}",
    "reading began at start position {start}: begin at the start of a transaction, at its GTID or "
    "BEGIN, as `binlog-connector dump --format events` shows it",
    frame=True,
    cause="Reading began inside of a transaction, whose first events tell what follows them.",
    example={"why": "no TABLE_MAP_EVENT of this statement describes table id 108", "start": 1187},
)

GAP = ErrorCode(
    "L155",
    "{file}: nothing could be read from {start} to {end} ({size} bytes): {why}",
    frame=True,
    cause="With --recover, what cannot be read is left out and reported.",
    example={
        "file": "binlog.000042",
        "start": 1187,
        "end": 1251,
        "size": 64,
        "why": "XID_EVENT: its header says that it ends at 2048, not at 1251",
    },
)

GAP_EVENT = ErrorCode(
    "L156",
    "{event}: {why}",
    frame=True,
    cause="With --recover, an event that cannot be read is left out and reported.",
    example={"event": "XID_EVENT", "why": "its header says that it ends at 2048, not at 1251"},
)

GAP_TOO_SHORT = ErrorCode(
    "L157",
    "an event of {size} bytes does not fit in there",
    cause=(
        "With --recover, what follows a damaged header is searched for the next event. The size "
        "in the header goes beyond it."
    ),
    example={"size": 8192},
)

TYPE_UNKNOWN = ErrorCode(
    "L201",
    "this type is not known and not flagged as ignorable (first bytes {first})",
    "upgrade the connector",
    cause="A newer server wrote an event that a reader must understand to read on without loss.",
    example={"first": "01 00 00 00"},
)

_NEVER_WRITTEN = "No server writes this: bytes were changed."

FORMAT_VERSION = ErrorCode(
    "L202",
    "it says binlog format v{version}, but only v4 has this event",
    cause=_NEVER_WRITTEN,
    example={"version": 5},
)

HEADER_TOO_SHORT = ErrorCode(
    "L203",
    "a header of {length} bytes is shorter than {least}",
    cause=_NEVER_WRITTEN,
    example={"length": 13, "least": 19},
)

TYPES_RENUMBERED = ErrorCode(
    "L204",
    "server {version} numbers event types in a way that is not known, as pre-releases of 5.1 do",
    cause="Some servers were never released, and no document tells how they number event types.",
    example={"version": "5.1.9-beta"},
)

CHECKSUM_ALGORITHM = ErrorCode(
    "L205",
    "checksum algorithm {value} is not known",
    "set binlog_checksum=CRC32",
    cause="Servers know no checksum but CRC32. A newer server wrote this, or bytes were changed.",
    example={"value": 2},
)

NO_FORMAT = ErrorCode(
    "L206",
    "no FORMAT_DESCRIPTION_EVENT came before it",
    "read the log from its start, where that event is",
    cause="The first event of a log says how the events after it are written.",
)

FILE_NAME_EMPTY = ErrorCode(
    "L207",
    "the name of the log file is empty",
    cause=f"The event names the next log. {_NEVER_WRITTEN}",
)

SLAVE_NAMES = ErrorCode(
    "L208",
    "the names of the source and its log are not two, each with an end",
    cause=_NEVER_WRITTEN,
)

HEARTBEAT_INCOMPLETE = ErrorCode(
    "L209",
    "the heartbeat lacks its file or its position",
    cause=f"A heartbeat says up to which position the server has sent its log. {_NEVER_WRITTEN}",
)

USER_VARIABLE_TYPE = ErrorCode(
    "L211",
    "a user variable has no value of type {value}",
    cause=_NEVER_WRITTEN,
    example={"value": 9},
)

FILE_NAME_OUTSIDE = ErrorCode(
    "L212",
    "the file name from {start} to {end} is not in a query of {length} bytes",
    cause=(
        "The event of a LOAD DATA says which part of its text is the name of a file. "
        f"{_NEVER_WRITTEN}"
    ),
    example={"start": 20, "end": 95, "length": 90},
)

NOT_A_GNO = ErrorCode(
    "L221",
    "{number} is not the number of a GTID",
    cause=f"The number of a GTID is from 1 to 9223372036854775806. {_NEVER_WRITTEN}",
    example={"number": 0},
)

ANONYMOUS_WITH_GTID = ErrorCode(
    "L222",
    "it has a GTID, but an anonymous transaction has none",
    cause=_NEVER_WRITTEN,
)

TAGGED_FIELD_UNKNOWN = ErrorCode(
    "L223",
    "field {number} is not known and must not be left out",
    "upgrade the connector",
    cause="A newer server wrote a field that a reader must understand.",
    example={"number": 14},
)

TAGGED_INCOMPLETE = ErrorCode(
    "L224",
    "the message lacks the uuid or the number of its GTID",
    cause=_NEVER_WRITTEN,
)

UUID_BYTE = ErrorCode(
    "L225",
    "a byte of the uuid is above 255",
    cause=f"Each byte is written as a number of its own. {_NEVER_WRITTEN}",
)

COMMIT_TIME = ErrorCode(
    "L226",
    "a commit cannot be {microseconds} microseconds after 1970",
    cause=_NEVER_WRITTEN,
    example={"microseconds": 1 << 60},
)

GTID_INTERVAL = ErrorCode(
    "L227",
    "interval {start}-{end} of {server} at offset {offset} of a GTID set does not rise",
    cause=f"The intervals of a server rise and do not touch each other. {_NEVER_WRITTEN}",
    example={
        "start": 9,
        "end": 5,
        "server": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "offset": 24,
    },
)

GTID_SERVER = ErrorCode(
    "L228",
    "a GTID set holds {server} twice or without an interval",
    cause=_NEVER_WRITTEN,
    example={"server": "3e11fa47-71ca-11e1-9e33-c80aa9429562"},
)

GTID_TAG = ErrorCode(
    "L229",
    "the tag at offset {offset} of a GTID set is not one to 32 of a-z, 0-9 and _",
    cause=_NEVER_WRITTEN,
    example={"offset": 24},
)

VIEW_ID = ErrorCode(
    "L231",
    "the view id is empty or goes on after its end",
    cause=f"Group replication numbers its views, and fills the id up with zeros. {_NEVER_WRITTEN}",
)

XA_NAME_LENGTH = ErrorCode(
    "L232",
    "the name of an XA transaction has parts of at most {limit} bytes, not {gtrid} and {bqual}",
    cause=_NEVER_WRITTEN,
    example={"limit": 64, "gtrid": 70, "bqual": 0},
)

ONE_PHASE = ErrorCode(
    "L233",
    "one_phase is {value}, neither 0 nor 1",
    cause=_NEVER_WRITTEN,
    example={"value": 2},
)

NOT_ZLIB = ErrorCode(
    "L251",
    "{head:#04x} does not start a record that zlib compressed",
    cause=f"MariaDB compresses events by zlib alone (log_bin_compress). {_NEVER_WRITTEN}",
    example={"head": 0x12},
)

TOO_LONG_UNPACKED = ErrorCode(
    "L252",
    "{length} bytes before compression are more than any event has",
    cause=_NEVER_WRITTEN,
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
    cause=_NEVER_WRITTEN,
    example={"number": 1},
)

PAYLOAD_INCOMPLETE = ErrorCode(
    "L262",
    "the payload's header lacks its size or its compression",
    cause=_NEVER_WRITTEN,
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
    cause=_NEVER_WRITTEN,
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
    cause=f"The event is written by MySQL's serialization library. {_NEVER_WRITTEN}",
    example={"size": 40, "found": 38},
)

TABLE = ErrorCode(
    "L301",
    "table {table}, {why}",
    frame=True,
    cause="A row of the table cannot be read.",
    example={"table": "erp.orders", "why": "need 8 bytes at offset 23, but the payload ends at 27"},
)

COLUMN = ErrorCode(
    "L302",
    "column {column} ({type}): {why}",
    frame=True,
    cause=(
        "A value of the column cannot be read. A column without a name is identified by its number."
    ),
    example={"column": "price", "type": "NEWDECIMAL", "why": "DECIMAL(70,2) does not exist"},
)

METADATA_LEFT = ErrorCode(
    "L311",
    "{count} bytes of column metadata belong to no column",
    cause=_NEVER_WRITTEN,
    example={"count": 2},
)

METADATA_COLUMN = ErrorCode(
    "L312",
    "the optional metadata speaks of column {number}, but there are {count}",
    cause=_NEVER_WRITTEN,
    example={"number": 7, "count": 5},
)

NO_TABLE_MAP = ErrorCode(
    "L313",
    "no TABLE_MAP_EVENT of this statement describes table id {table_id}",
    cause=(
        "Rows follow the event that describes their table. Reading began between the two, or "
        "events are missing."
    ),
    example={"table_id": 108},
)

COLUMNS_DIFFER = ErrorCode(
    "L314",
    "the event has {found} columns, but the table map of {table} has {count}",
    cause=_NEVER_WRITTEN,
    example={"found": 5, "table": "erp.orders", "count": 4},
    scope=Scope.PLACE,
)

NO_COLUMN_PRESENT = ErrorCode(
    "L315",
    "{length} bytes of rows, but no column is present",
    cause=_NEVER_WRITTEN,
    example={"length": 40},
    scope=Scope.PLACE,
)

PRE_GA = ErrorCode(
    "L316",
    "rows as servers before 5.1.18 wrote them hold the null bytes of the server's own record, and "
    "these cannot be read without the definition of the table",
    cause="Servers before 5.1.18 are pre-releases, whose row events had another form.",
)

VALUE_OPTIONS = ErrorCode(
    "L317",
    "value options {options:#x} are not known",
    "upgrade the connector",
    cause=(
        "A server says how values of an update are written (binlog_row_value_options). A newer "
        "server wrote it, or bytes were changed."
    ),
    example={"options": 4},
    scope=Scope.PLACE,
)

TYPE_NOT_READ = ErrorCode(
    "L318",
    "values of this type are not supported",
    "exclude the table",
    cause="No released server writes columns of this type, so that nobody knows how to read them.",
    scope=Scope.TABLE,
)

OLD_FRACTION = ErrorCode(
    "L320",
    "{columns}: digits after the second in MariaDB's old format (mysql56_temporal_format=OFF), and "
    "the log does not tell how many",
    "rebuild the table (SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE ... FORCE) and read "
    "from there on, or exclude the table",
    cause=(
        "The values of such a column take as many bytes as its digits need, and a table map of "
        "MariaDB does not say how many. Rows could be read as others than those that were written."
    ),
    example={"columns": ("column seen (DATETIME)",)},
    scope=Scope.PLACE,
)

NDB_LENGTH = ErrorCode(
    "L319",
    "extra row data of NDB has {length} bytes instead of {least} or more",
    cause=_NEVER_WRITTEN,
    example={"length": 1, "least": 2},
)

FILE_NUMBER = ErrorCode(
    "T234",
    "log file {file!r} has no number at the end of its name, so it cannot be ordered",
    "give it the name that its server gave it",
    cause="Servers number their log files, and the order of changes begins with this number.",
    example={"file": "binlog.backup"},
)


class TruncatedPayload(DecodeError):
    """A payload ends before a field does."""

    def __init__(self, needed: int, offset: int, end: int) -> None:
        """State that `needed` bytes were wanted at `offset` of a payload that ends at `end`."""
        super().__init__(PAYLOAD_ENDS, needed=needed, offset=offset, end=end)
        self.needed = needed
        self.offset = offset
        self.end = end


class ProtocolError(DecodeError):
    """The conversation with the server broke its rules."""


class EventError(DecodeError):
    """An event cannot be read: the error inside of it, with file, position and event name.

    Its code is that of the error inside.
    """

    def __init__(self, file: str, position: int, event_name: str, reason: ConnectorError) -> None:
        """State that the event at byte `position` of `file` caused `reason`."""
        super().__init__(EVENT_DAMAGED, file=file, position=position, event=event_name, why=reason)
        self.file = file
        self.position = position
        self.event_name = event_name
        self.reason = reason


class LogTruncated(DecodeError):
    """A log file ends inside an event: its server died, or it was copied while written."""

    def __init__(self, file: str, position: int, needed: int, found: int) -> None:
        """State that `needed` bytes were wanted at `position`, but `found` were there."""
        super().__init__(FILE_ENDS, file=file, position=position, needed=needed, found=found)
        self.file = file
        self.position = position  # the end of the last complete event
        self.needed = needed
        self.found = found


class LogRefused(DecodeError):
    """A file is not a binary log, is encrypted, or has a storage format that is not read."""

    def __init__(self, code: ErrorCode, file: str, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        super().__init__(code, file=file, **facts)
        self.file = file
