"""The borders of histories and the times of journals are proven, by themselves and by the log."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect
from tests.integration.verification.pair import pair_of
from verification import intervals

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Row

pytestmark = pytest.mark.kafka

CHOICES: list[dict[str, Any]] = [
    {"match": ["*.t"], "mode": "history"},
    {"match": ["*.j"], "mode": "journal"},
]
HOUR = timedelta(hours=1)


def versions(rows: list[Row], number: int) -> list[Row]:
    """The versions of a key."""
    own = [row for row in rows if row["id"] == number]
    return sorted(own, key=lambda row: (row["_cdc_hi"], row["_cdc_lo"]))


def damage_history(rows: list[Row]) -> list[Row]:
    """Break the keys 1 to 7, each in its own way."""
    versions(rows, 1)[0]["_cdc_valid_to"] += HOUR
    lost = versions(rows, 2)[1]
    # Both sides of a border agree, and the log has another time.
    older, newer = versions(rows, 3)[:2]
    older["_cdc_valid_to"] = newer["_cdc_valid_from"] = older["_cdc_valid_to"] - 2 * HOUR
    older["_cdc_valid_from"] -= 3 * HOUR
    last = versions(rows, 4)[-1]
    last |= {"_cdc_valid_to": last["_cdc_valid_from"] + HOUR}
    versions(rows, 5)[-1]["_cdc_hi"] += 7
    versions(rows, 6)[0]["_cdc_valid_to"] -= 5 * HOUR
    return [row for row in rows if row is not lost]


def damage_journal(rows: list[Row]) -> list[Row]:
    """Move the time of a change, write one twice, and lose an insert."""
    versions(rows, 1)[0]["_cdc_ts"] += HOUR
    twice = dict(versions(rows, 2)[1])
    lost = next(row for row in versions(rows, 3) if row["_cdc_op"] == "c" and row["a"] == 8)
    return [row for row in rows if row is not lost] + [twice]


def is_mysql(stream: Stream) -> bool:
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        (version,) = cursor.fetchone() or ("",)
        return "MariaDB" not in version


def test_wrong_intervals_are_named_with_key_and_reason(either_stream: Stream) -> None:
    stream = either_stream
    for name in "tj":
        stream.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT)")
    with pair_of(stream, CHOICES) as pair:
        stream.execute("INSERT INTO t VALUES (0, 0)", "INSERT INTO j VALUES (0, 0)")
        # The borders from the first cut on are in the log that is read.
        pair.catch_up(2)
        # A compressed transaction is one event of the log, or its events are compressed.
        compressed = ["SET binlog_transaction_compression = ON"] if is_mysql(stream) else []
        for name in "tj":
            stream.execute(
                *compressed,
                f"INSERT INTO {name} VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)",
                f"UPDATE {name} SET a = 2",
                f"UPDATE {name} SET a = 3",
                f"DELETE FROM {name} WHERE id = 3",
                f"INSERT INTO {name} VALUES (3, 8)",
                f"UPDATE {name} SET a = 4",
            )
        pair.catch_up(2 + 2 * (6 + 7 + 7 + 1 + 1 + 7))
        # A copy in between, of which the log knows nothing.
        asked = pair.run("snapshot", str(pair.connector.config), f"{stream.database}.t")
        pair.catch_up(0)
        code, whole = pair.report()
        assert asked.returncode == 0, asked.stderr
        assert code == 0, whole
        assert [table["borders_not_compared_with_the_log"] for table in whole["tables"]] == ["", ""]
        pair.damage("t", damage_history)
        pair.damage("j", damage_journal)
        code, report = pair.report()
        shown = pair.verify(f"{stream.database}.t").stdout
    journal, history = sorted(report["tables"], key=lambda table: str(table["table"]))
    assert (code, history["verdict"], journal["verdict"]) == (4, "different", "different")
    assert history["differences"] == []
    found = Counter((each["key"]["id"], each["why"]) for each in history["wrong_intervals"])
    assert found[1, intervals.TWO_AT_ONE_MOMENT] == 1
    assert found[1, intervals.OTHER_TIME] == 1
    assert found[2, intervals.GAP] == 1
    assert found[3, intervals.OTHER_TIME] == 2
    assert found[4, intervals.STATE] == 1
    assert found[5, intervals.NO_PLACE] == 1
    assert found[6, intervals.BACKWARDS] == 1
    assert found[6, intervals.GAP] == 1
    assert {key for key, _ in found} == {1, 2, 3, 4, 5, 6}
    named = next(each for each in history["wrong_intervals"] if "time_in_log" in each)
    assert named["time_in_log"] > "2020"
    assert 'interval {"id": 2} from ' in shown
    assert intervals.GAP in shown
    found = Counter((each["key"]["id"], each["why"]) for each in journal["wrong_intervals"])
    assert found == {
        (1, intervals.OTHER_TIME): 1,
        (2, intervals.TWICE): 1,
        (3, intervals.UPDATE_AFTER_DELETE): 1,
    }
