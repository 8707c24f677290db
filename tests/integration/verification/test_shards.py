"""Shards of a server in one mirror: an ALTER rolls over them, and `verify` compares each one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until_settled
from tests.integration.verification.pair import pair_of
from tests.integration.verification.shards import create, mirror_of, roll
from verification.certificate import certificate_errors

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka

SHARDS = 2


def test_each_shard_is_compared_and_the_whole(stream: Stream) -> None:
    names = create(stream, SHARDS, tables=1)
    followed = [f"{stream.database}_*.*"]
    with pair_of(stream, [mirror_of(stream)], source__tables=followed) as pair:
        for name in names:
            stream.execute(f"INSERT INTO {name} (id, amount) VALUES (1, 1), (2, 2)")
        pair.catch_up(4)
        roll(stream, SHARDS, tables=1, pause_seconds=0)
        for name in names:
            stream.execute(f"INSERT INTO {name} (id, amount) VALUES (7, 1099511627776)")
        # Of both shards: two rows, two that an UPDATE has changed, a truncate, and one row.
        stream.wait_for_changes(12, pair.connector)
        wait_until_settled(stream.broker, stream.prefix)
        pair.apply()
        code, report = pair.report()
        equal = {table["table"]: (table["verdict"], table["rows"]) for table in report["tables"]}
        assert (code, equal) == (0, dict.fromkeys(names, ("equal", 1)))
        path = stream.directory / "certificate.json"
        done = pair.verify("--certificate", str(path))
        whys = [shown(certificate_errors.SHARD, table=name) for name in names]
        assert [why in done.stdout for why in whys] == [True] * SHARDS
        assert (done.returncode, path.exists()) == (3, False)
        # Rows that belong to no shard: those of the shards are gone.
        pair.damage("t0", list)
        code, report = pair.report()
        found = {
            table["table"]: [(each["kind"], each["key"]) for each in table["differences"]]
            for table in report["tables"]
        }
        assert code == 4
        surplus = {f"{stream.database}.t0": [("surplus", {"shard": "", "rows": SHARDS})]}
        assert found == {name: [("missing", {"id": 7})] for name in names} | surplus
        columns = list(pair.kinds("t0"))
        assert columns == ["shard", "id", "amount", "note", "_cdc_hi", "_cdc_lo"]
