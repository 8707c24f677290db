"""Lines of the log about the limits of Kafka."""

from __future__ import annotations

from connector.errors import kafka_limits, line


def test_who_may_not_create_topics_of_tables_is_told_what_to_do() -> None:
    assert line(kafka_limits.NO_RIGHT_TO_CREATE) == {
        "event": "the user may not create topics of tables; create those of followed tables "
        "beforehand, or allow CREATE on topics that start with kafka.topic_prefix",
        "code": "K322",
    }
