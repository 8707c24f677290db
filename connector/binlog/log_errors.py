"""Logs: their files, events, packed events and rows; fields of a payload."""

from connector.foundation.errors.code import ErrorCode, Scope, frame, table_error
from connector.foundation.errors.kinds import ConnectorError, DecodeError

FIELD_DAMAGED = ErrorCode(
    "L181",
    "{reason}",
    scope=Scope.PLACE,
    cause="No server writes this: bytes of a field were changed or lost.",
)
PAYLOAD_ENDS = FIELD_DAMAGED.because(
    "need {needed} bytes at offset {offset}, but the payload ends at {end}", was="L101"
)
LENGTH_UNKNOWN = FIELD_DAMAGED.because(
    "{first:#04x} at offset {offset} does not start a length-encoded integer", was="L111"
)
LEFT_OVER = FIELD_DAMAGED.because("{count} bytes are left over after {field}", was="L112")
NO_END = FIELD_DAMAGED.because("the {field} has no end", was="L113")
END_ELSEWHERE = FIELD_DAMAGED.because("the {field} does not end where its length says", was="L114")
NOT_UTF8 = FIELD_DAMAGED.because("the {field} is not UTF-8", was="L115")
NOT_ASCII = FIELD_DAMAGED.because("the {field} is not ASCII", was="L116")
COLUMNS_DIFFER = FIELD_DAMAGED.because(
    "the event has {found} columns, but the table map of {table} has {count}", was="L314"
)
NO_COLUMN_PRESENT = FIELD_DAMAGED.because(
    "{length} bytes of rows, but no column is present", was="L315"
)

AT_POSITION = frame(
    "{file}:{position}: cannot decode {event}: {why}",
    "compare with `mysqlbinlog --start-position={position} {file}`",
    was="L102",
)
FILE_ENDS = ErrorCode(
    "L103",
    "{file}:{position}: the file ends inside an event: need {needed} bytes, but {found} are left",
    "every event before {position} is complete",
    cause="The server died while it wrote the file, or the file was copied while it was written.",
    example={"needed": 19, "found": 7},
)
VALUE_UNKNOWN = ErrorCode(
    "L121",
    "{field} {value} is not known",
    "upgrade the connector",
    cause="The field has a value that no server wrote when this version was made. A newer server "
    "wrote it, or bytes were changed.",
    example={"field": "compression type", "value": 7},
    scope=Scope.PLACE,
)

OTHER_FILE = ErrorCode(
    "L158",
    "{file}: not a binary log: {reason}",
    cause="A binary log starts with four bytes that name it.",
)
EMPTY = OTHER_FILE.because("there is nothing in it", was="L130")
NOT_A_LOG = OTHER_FILE.because("it starts with {found}, not {magic}", was="L131")
TEXT_NOT_A_LOG = OTHER_FILE.because("it starts with {found}, a text, not {magic}", was="L132")

ONLY_ITS_SERVER = ErrorCode(
    "L159",
    "{file}: {reason}",
    "read it from the server, which {does}",
    cause="The server keeps the log in a form that only the server itself can read.",
)
ENCRYPTED = ONLY_ITS_SERVER.because(
    "encrypted (binlog_encryption=ON)", does="decrypts it", was="L133"
)
ENCRYPTED_FROM_HERE = ONLY_ITS_SERVER.because(
    "encrypted with version {version} of a key that only its MariaDB server has",
    does="decrypts it",
    was="L134",
)
INNODB_PAGES = ONLY_ITS_SERVER.because(
    "a log in pages of InnoDB (binlog_storage_engine=innodb)", does="sends plain events", was="L135"
)

GTID_INDEX = ErrorCode(
    "L136",
    "{file}: MariaDB's index of the GTIDs of a log",
    "give the log beside it",
    cause="MariaDB writes a file .idx beside each log, which has no events.",
)
PACKED_TWICE = ErrorCode(
    "L137",
    "{file}: {inner} inside of {outer}",
    "unpack it once",
    cause="The log was compressed twice. One compression is undone while the log is read, no more.",
    example={"inner": "zstd", "outer": "gzip"},
)
PACKED_DAMAGED = ErrorCode(
    "L138",
    "the {compression} data are damaged: {why}",
    cause="The compressed bytes were changed after they were written, or were not copied whole.",
    example={"compression": "gzip", "why": "CRC check failed 0x1 != 0x2"},
)

EVENT_DAMAGED = ErrorCode(
    "L180",
    "{reason}",
    cause="No server writes this: bytes of the event were changed, or no event starts here.",
)
SIZE_DIFFERS = EVENT_DAMAGED.because("its header says {size} bytes, but {found} came", was="L141")
SIZE_BELOW_HEADER = EVENT_DAMAGED.because(
    "its header says {size} bytes, less than the {header} of a header", was="L142"
)
SIZE_ABOVE_LIMIT = EVENT_DAMAGED.because(
    "its header says {size} bytes, more than the {limit} of the largest event that a server sends "
    "to replicas",
    was="L143",
)
NO_ROOM_FOR_CHECKSUM = EVENT_DAMAGED.because(
    "{size} bytes do not hold a header and a checksum", was="L144"
)
END_DIFFERS = EVENT_DAMAGED.because(
    "its header says that it ends at {said}, not at {found}", was="L145"
)
POSITION_TOO_LARGE = EVENT_DAMAGED.because(
    "it says that {file} goes on at {position}, but no file is as long", was="L147"
)
GAP_TOO_SHORT = EVENT_DAMAGED.because("an event of {size} bytes does not fit in there", was="L157")
FORMAT_VERSION = EVENT_DAMAGED.because(
    "it says binlog format v{version}, but only v4 has this event", was="L202"
)
HEADER_TOO_SHORT = EVENT_DAMAGED.because(
    "a header of {length} bytes is shorter than {least}", was="L203"
)
FILE_NAME_EMPTY = EVENT_DAMAGED.because("the name of the log file is empty", was="L207")
SLAVE_NAMES = EVENT_DAMAGED.because(
    "the names of the source and its log are not two, each with an end", was="L208"
)
HEARTBEAT_INCOMPLETE = EVENT_DAMAGED.because(
    "the heartbeat lacks its file or its position", was="L209"
)
USER_VARIABLE_TYPE = EVENT_DAMAGED.because(
    "a user variable has no value of type {value}", was="L211"
)
FILE_NAME_OUTSIDE = EVENT_DAMAGED.because(
    "the file name from {start} to {end} is not in a query of {length} bytes", was="L212"
)
NOT_A_GNO = EVENT_DAMAGED.because("{number} is not the number of a GTID", was="L221")
ANONYMOUS_WITH_GTID = EVENT_DAMAGED.because(
    "it has a GTID, but an anonymous transaction has none", was="L222"
)
TAGGED_INCOMPLETE = EVENT_DAMAGED.because(
    "the message lacks the uuid or the number of its GTID", was="L224"
)
UUID_BYTE = EVENT_DAMAGED.because("a byte of the uuid is above 255", was="L225")
COMMIT_TIME = EVENT_DAMAGED.because(
    "a commit cannot be {microseconds} microseconds after 1970", was="L226"
)
GTID_INTERVAL = EVENT_DAMAGED.because(
    "interval {start}-{end} of {server} at offset {offset} of a GTID set does not rise", was="L227"
)
GTID_SERVER = EVENT_DAMAGED.because(
    "a GTID set holds {server} twice or without an interval", was="L228"
)
GTID_TAG = EVENT_DAMAGED.because(
    "the tag at offset {offset} of a GTID set is not one to 32 of a-z, 0-9 and _", was="L229"
)
VIEW_ID = EVENT_DAMAGED.because("the view id is empty or goes on after its end", was="L231")
XA_NAME_LENGTH = EVENT_DAMAGED.because(
    "the name of an XA transaction has parts of at most {limit} bytes, not {gtrid} and {bqual}",
    was="L232",
)
ONE_PHASE = EVENT_DAMAGED.because("one_phase is {value}, neither 0 nor 1", was="L233")
NOT_ZLIB = EVENT_DAMAGED.because(
    "{head:#04x} does not start a record that zlib compressed", was="L251"
)
TOO_LONG_UNPACKED = EVENT_DAMAGED.because(
    "{length} bytes before compression are more than any event has", was="L252"
)
NOT_UNPACKED = EVENT_DAMAGED.because("it cannot be decompressed: {why}", was="L253")
RECORD_LENGTH = EVENT_DAMAGED.because(
    "its record does not hold exactly the {length} bytes that it says", was="L254"
)
PAYLOAD_FIELD = EVENT_DAMAGED.because(
    "field {number} of the payload's header is longer than its value", was="L261"
)
PAYLOAD_INCOMPLETE = EVENT_DAMAGED.because(
    "the payload's header lacks its size or its compression", was="L262"
)
PAYLOAD_SIZE = EVENT_DAMAGED.because(
    "the payload has {found} bytes, but its header says {size}", was="L263"
)
PAYLOAD_LONGER = EVENT_DAMAGED.because(
    "decompression gives more than the {size} bytes that its header says", was="L264"
)
PAYLOAD_SHORTER = EVENT_DAMAGED.because("the payload ends {missing} bytes too soon", was="L265")
PAYLOAD_EVENT_SIZE = EVENT_DAMAGED.because(
    "the next event says it has {size} bytes, but {left} of {whole} are left", was="L266"
)
NEVER_INSIDE = EVENT_DAMAGED.because("no server writes it inside of a payload", was="L267")
PAYLOAD_EVENT_LIMIT = EVENT_DAMAGED.because(
    "the next event says it has {size} bytes, more than the {limit} of the largest event",
    was="L269",
)
FRAGMENT_NUMBER = EVENT_DAMAGED.because("fragment {number} of {total} cannot be", was="L271")
FRAGMENTS_SIZE = EVENT_DAMAGED.because(
    "the rows event has {size} bytes, but its fragments up to {number} of {total} have {found}",
    was="L274",
)
FRAGMENTS_NO_EVENT = EVENT_DAMAGED.because(
    "the fragments make {found} bytes that start a {event} of {size}, not one whole rows event",
    was="L276",
)
MESSAGE_SIZE = EVENT_DAMAGED.because(
    "the message says it has {size} bytes, but the event has {found}", was="L281"
)
METADATA_LEFT = EVENT_DAMAGED.because(
    "{count} bytes of column metadata belong to no column", was="L311"
)
METADATA_COLUMN = EVENT_DAMAGED.because(
    "the optional metadata speaks of column {number}, but there are {count}", was="L312"
)
NDB_LENGTH = EVENT_DAMAGED.because(
    "extra row data of NDB has {length} bytes instead of {least} or more", was="L319"
)

CHECKSUM_DIFFERS = ErrorCode(
    "L146",
    "CRC32 is {computed:#010x}, but the event says {stored:#010x}: bytes changed on disk, in "
    "memory or on the way",
    "check the file with mysqlbinlog --verify-binlog-checksum, and restart to read it again",
    cause="The server computed a checksum of each event, and the bytes that came have another one.",
    example={"computed": 0x1A2B3C4D, "stored": 0x1A2B3C4E},
)
SEEKED_INTO = frame(
    "{why}",
    "reading began at start position {start}: begin at the start of a transaction, at its GTID "
    "or BEGIN, as `binlog-connector dump --format events` shows it",
    was="L151",
)
GAP = frame("{file}: nothing could be read from {start} to {end} ({size} bytes): {why}", was="L155")
GAP_EVENT = frame("{event}: {why}", was="L156")
TYPE_UNKNOWN = ErrorCode(
    "L201",
    "this type is not known and not flagged as ignorable (first bytes {first})",
    "upgrade the connector",
    cause="A newer server wrote an event that a reader must understand to read on without loss.",
    example={"first": "01 00 00 00"},
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
TAGGED_FIELD_UNKNOWN = ErrorCode(
    "L223",
    "field {number} is not known and must not be left out",
    "upgrade the connector",
    cause="A newer server wrote a field that a reader must understand.",
    example={"number": 14},
)
AFTER_INSIDE = frame("after event {number} inside: {why}", was="L268")

EVENTS_MISSING = ErrorCode(
    "L183",
    "{reason}",
    cause="Reading began between events that belong together, or some of them are missing.",
)
FRAGMENT_ORDER = EVENTS_MISSING.because(
    "fragment {number} of {total} came, but fragment {awaited} of {awaited_total} was to come",
    was="L272",
)
FRAGMENT_NOT_BEGUN = EVENTS_MISSING.because(
    "fragment {number} of {total} came, but no fragment before it", was="L273"
)
FRAGMENT_MISSING = EVENTS_MISSING.because(
    "it came before fragment {awaited} of {awaited_total} of a rows event", was="L275"
)
NO_TABLE_MAP = EVENTS_MISSING.because(
    "no TABLE_MAP_EVENT of this statement describes table id {table_id}", was="L313"
)

TABLE = frame("table {table}, {why}", was="L301")
COLUMN = frame("column {column} ({type}): {why}", was="L302")
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
    cause="A server says how values of an update are written (binlog_row_value_options). A newer "
    "server wrote it, or bytes were changed.",
    example={"options": 4},
    scope=Scope.PLACE,
)
TYPE_NOT_READ = table_error(
    "L318",
    "values of this type are not supported",
    "exclude the table",
    cause="No released server writes columns of this type, so that nobody knows how to read them.",
)
OLD_FRACTION = ErrorCode(
    "L320",
    "{columns}: digits after the second in MariaDB's old format (mysql56_temporal_format=OFF), and "
    "the log does not tell how many",
    "rebuild the table (SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE ... FORCE) and read "
    "from there on, or exclude the table",
    cause="The values of such a column take as many bytes as its digits need, and a table map of "
    "MariaDB does not say how many. Rows could be read as others than those that were written.",
    example={"columns": ("column seen (DATETIME)",)},
    scope=Scope.PLACE,
)
FILE_NUMBER = ErrorCode(
    "T234",
    "log file {file!r} has no number at the end of its name, so it cannot be ordered",
    "give it the name that its server gave it",
    cause="Servers number their log files, and the order of changes begins with this number.",
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
        super().__init__(AT_POSITION, file=file, position=position, event=event_name, why=reason)
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
