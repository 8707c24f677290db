"""The profile `debezium` in a running pipeline, and what it does not go together with."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from tests.integration.harness import failure_of, read_committed, run_to_end

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka


def test_a_pipeline_copies_and_streams_in_the_form_of_debezium(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (d DATE, id INT PRIMARY KEY, n DECIMAL(5,2))",
        "INSERT INTO t VALUES ('1970-01-03', 1, 1.28)",
    )
    with stream.connector(source__start="snapshot", envelope__profile="debezium") as connector:
        stream.wait_for_changes(1, connector)
        stream.execute(
            "UPDATE t SET id = 2, n = -1.28",
            "TRUNCATE TABLE t",
            "INSERT INTO t VALUES (NULL, 3, 0)",
        )
        copied, deleted, created, inserted = stream.wait_for_changes(4, connector)
    n = [base64.b64encode(each).decode() for each in (b"\x00\x80", b"\x80", b"\x00")]
    assert (copied.value["op"], copied.value["source"]["snapshot"]) == ("r", "true")
    assert copied.value["after"] == {"d": 2, "id": 1, "n": n[0]}
    assert (deleted.value["op"], deleted.headers["__debezium.newkey"]) == ("d", '{"id":2}')
    assert (created.value["op"], created.headers["__debezium.oldkey"]) == ("c", '{"id":1}')
    assert created.value["after"] == {"d": 2, "id": 2, "n": n[1]}
    # Nothing tells of the TRUNCATE.
    assert (inserted.value["op"], inserted.value["after"]) == ("c", {"d": None, "id": 3, "n": n[2]})
    tombstones = [
        each.key for each in read_committed(stream.broker, stream.prefix) if each.value is None
    ]
    assert tombstones == [{"id": 1}]

    code, output = run_to_end(stream.config(source__start="snapshot"))
    assert code == 2
    assert failure_of(output) == (
        'envelope.profile is "exact", but the topics of the prefix '
        f'{stream.prefix} hold records of the profile "debezium"; choose another '
        "kafka.topic_prefix, or the profile of the topics"
    )
