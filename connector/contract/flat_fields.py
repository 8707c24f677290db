"""The fields that rows without an envelope can have, in the words of Debezium's `add.fields`."""

# Those of the envelope.
OF_ENVELOPE = ("op", "ts_ms", "ts_us", "ts_ns")
_OF_SOURCE = (
    "version", "connector", "name", "ts_ms", "snapshot", "db", "sequence", "ts_us", "ts_ns",
    "table", "server_id", "gtid", "file", "pos", "row", "thread", "query",
)  # fmt: skip
# A field of the source can be named without it, unless the envelope has one of this name.
FLAT_FIELDS = frozenset({*OF_ENVELOPE, *_OF_SOURCE, *(f"source.{name}" for name in _OF_SOURCE)})
