"""Records whose keys are not those of their rows, in a running pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka


def test_rows_are_copied_and_streamed_with_the_chosen_key(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, customer INT, n INT)",
        "INSERT INTO t VALUES (1, 7, 0), (2, 7, 0), (3, NULL, 0)",
    )
    with stream.connector(
        source__start="snapshot",
        envelope__profile="debezium",
        envelope__message_keys=[f"{stream.database}.t:customer"],
    ) as connector:
        copied = stream.wait_for_changes(3, connector)
        assert sorted(str(each.key) for each in copied) == [
            "{'customer': 7}",
            "{'customer': 7}",
            "{'customer': None}",
        ]
        stream.execute(
            "UPDATE t SET n = 1 WHERE id = 2",
            "UPDATE t SET id = 4 WHERE id = 1",
            "UPDATE t SET customer = 8 WHERE id = 3",
        )
        streamed = stream.wait_for_changes(7, connector)
    found = [
        (each.value["op"], each.key["customer"], (each.value["after"] or {}).get("id"))
        for each in streamed
        if each.value["op"] != "r"
    ]
    # By topic and partition: a row changes its key if the customer changes, and not with its id.
    assert sorted(found, key=str) == sorted(
        [("u", 7, 2), ("u", 7, 4), ("d", None, None), ("c", 8, 3)], key=str
    )
