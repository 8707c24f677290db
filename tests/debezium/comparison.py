"""Two records side by side; the differences that docs/debezium.md explains are known here."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

GOLDEN = Path(__file__).with_name("golden")
# In the folder of each server.
RECORDS = "records.jsonl.xz"
LOG = "binlog.000001.gz"

# The end of a value, and the program that wrote it.
_TIMES = re.compile(rb',"ts_ms":\d+,"ts_us":\d+,"ts_ns":\d+(?=\}\}?$)')
# What a value begins with if it has a schema.
_WITH_SCHEMA = b'{"schema":'
_AVRO_DEFAULTS = ("default", "connect.default")
_IN_AVRO = b'{"schema":{"type":"record"'
# Where a value has the prefix.
_NAMES = (b'name":"%b"', b'"name:%b;', b'"/debezium/mysql/%b"', b'"/debezium/mariadb/%b"')
_COPIED = re.compile(rb'"(__|iodebezium)?op":"r"')
# Of an ANNOTATE_ROWS event on MariaDB, and here of the rows.
_POSITION = re.compile(rb'(?<=,)"(__)?pos":\d+,|;pos:\d+(?=",)|"iodebeziumpos":"\d+",')
_WRITER = re.compile(rb'version":"[^"]*"')

# For cells of the log: what Debezium writes, and what we write instead.
_KNOWN: dict[tuple[str, str], dict[str | None, str | None]] = {
    ("floats", "c0"): {"1.17549435E-38": "1.1754944E-38"},
    ("floats", "c1"): {
        "1234.5670166015625": "1234.567", "-0.0010000000474974513": "-0.001",
    },
    # The second is the first digit of its hash.
    ("texts", "c12"): {"b\\,c": "b,c", "4": "b"},
    ("documents", "c0"): {
        "1" + f"{1e300:.0f}"[1:]: "1e300",
        '"13:0-35:0-56"': '"-12:34:56.000000"',
        '"AP8="': '"base64:type15:AP8="',
        "10000000": "10000000.0",
        "123456789.12345679104328155517578125": "123456789.12345679",
        "123456789.1234568059444427490234375": "123456789.1234568",
        "0.0000000999999999999999954748111825886258685613938723690807819366455078125": "0.0000001",
        "0.000100000000000000004792173602385929598312941379845142364501953125": "0.0001",
    },
    ("defaults", "a"): {"5": None},
    ("defaults", "d"): {"18262": "0", "2020-01-01Z": "1970-01-01Z"},
    ("decimals", "c5"): {"9.2233720368547763E17": "9.223372036854776E17"},
}  # fmt: skip
# The same for Debezium 3.5 on MariaDB: zero timestamps, and nanoseconds beyond 64 bits.
_WRAPPED: dict[str | None, str | None] = dict.fromkeys(
    (
        "-4852116232933722624", "3620028873709551616", "6283264147419103232",
        "-3671226978871345152", "6283264147419104232", "-4852116231933723624",
    )
)  # fmt: skip
_KNOWN_MARIADB: dict[tuple[str, str], dict[str | None, str | None]] = {
    **_KNOWN,
    ("times", "c1"): _WRAPPED,
    ("times", "c7"): _WRAPPED,
    ("times", "c8"): {"1970-01-01T00:00:00Z": None},
    ("times", "c10"): {"1970-01-01T00:00:00.000Z": None},
    ("required", "c5"): {"1970-01-01T00:00:00.000000Z": "1970-01-01T00:00:00Z"},
}
# Cells of copied rows whose form is not that of Debezium.
_COPIED_OTHERWISE = {
    "integers": {"c13"},
    "required": {"c5", "c7"},
    "floats": {"c0", "c1", "c2", "c5"},
    "times": {"c0", "c1", "c8", "c9", "c10", "c11"},
    "defaults": {"a", "d"},
}
# What the log does not tell of columns: the digits of a FLOAT.
_KNOWN_SCHEMAS = {("floats", name): {"type": "float"} for name in ("c1", "c2")}
_TYPE = "__debezium.source.column.type"
_NUMBER = re.compile(r"(\w*INT|FLOAT|DOUBLE|YEAR)( UNSIGNED)?")
# Fields of a flat record that are those of a chunk.
_OF_COPIES = {"__pos", "__source_ts_ms", "__source_ts_us", "__source_ts_ns", "__snapshot", "__file"}
# The same of a CloudEvent.
_OF_COPIED_EVENTS = {
    *("id", "time", "iodebeziumpos", "iodebeziumfile", "iodebeziumsnapshot"),
    *("iodebeziumtsms", "iodebeziumtsus", "iodebeziumtsns"),
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
        return self.value is not None and bool(_COPIED.search(self.value))


def seen(
    topic: str, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes]]
) -> Seen:
    """Return the parts of a record that two programs can have alike."""
    prefix, _, rest = topic.partition(".")
    if value is not None:
        value = _WRITER.sub(b'version":""', _TIMES.sub(b"", value))
        if b'connector":"mariadb"' in value:
            value = _POSITION.sub(b"", value)
        for name in (
            b'name":"%b"',
            b'"name:%b;',
            b'"/debezium/mysql/%b"',
            b'"/debezium/mariadb/%b"',
        ):
            value = value.replace(name % prefix.encode(), name % b"", 1)
    key, value = (None if each is None else _without_prefix(each, prefix) for each in (key, value))
    known = [(name, text.decode()) for name, text in headers if _is_common(name)]
    return Seen(rest.partition(".")[2], key, value, known)


def _without_prefix(text: bytes, prefix: str) -> bytes:
    """Return a key or value without the prefix in the names of schemas, in all its forms."""
    if text.startswith(_WITH_SCHEMA):
        for each in (prefix, prefix.replace("-", "_"), _unicode(prefix)):
            for member in (b'name":"', b'"namespace":"'):
                text = text.replace(member + each.encode() + b".", member + b".")
    return text


def _unicode(prefix: str) -> str:
    return prefix.replace("_", "_u005f").replace("-", "_u002d")


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
        if own.headers != other.headers and not _is_known_header(other):
            yield f"{own.table}: headers {own.headers}, Debezium {other.headers}"


def _is_known_header(other: Seen) -> bool:
    """Return whether a header has a decimal as a number, or a time as Java prints it."""
    if other.table in ("exact_key", WITHOUT_THEIR_KEY):
        return True
    try:
        return not [json.loads(text) for _, text in other.headers]
    except ValueError:
        return True


def _same_value(own: Seen, other: Seen) -> bool:
    if own.value == other.value:
        return True
    if own.value is None or other.value is None:
        return False
    mine, their = _parsed(own.value), _parsed(other.value)
    if own.value.startswith(_WITH_SCHEMA):
        if not _same_schema(own, mine.pop("schema"), their.pop("schema")):
            return False
        mine, their = mine["payload"], their["payload"]
    all_known = _KNOWN_MARIADB if b'connector":"mariadb"' in other.value else _KNOWN
    rows, of_copies = [(mine, their)], _OF_COPIES
    if their and "specversion" in their:
        # On MariaDB, the data is the whole envelope.
        their["data"] = {image: their["data"][image] for image in ("before", "after")}
        rows, of_copies = _images(mine["data"], their["data"]), _OF_COPIED_EVENTS
    elif their and "source" in their:
        rows, of_copies = _images(mine, their), set()
        if own.copied or mine["op"] == "t":
            mine["source"] = their["source"] = None
    if own.copied:
        mine.update({name: their[name] for name in of_copies if name in their})
    for row, wanted in rows:
        _expect_known(own, all_known, row or {}, wanted or {})
    # As text, because the order counts.
    return json.dumps(mine) == json.dumps(their)


def _images(mine: Any, their: Any) -> list[tuple[Any, Any]]:
    """Return the rows of both, side by side."""
    return [(mine[image], their[image]) for image in ("before", "after")]


def _expect_known(own: Seen, all_known: Any, row: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Change what Debezium wrote of a row where our form is known to be another one."""
    if own.table == "floats" and not own.copied and _is_avro(own):
        # Numbers in Avro have no digits.
        return
    for name, value in wanted.items():
        if own.copied and name in _COPIED_OTHERWISE.get(own.table, ()):
            wanted[name] = row[name]
        elif isinstance(value, str):
            wanted[name] = all_known.get((own.table, name), {}).get(value, value)


def _same_schema(record: Seen, own: Any, other: Any) -> bool:
    """Return whether two schemas are equal but for what the log does not tell."""
    if _is_avro(record):
        own, other = (_avro_as_logged(record.table, each) for each in (own, other))
    else:
        other = _as_logged(record.table, other)
    return json.dumps(own) == json.dumps(other)


def _is_avro(record: Seen) -> bool:
    return record.value is not None and record.value.startswith(_IN_AVRO)


def _avro_as_logged(table: str, schema: Any) -> Any:
    """Return a schema in Avro as the log tells it: without the defaults of columns."""
    if isinstance(schema, list):
        # NULL is the second branch if there is a default.
        null_first = sorted(schema, key=lambda each: each != "null")
        return [_avro_as_logged(table, each) for each in null_first]
    if not isinstance(schema, dict) or schema.get("name") == "snapshot":
        return schema
    found = {key: each for key, each in schema.items() if key not in _AVRO_DEFAULTS}
    if "fields" in found:
        found["fields"] = [_avro_as_logged(table, each) for each in found["fields"]]
    elif "name" in found:
        found["type"] = _avro_as_logged(table, found["type"])
        if (table, found["name"]) in _KNOWN_SCHEMAS:
            found["type"] = json.loads(json.dumps(found["type"]).replace('"double"', '"float"'))
    return found["type"] if list(found) == ["type"] else found


def _as_logged(table: str, schema: Any) -> Any:
    """Return a schema of Debezium as the log tells it."""
    if schema.get("name") == "io.debezium.data.Enum" and "snapshot" in schema.get("field", ""):
        return schema
    name = (table, schema.get("field", ""))
    fields = [_as_logged(table, each) for each in schema.get("fields", ())]
    found = {key: value for key, value in schema.items() if key != "default"}
    if _TYPE in found.get("parameters", {}):
        found["parameters"] = _logged_type(found["parameters"])
    if fields:
        found["fields"] = fields
    return {**found, **_KNOWN_SCHEMAS.get(name, {})}


def _logged_type(parameters: dict[str, str]) -> dict[str, str]:
    """Return the parameters of a column without what the log does not tell of numbers."""
    kind = parameters[_TYPE].removesuffix(" ZEROFILL")
    found = {**parameters, _TYPE: kind}
    if _NUMBER.fullmatch(kind):
        for name in ("length", "scale"):
            found.pop(_TYPE.replace("type", name), None)
    return found


def _parsed(value: bytes) -> Any:
    """Return the value with its numbers as they are written."""
    return json.loads(value, parse_float=str, parse_int=str)


def keep(path: Path, records: Mapping[str, Iterable[Any]]) -> None:
    """Store the records of Debezium by the names of option sets, one JSON array a line."""
    lines = (
        json.dumps(
            [
                name,
                topic,
                None if key is None else key.decode(),
                None if value is None else value.decode(),
                [(header, text.decode()) for header, text in headers if _is_common(header)],
            ],
            ensure_ascii=False,
        )
        for name, each in records.items()
        for topic, key, value, headers in each
    )
    path.write_bytes(lzma.compress("\n".join(lines).encode()))


def kept(path: Path, name: str) -> list[Seen]:
    """Read the records of one set of options from what `keep` has stored."""
    found: list[Seen] = []
    # The lines of other sets are not parsed: there are many.
    own = f"[{json.dumps(name)}, "
    for line in lzma.decompress(path.read_bytes()).decode().split("\n"):
        if not line.startswith(own):
            continue
        _, topic, key, value, headers = json.loads(line)
        found.append(
            seen(
                topic,
                None if key is None else key.encode(),
                None if value is None else value.encode(),
                [(header, text.encode()) for header, text in headers],
            )
        )
    assert found, f"{path} has no records of {name}"
    return found


def by_table(records: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Return the records of each table, in order."""
    found: dict[str, list[Seen]] = {}
    for record in records:
        if record.table:
            found.setdefault(record.table, []).append(record)
    return found
