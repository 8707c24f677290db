"""The schema registry, as records need it: which id a schema has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.contract.record_formats import SubjectStrategy

SchemaType: TypeAlias = Literal["AVRO", "JSON"]

# A record begins with it, and with the id in four bytes.
_MAGIC: Final = b"\x00"
_ID_BYTES: Final = 4
PREFIX_BYTES: Final = 5


@mypyc_attr(allow_interpreted_subclasses=True)
class SchemaIds:
    """Gives the ids of schemas."""

    def id_of(self, subject: str, schema_type: SchemaType, schema: str) -> i64:
        """Return the id of `schema` under `subject`, registering it if it is new.

        Raises SinkUnavailable if the registry does not answer, SinkRefused if it refuses the
        login, and UnsupportedChange if it refuses the schema.
        """
        raise NotImplementedError


def subject_name(strategy: SubjectStrategy, topic: str, record_name: str, *, is_key: bool) -> str:
    """Return the subject of a schema, as Confluent's strategies of these names do."""
    if strategy == "record":
        return record_name
    if strategy == "topic_record":
        return f"{topic}-{record_name}"
    return f"{topic}-{'key' if is_key else 'value'}"


def id_prefix(schema_id: i64) -> bytes:
    """Return what each record with this schema begins with."""
    return _MAGIC + int(schema_id).to_bytes(_ID_BYTES, "big")


def prefix_id(record: bytes) -> int | None:
    """Return the id of the schema of a record; None if it does not begin with one."""
    if not record.startswith(_MAGIC):
        return None
    return int.from_bytes(record[len(_MAGIC) : PREFIX_BYTES], "big")
