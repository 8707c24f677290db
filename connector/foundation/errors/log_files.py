"""L130: files of a log: what they are, where their events are, and what is missing."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_SERVER_READS = "The server itself can read the file, and sends its events to a replica."

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
