"""pmr.py FILE decode|json PASSES LIMIT_MB: a binlog file by python-mysql-replication.

The library reads from servers alone, so the packets of its connection come from the file: what is
measured is the library's own time. Checksums are verified, JSON columns are decoded, the names of
columns come from the log. It stops at the first event behind LIMIT_MB megabytes, because a whole
file takes minutes; the line that each pass prints says how far it came (`limited`).
"""

import json
import sys
import time
from pathlib import Path
from struct import unpack_from

import orjson
import pymysqlreplication.binlogstream as bs
from pymysql.protocol import MysqlPacket
from pymysqlreplication.event import RotateEvent
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

KINDS = {WriteRowsEvent: "ins", UpdateRowsEvent: "upd", DeleteRowsEvent: "del"}


class FileFeed:
    """Hands out the events of a file as a server's dump would send them, then an EOF packet."""

    charset = "utf8mb4"

    def __init__(self, path: Path, limit: int) -> None:
        """Start behind the magic number."""
        self.file = path.open("rb", buffering=1 << 20)
        self.file.seek(4)
        self.left = min(limit, path.stat().st_size) - 4

    def _read_packet(self) -> MysqlPacket:
        header = self.file.read(19) if self.left > 0 else b""
        if not header:
            return MysqlPacket(b"\xfe\0\0\0\0", "utf8")
        size = unpack_from("<I", header, 9)[0]
        self.left -= size
        return MysqlPacket(b"\0" + header + self.file.read(size - 19), "utf8")

    def _get_dbms(self) -> str:
        return "mysql"

    def close(self) -> None:
        """Leave the file to the garbage collector, as the library may read on."""


def stream(path: Path, limit: int) -> bs.BinLogStreamReader:
    """Return the library's reader with the file instead of its connection."""
    reader = bs.BinLogStreamReader(
        {"host": "127.0.0.1", "user": "", "passwd": ""},
        server_id=4711,
        log_file=path.name,
        log_pos=4,
        resume_stream=True,
        only_events=[*KINDS, RotateEvent],
        verify_checksum=True,
        enable_logging=False,
    )
    reader._stream_connection = reader._ctl_connection = FileFeed(path, limit)
    reader._BinLogStreamReader__connected_stream = True
    reader._BinLogStreamReader__connected_ctl = True
    reader._BinLogStreamReader__use_checksum = True
    reader._BinLogStreamReader__optional_meta_data = True
    return reader


def plain(value: object) -> object:
    """Return what orjson can write: Decimal, time spans, sets and bytes it cannot."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {k.decode() if isinstance(k, bytes) else k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, set | frozenset):
        return ",".join(sorted(value))
    return str(value)


def image(values: dict[str, object] | None) -> dict[str, object] | None:
    """Return a row that orjson can write."""
    if values is None:
        return None
    return {k: plain(v) if type(v) in (bytes, dict, list) else v for k, v in values.items()}


def one_pass(path: Path, mode: str, limit: int) -> dict[str, int]:
    """Read the file once and count what is in it."""
    count = dict.fromkeys(("events", "ins", "upd", "del", "cells", "pk_sum", "json_bytes"), 0)
    for event in stream(path, limit):
        count["events"] += 1
        if isinstance(event, RotateEvent):
            continue
        kind = KINDS[type(event)]
        for row in event.rows:
            count[kind] += 1
            before = row["before_values"] if kind == "upd" else row.get("values")
            after = row["after_values"] if kind == "upd" else row.get("values")
            count["pk_sum"] += after["id"]
            count["cells"] += len(after) * (2 if kind == "upd" else 1)
            if mode == "json":
                envelope = {
                    "op": kind[0],
                    "db": event.schema,
                    "table": event.table,
                    "ts": event.timestamp,
                    "pos": event.packet.log_pos,
                    "before": None if kind == "ins" else image(before),
                    "after": None if kind == "del" else image(after),
                }
                count["json_bytes"] += len(orjson.dumps(envelope, default=plain))
    return count


def main() -> None:
    """Read the file so many times and print a line for each."""
    path, mode, passes, megabytes = sys.argv[1:]
    limit = int(megabytes) * 1_000_000
    for number in range(int(passes)):
        wall, cpu = time.perf_counter(), time.process_time()
        line = {"peer": "python-mysql-replication", "mode": mode, "pass": number + 1}
        line |= one_pass(Path(path), mode, limit)
        if limit < Path(path).stat().st_size:
            line["limited"] = limit
        line["wall_s"] = round(time.perf_counter() - wall, 3)
        line["cpu_s"] = round(time.process_time() - cpu, 3)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
