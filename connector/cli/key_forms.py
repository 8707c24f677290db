"""Compares the keys of the newest records with the form that the settings choose for keys.

A run does not ask this: consumers may be ready for two forms. A topic may have keys of another form
if `envelope.key_format` was changed, or if another program wrote them, such as Debezium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.contract.key_forms import key_form
from connector.errors import kafka_records
from connector.errors.message import Message
from connector.sink.newest_keys import newest_keys
from connector.source.server.table_topics import table_topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.settings.sections import Settings
    from connector.sink.newest_keys import NewestKey
    from connector.source.tables.base_tables import BaseTable

# All topics of a pipeline mostly have one form, and each takes a few milliseconds.
_TOPICS_MAX: Final = 100


def other_key_forms(settings: Settings, tables: Sequence[BaseTable]) -> Iterator[Message]:
    """Yield what is to be said of each topic of `tables` with keys of another form.

    Raises SinkUnavailable or SinkRefused.
    """
    topics = table_topics(settings)
    followed: dict[str, str] = {}  # a table of each topic
    for table in tables:
        name = f"{table.database}.{table.name}"
        followed.setdefault(topics.of(table.database, table.name), name)
    wanted = "json" if settings.envelope.of_debezium is None else settings.envelope.key_format
    for newest in newest_keys(settings.kafka, followed, _TOPICS_MAX):
        found = key_form(newest.key)
        if found != wanted:
            yield _message(followed[newest.topic], newest, found, wanted)


def _message(table: str, newest: NewestKey, found: str | None, wanted: str) -> Message:
    facts = {
        "table": table,
        "topic": newest.topic,
        "record": newest.record,
        "wanted": wanted,
    }
    if found is None:
        return Message(kafka_records.OTHER_KEY, facts)
    return Message(kafka_records.KEY_FORM, facts | {"found": found})
