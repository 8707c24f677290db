"""Values that a pipeline leaves out or masks: they are in no topic, and in no line of its log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.harness import read_committed, run_to_end

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka

SECRET = "Zaphod.Beeblebrox"


def test_a_masked_value_leaves_the_source_in_no_way(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, mail VARCHAR(80) CHARACTER SET utf8mb4, "
        "phone VARCHAR(40) CHARACTER SET latin1, secret TEXT, name VARCHAR(40))",
        f"INSERT INTO t VALUES (1, '{SECRET}', '{SECRET}', '{SECRET}', 'a')",
    )
    t = f"{stream.database}.t"
    chosen = {
        "source__start": "snapshot",
        "source__exclude_columns": [f"{t}.secret"],
        "source__masks": [
            {"columns": [f"{t}.mail"], "hash": "SHA-256", "salt": "CAFE"},
            {"columns": [f"{t}.phone"], "chars": 6},
            {"columns": [f"{t}.name"], "truncate": 3},
        ],
    }
    with stream.connector(**chosen) as connector:
        stream.wait_for_changes(1, connector)
        stream.execute(
            f"INSERT INTO t VALUES (2, '{SECRET}', NULL, '{SECRET}', 'abcdef')",
            f"UPDATE t SET name = 'b', secret = 'x{SECRET}' WHERE id = 1",
            "ALTER TABLE t ADD COLUMN n INT DEFAULT 5",
            "DELETE FROM t WHERE id = 2",
        )
        copied, inserted, updated, deleted = stream.wait_for_changes(4, connector)
        assert connector.process is not None
        limits = Path(f"/proc/{connector.process.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits)
        mail = copied.value["after"]["mail"]
        assert len(mail) == 64
        assert copied.value["after"] == {"id": 1, "mail": mail, "phone": "******", "name": "a"}
        assert inserted.value["after"] == {"id": 2, "mail": mail, "phone": "******", "name": "abc"}
        assert updated.value["before"] == copied.value["after"]
        assert deleted.value["before"] == {**inserted.value["after"], "n": 5}
        # The renamed column has the values, and no mask.
        stream.execute(
            "ALTER TABLE t RENAME COLUMN mail TO address",
            f"INSERT INTO t (id, address) VALUES (3, '{SECRET}')",
        )
        # Its table is set aside, and nothing of the row is kept.
        connector.wait_for(
            f"there is no column {t}.mail, which source.masks names; name the column"
        )
        assert connector.terminate() == 0
    assert SECRET not in connector.output()
    written = read_committed(stream.broker, stream.prefix, with_ddl=True)
    written += read_committed(stream.broker, stream.prefix, control=True)
    assert any(record.topic.endswith(".schema") for record in written)
    assert SECRET not in repr(written)


def test_a_column_that_does_not_exist_is_named(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, mail VARCHAR(80), age INT)")
    t = f"{stream.database}.t"
    code, output = run_to_end(
        stream.config(
            source__exclude_columns=[f"{t}.emial"],
            source__masks=[{"columns": [f"{t}.age"], "chars": 3}],
        )
    )
    assert code == 3
    assert f"{t}.emial names no column of a followed table" in output
    assert f"column {t}.age has type INT" in output
