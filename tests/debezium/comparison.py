"""Two records side by side; the differences that docs/debezium.md explains are known here."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GOLDEN = Path(__file__).with_name("golden")

# The end of a value, and the program that wrote it.
_TIMES = re.compile(rb',"ts_ms":\d+,"ts_us":\d+,"ts_ns":\d+\}$')
_WRITER = re.compile(rb'"version":"[^"]*"')

# For cells of the log: what Debezium writes, and what we write instead.
_KNOWN: dict[tuple[str, str], dict[str | None, str | None]] = {
    ("floats", "c0"): {"1.17549435E-38": "1.1754944E-38"},
    ("floats", "c1"): {
        "1234.5670166015625": "1234.567", "-0.0010000000474974513": "-0.001",
    },
    ("texts", "c12"): {"b\\,c": "b,c"},
    ("documents", "c0"): {
        "1" + f"{1e300:.0f}"[1:]: "1e300",
        '"13:0-35:0-56"': '"-12:34:56.000000"',
        '"AP8="': '"base64:type15:AP8="',
        "10000000": "10000000.0",
        "123456789.12345679104328155517578125": "123456789.12345679",
        "0.0000000999999999999999954748111825886258685613938723690807819366455078125": "0.0000001",
        "0.000100000000000000004792173602385929598312941379845142364501953125": "0.0001",
    },
    ("defaults", "a"): {"5": None},
    ("defaults", "d"): {"18262": "0"},
}  # fmt: skip
# Cells of copied rows whose form is not that of Debezium.
_COPIED_OTHERWISE = {
    "integers": {"c13"},
    "required": {"c5", "c7"},
    "floats": {"c0", "c1", "c2", "c5"},
    "times": {"c0", "c1", "c8", "c9", "c10", "c11"},
    "defaults": {"a", "d"},
}
# Debezium takes the unique key for a key.
WITHOUT_THEIR_KEY = "unique_key"


@dataclass(frozen=True)
class Seen:
    """A record, with the headers that Debezium's consumers know."""

    table: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str]]

    @property
    def copied(self) -> bool:
        """Whether a SELECT read the row."""
        return self.value is not None and b'"op":"r"' in self.value


def seen(
    topic: str, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes]]
) -> Seen:
    """Return the parts of a record that two programs can have alike."""
    prefix, _, rest = topic.partition(".")
    if value is not None:
        value = _WRITER.sub(b'"version":""', _TIMES.sub(b"}", value))
        value = value.replace(b'"name":"%b"' % prefix.encode(), b'"name":""', 1)
    known = [(name, text.decode()) for name, text in headers if _is_common(name)]
    return Seen(rest.partition(".")[2], key, value, known)


def _is_common(name: str) -> bool:
    return not name.startswith(("cdc.", "__debezium.context."))


def differences(ours: list[Seen], theirs: list[Seen]) -> Iterator[str]:
    """Yield a line for each difference that is not known; both are records of one table."""
    if len(ours) != len(theirs):
        yield f"{theirs[0].table}: {len(ours)} records, Debezium has {len(theirs)}"
    for own, other in zip(ours, theirs, strict=False):
        if own.key != other.key and own.table != WITHOUT_THEIR_KEY:
            yield f"{own.table}: key {own.key!r}, Debezium {other.key!r}"
        if not _same_value(own, other):
            yield f"{own.table}: {own.value!r}\n  Debezium {other.value!r}"
        # A decimal in a header is a number there.
        if own.headers != other.headers and own.table not in ("exact_key", WITHOUT_THEIR_KEY):
            yield f"{own.table}: headers {own.headers}, Debezium {other.headers}"


def _same_value(own: Seen, other: Seen) -> bool:
    if own.value == other.value:
        return True
    if own.value is None or other.value is None:
        return False
    mine, their = _parsed(own.value), _parsed(other.value)
    for image in ("before", "after"):
        for name, value in (their[image] or {}).items():
            if own.copied and name in _COPIED_OTHERWISE.get(own.table, ()):
                their[image][name] = mine[image][name]
            elif isinstance(value, str):
                known = _KNOWN.get((own.table, name), {})
                their[image][name] = known.get(value, value)
    if own.copied:
        mine["source"] = their["source"] = None
    # As text, because the order counts.
    return json.dumps(mine) == json.dumps(their)


def _parsed(value: bytes) -> Any:
    """Return the value with its numbers as they are written."""
    return json.loads(value, parse_float=str, parse_int=str)


def keep(path: Path, records: Iterable[tuple[str, bytes | None, bytes | None, Any]]) -> None:
    """Store the records of Debezium, one JSON array a line."""
    lines = (
        json.dumps(
            [
                topic,
                None if key is None else key.decode(),
                None if value is None else value.decode(),
                [(name, text.decode()) for name, text in headers if _is_common(name)],
            ],
            ensure_ascii=False,
        )
        for topic, key, value, headers in records
    )
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def kept(path: Path) -> list[Seen]:
    """Read what `keep` has stored."""
    found = []
    for line in gzip.decompress(path.read_bytes()).decode().split("\n"):
        topic, key, value, headers = json.loads(line)
        found.append(
            seen(
                topic,
                None if key is None else key.encode(),
                None if value is None else value.encode(),
                [(name, text.encode()) for name, text in headers],
            )
        )
    return found


def by_table(records: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Return the records of each table, in order."""
    found: dict[str, list[Seen]] = {}
    for record in records:
        if record.table:
            found.setdefault(record.table, []).append(record)
    return found
