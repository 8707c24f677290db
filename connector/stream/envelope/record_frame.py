"""The bytes around the rows and keys of one column list.

With schemas, each key and each value is the `payload` of an object that begins with its schema::

    {"schema":{"type":"struct",…},"payload":   {"id":7}   }
    {"schema":{"type":"struct",…},"payload":   {"before":null,"after":{"id":7,…},…}   }

With a schema registry, it begins with the id of the schema. JSON Schema leaves the rest as it is,
and Avro makes bytes of it.
"""

from typing import Final, final

from connector.binlog.text_writer import quoted
from connector.foundation.contract import row_topic
from connector.stream.envelope import connect_schemas
from connector.stream.envelope.debezium import registry_schemas
from connector.stream.envelope.debezium.avro_values import AvroRecord
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.schemas.table_schema import TableSchema

# The beginnings of an envelope.
BEFORE: Final = b'{"before":'
NO_BEFORE: Final = b'{"before":null,"after":'


@final
class RecordFrame:
    """The constant parts of a column list's records."""

    __slots__ = (
        "_avro_key",
        "_avro_value",
        "_has_plain_keys",
        "_key_end",
        "_key_head",
        "_key_tail",
        "before",
        "flat_head",
        "gone",
        "no_before",
    )

    def __init__(self, options: EnvelopeOptions, schema: TableSchema | None) -> None:
        """Compose the parts for the records of `schema`; None stands for an unknown column list.

        Raises UnsupportedChange for a column list whose records have no names of fields, or no key,
        and as `SchemaIds.id_of` does.
        """
        # The beginnings of envelopes, and what comes before a row without one.
        self.before = BEFORE
        self.no_before = NO_BEFORE
        self.flat_head = b""
        # The value of a deleted row without an envelope: a NULL, with the schema of the row if
        # there is one; none with a registry.
        self.gone: bytes | None = b"null"
        self._has_plain_keys = True
        self._key_head = b""
        self._key_tail = b""  # the last field of keys, which a route adds
        self._key_end = b""  # what closes the schema's object
        self._avro_key: AvroRecord | None = None
        self._avro_value: AvroRecord | None = None
        form = options.debezium
        if form is None or schema is None:
            return
        route = options.topics.route(schema.database, schema.table)
        if route is not None and route.key_field:
            topic = row_topic(options.prefix, schema.database, schema.table)
            self._key_tail = b"," + quoted(route.key_field) + b":" + quoted(topic) + b"}"
        self._has_plain_keys = not self._key_tail and not form.key_has_schema
        if form.key_has_schema:
            described = connect_schemas.key_schema(schema, options, form)
            framed = _framed(options, schema, described, form.key_format, is_key=True)
            self._key_head, self._avro_key = framed
            self._key_end = b"}" if form.key_format == "json_with_schema" else b""
        if form.value_has_schema:
            make = connect_schemas.flat_schema if form.is_flat else connect_schemas.envelope_schema
            described = make(schema, options, form)
            framed = _framed(options, schema, described, form.value_format, is_key=False)
            head, self._avro_value = framed
            self.gone = None
            if form.value_format == "json_with_schema":
                self.gone = (
                    connect_schemas.payload_head(connect_schemas.row_schema(schema, options, form))
                    + b"null}"
                )
            if form.is_flat:
                self.flat_head = head
            else:
                self.before = head + BEFORE
                self.no_before = head + NO_BEFORE

    def key(self, key: bytes | None) -> bytes | None:
        """Return the key of a record, of its text without a schema and the field of a route.

        Raises UnsupportedChange as `AvroRecord.encoded` does.
        """
        if key is None or self._has_plain_keys:
            return key
        if self._key_tail:
            key = key[:-1] + self._key_tail
        avro = self._avro_key
        if avro is not None:
            return avro.encoded(key)
        return self._key_head + key + self._key_end if self._key_head else key

    def value(self, text: bytes) -> bytes:
        """Return the value of a record, of the text that begins and ends as this form says.

        Raises UnsupportedChange as `AvroRecord.encoded` does.
        """
        avro = self._avro_value
        return text if avro is None else avro.encoded(text)


def _framed(
    options: EnvelopeOptions,
    table: TableSchema,
    schema: registry_schemas.ConnectSchema,
    chosen: str,
    *,
    is_key: bool,
) -> tuple[bytes, AvroRecord | None]:
    """Return what comes before a key or value in a format with schemas, or makes Avro of it."""
    if chosen == "json_with_schema":
        return connect_schemas.payload_head(schema), None
    ids = options.schema_ids
    assert ids is not None, "formats of a registry come with one"
    topic = options.topics.of(table.database, table.table)
    subject = registry_schemas.subject_name(options.subjects, topic, schema["name"], is_key=is_key)
    if chosen == "avro":
        prefix = registry_schemas.id_prefix(
            ids.id_of(subject, "AVRO", registry_schemas.avro_schema(schema))
        )
        return b"", AvroRecord(schema, prefix)
    return registry_schemas.id_prefix(
        ids.id_of(subject, "JSON", registry_schemas.json_schema(schema))
    ), None
