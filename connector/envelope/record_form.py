"""What is written around the rows and keys of one column list.

With schemas, each key and each value is the `payload` of an object that begins with its schema::

    {"schema":{"type":"struct",…},"payload":   {"id":7}   }
    {"schema":{"type":"struct",…},"payload":   {"before":null,"after":{"id":7,…},…}   }
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.codec.json_strings import quoted
from connector.contract import row_topic
from connector.envelope.connect_schemas import (
    envelope_head,
    flat_head,
    key_head,
    row_head,
)

if TYPE_CHECKING:
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.schemas.table_schema import TableSchema


# The beginnings of an envelope.
BEFORE: Final = b'{"before":'
NO_BEFORE: Final = b'{"before":null,"after":'


@final
class RecordForm:
    """The constant parts of a column list's records."""

    __slots__ = (
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

        Raises UnsupportedChange for a column list whose records have no names of fields, or no key.
        """
        # The beginnings of envelopes, and what comes before a row without one.
        self.before = BEFORE
        self.no_before = NO_BEFORE
        self.flat_head = b""
        # The value of a deleted row without an envelope: a NULL with the schema of the row.
        self.gone = b"null"
        self._has_plain_keys = True
        self._key_head = b""
        self._key_tail = b""  # the last field of keys, which a route adds
        self._key_end = b""  # what closes the schema's object
        form = options.debezium
        if form is None or schema is None:
            return
        route = options.topics.route(schema.database, schema.table)
        if route is not None and route.key_field:
            topic = row_topic(options.prefix, schema.database, schema.table)
            self._key_tail = b"," + quoted(route.key_field) + b":" + quoted(topic) + b"}"
        if form.key_has_schema:
            self._key_head = key_head(schema, options, form)
            self._key_end = b"}"
        self._has_plain_keys = not self._key_tail and not self._key_head
        if form.value_has_schema and form.is_flat:
            self.flat_head = flat_head(schema, options, form)
            self.gone = row_head(schema, options, form) + b"null}"
        elif form.value_has_schema:
            head = envelope_head(schema, options, form)
            self.before = head + BEFORE
            self.no_before = head + NO_BEFORE

    def key(self, key: bytes | None) -> bytes | None:
        """Return the key of a record, of its text without a schema and the field of a route."""
        if key is None or self._has_plain_keys:
            return key
        if self._key_tail:
            key = key[:-1] + self._key_tail
        return self._key_head + key + self._key_end if self._key_head else key
