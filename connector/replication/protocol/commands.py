"""Commands of a replica: each becomes the payload of one packet, with its command byte first.

The protocol says slave and master; the names here are those of MySQL's documents.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html
"""

from dataclasses import dataclass
from enum import IntFlag
from struct import Struct
from typing import ClassVar

from connector.binlog.gtid import GtidSet
from connector.binlog.header import FIRST_POSITION

_REGISTER = Struct("<HII")
_DUMP = Struct("<BIHI")
_DUMP_GTID = Struct("<BHII")
_POSITION_AND_LENGTH = Struct("<QI")


class DumpFlags(IntFlag):
    """Flags of a dump command.

    Bit 2 is not used, because servers from 8.3 on read it as SKIP_TAGGED_GTIDS.
    """

    NONE = 0
    # End with EOF at the end of the log instead of waiting for more.
    NON_BLOCK = 0x01
    # MariaDB alone: MySQL 8 reads the same bit as USE_HEARTBEAT_EVENT_V2. Without these events, the
    # positions of later ones cannot be counted, because their headers do not state them.
    MARIADB_SEND_ANNOTATE_ROWS_EVENT = 0x02


@dataclass(frozen=True, slots=True)
class ComRegisterSlave:
    """Registers the replica; SHOW REPLICAS prints these values.

    ::

        15 | server_id u32 | length u8, host | length u8, user | length u8, password
           | port u16 | rank u32 | master_id u32

    The server answers with OK or ERR. Rank and master_id are ignored by every server.
    """

    COMMAND: ClassVar[int] = 0x15

    server_id: int
    host: str = ""
    port: int = 0

    def encode(self) -> bytes:
        """Return the payload; the server reads at most 60 bytes of the host."""
        host = self.host.encode("utf-8")[:60]
        return b"".join(
            (
                bytes((self.COMMAND,)),
                self.server_id.to_bytes(4, "little"),
                bytes((len(host),)),
                host,
                # User and password would be shown to others by SHOW REPLICAS.
                b"\0\0",
                _REGISTER.pack(self.port, 0, 0),
            )
        )


@dataclass(frozen=True, slots=True)
class ComBinlogDump:
    """Asks for events from a file and position; MariaDB takes GTIDs from a session variable.

    ::

        12 | position u32 | flags u16 | server_id u32 | file, up to the end
    """

    COMMAND: ClassVar[int] = 0x12
    # The widest position that the command can name.
    POSITION_MAX: ClassVar[int] = 2**32 - 1

    server_id: int
    file: str  # "" asks for the first file
    position: int = FIRST_POSITION  # at most POSITION_MAX
    flags: DumpFlags = DumpFlags.NONE

    def encode(self) -> bytes:
        """Return the payload; the file name fills its end."""
        head = _DUMP.pack(self.COMMAND, self.position, self.flags, self.server_id)
        return head + self.file.encode("utf-8")


@dataclass(frozen=True, slots=True)
class ComBinlogDumpGtid:
    """Asks MySQL for every transaction outside `gtid_set`, in the order of its log.

    ::

        1e | flags u16 | server_id u32 | length u32, file | position u64 | length u32, GTID set

    File and position are those of the first log's start: the server itself finds the first file
    that holds a transaction outside the set.
    """

    COMMAND: ClassVar[int] = 0x1E

    server_id: int
    gtid_set: GtidSet
    flags: DumpFlags = DumpFlags.NONE

    def encode(self) -> bytes:
        """Return the payload, with position 4 and no file name."""
        gtids = self.gtid_set.encode()
        head = _DUMP_GTID.pack(self.COMMAND, self.flags, self.server_id, 0)
        return head + _POSITION_AND_LENGTH.pack(FIRST_POSITION, len(gtids)) + gtids


@dataclass(frozen=True, slots=True)
class ComTableDump:
    """Asks for the rows of one table, as LOAD TABLE FROM MASTER of MySQL 5.1 and older did.

    ::

        13 | length u8, database | length u8, table

    Later servers answer with error 1047, "Unknown command".
    """

    COMMAND: ClassVar[int] = 0x13

    database: str
    table: str

    def encode(self) -> bytes:
        """Return the payload; a name has at most 64 characters, as every identifier."""
        names = [name.encode("utf-8") for name in (self.database, self.table)]
        return bytes((self.COMMAND,)) + b"".join(bytes((len(name),)) + name for name in names)
