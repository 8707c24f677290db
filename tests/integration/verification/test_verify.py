"""The command `verify`: what it finds, what it leaves out, and what it says."""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.contract import Sequence
from connector.foundation.errors.message import Message
from connector.stream.snapshot import copy_errors
from local_stack import connect
from stream_jobs.errors import record_errors
from tests.foundation.errors.texts import shown
from tests.integration.verification.load import PAUSE_SECONDS
from tests.integration.verification.pair import pair_of
from tests.length import FULL
from verification import verify_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Server
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row

pytestmark = pytest.mark.kafka

SALT = "a salt of sixteen"


def damage(rows: list[Row]) -> list[Row]:
    """Break rows 1 to 5, each in its own way."""
    by_id = {row["id"]: row for row in rows}
    del by_id[1]
    by_id[2]["name"] = None
    by_id[3]["price"] += 1
    resurrected = by_id[4] | {"id": 99}
    return [*by_id.values(), resurrected, dict(by_id[5])]


def test_rows_that_are_missing_surplus_or_different_are_named(stream: Stream) -> None:
    modes = ("current", "soft_delete", "history")
    choices: list[dict[str, Any]] = [
        {"match": [f"*.{mode}"], "mode": mode, "hash_columns": ["mail"], "mask_columns": ["note"],
         "exclude_columns": ["secret"], "name": f"renamed.{mode}"}
        for mode in modes
    ]  # fmt: skip
    for mode in modes:
        stream.execute(
            f"CREATE TABLE {mode} (id INT PRIMARY KEY, name VARCHAR(9), price DECIMAL(6,2), "
            "mail VARCHAR(20), note VARCHAR(20), secret INT)",
            f"INSERT INTO {mode} VALUES (0,'z',0,NULL,NULL,1),(1,'a',1,'m','n',1),"
            "(2,'',2,'m','n',1),(3,'c',3.10,'m','n',1),(4,'d',4,'m','n',1),(5,'e',5,'m','n',1)",
            f"DELETE FROM {mode} WHERE id = 0",
            f"UPDATE {mode} SET price = 50 WHERE id = 5",
        )
    with pair_of(stream, choices) as pair:
        pair.catch_up(24)
        code, report = pair.report()
        found = [(table["verdict"], table["rows"]) for table in report["tables"]]
        assert (code, report["verdict"], found) == (0, "equal", [("equal", 5)] * 3)
        for mode in modes:
            pair.damage(mode, damage, "renamed")
        for mode in modes:
            found_here = pair.differences(f"{stream.database}.{mode}")
            since = [each.pop("since") for each in found_here]
            assert found_here == differences(), mode
            # The damage is a version that no cut has.
            newest = pair.version(mode, "renamed")
            assert {(each["version"], each["cut"]) for each in since} == {(newest, None)}, mode
        hidden = pair.verify("--no-values", "*.current")
        fewer = pair.verify("--max-differences", "1", "--rows-per-second", "100000", "*.current")
    assert hidden.returncode == 4
    lines = hidden.stdout.splitlines()
    place = lines.index('  different {"id": 2}')
    assert re.fullmatch(r'    source: \{"name": "[0-9a-f]{16}"\}', lines[place + 1])
    assert lines[place + 2] == '    mirror: {"name": null}'
    assert "different: 1 or more of 5 rows" in fewer.stdout.splitlines()[0]


def differences() -> list[dict[str, Any]]:
    hidden = {"mail": of_mail(), "note": "***"}
    return [
        {
            "kind": "missing",
            "key": {"id": 1},
            "source": {"id": 1, "name": "a", "price": "1.00", **hidden},
            "mirror": None,
        },
        {"kind": "different", "key": {"id": 2}, "source": {"name": ""}, "mirror": {"name": None}},
        {
            "kind": "different",
            "key": {"id": 3},
            "source": {"price": "3.10"},
            "mirror": {"price": "4.10"},
        },
        {"kind": "surplus", "key": {"id": 5}, "source": {}, "mirror": {}},
        {
            "kind": "surplus",
            "key": {"id": 99},
            "source": None,
            "mirror": {"id": 99, "name": "d", "price": "4.00", **hidden},
        },
    ]


def of_mail() -> str:
    return hashlib.sha256(f"{SALT}m".encode()).hexdigest()


def test_a_mirror_without_a_column_that_its_rows_came_with_is_different(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD COLUMN v INT",
        "INSERT INTO t VALUES (2, 2)",
    )
    with pair_of(stream) as pair:
        pair.catch_up(2)
        stream.execute("ALTER TABLE t ADD COLUMN later INT")
        late = pair.verify()
        pair.drop_column("t", "v")
        code, report = pair.report()
        lines = pair.verify().stdout.splitlines()
    assert late.returncode == 0, late.stdout
    assert "  columns that the mirror gets with the next row: later" in late.stdout.splitlines()
    (table,) = report["tables"]
    assert (code, table["verdict"], table["differences"]) == (4, "different", [])
    assert table["columns_not_in_mirror"] == ["v", "later"]
    assert table["columns_lost_in_mirror"] == ["v"]
    assert "  columns that the mirror lacks, although it has rows with them: v" in lines
    assert "  columns that the mirror gets with the next row: later" in lines


def test_what_cannot_be_compared_is_named_with_the_reason(stream: Stream) -> None:
    database = stream.database
    tables = ("skipped", "log", "part", "dated", "plain", "rekeyed")
    keyed = "(id INT PRIMARY KEY, at DATE)"
    stream.execute(
        *(f"CREATE TABLE {name} {keyed}" for name in tables if name not in ("log", "part")),
        "CREATE TABLE log (id INT)",
        "CREATE TABLE part (id VARCHAR(9), PRIMARY KEY (id(3)))",
        f"CREATE TABLE nothing {keyed}",
        "CREATE TABLE keyless (id INT)",
        "CREATE TABLE retyped (id INT PRIMARY KEY, v TIME)",
        "INSERT INTO retyped VALUES (1, '23:59:59')",
        *(f"INSERT INTO {name} (id) VALUES (1)" for name in tables),
    )
    choices: list[dict[str, Any]] = [
        {"match": ["*.skipped"], "skip": True},
        {"match": ["*.log"], "mode": "journal"},
    ]
    with pair_of(stream, choices) as pair:
        pair.catch_up(7)
        stream.execute(
            "SET sql_mode = ''",
            "ALTER TABLE plain ADD COLUMN later INT",
            "ALTER TABLE rekeyed DROP PRIMARY KEY, ADD c INT NOT NULL, ADD PRIMARY KEY (id, c)",
            "INSERT INTO dated VALUES (2, '0000-00-00')",
            "ALTER TABLE retyped MODIFY v BIGINT",
        )
        code, report = pair.report("--patience", "0.5")
        plain = pair.verify(f"{database}.plain")
        stream.execute("INSERT INTO nothing (id) VALUES (1)")
        unseen = pair.verify(f"{database}.nothing")
    found = {
        table["table"].removeprefix(f"{database}."): (table["verdict"], table["error"])
        for table in report["tables"]
    }
    table = f"{database}."
    path = str(stream.directory / "mirror")
    assert code == 1
    assert found["skipped"] == (
        "not compared",
        shown(verify_errors.SKIPPED, table=f"{table}skipped"),
    )
    assert found["log"] == (
        "not compared",
        shown(verify_errors.MODE, table=f"{table}log", mode="journal"),
    )
    assert found["nothing"] == ("equal", None)
    no_mirror = shown(verify_errors.NO_MIRROR, table=f"{table}nothing", path=path)
    assert unseen.stdout == f"{table}nothing: not finished: {no_mirror}\n"
    assert found["keyless"] == (
        "not compared",
        shown(verify_errors.NO_KEY, table=f"{table}keyless"),
    )
    assert found["part"] == ("not finished", shown(verify_errors.NO_ORDER, table=f"{table}part"))
    other_key = shown(verify_errors.OTHER_KEY, table=f"{table}rekeyed", columns=["id", "c"])
    assert found["rekeyed"] == ("not finished", other_key)
    other_type = shown(verify_errors.OTHER_TYPE, table=f"{table}retyped", column="v")
    assert found["retyped"] == ("not finished", other_type)
    zero = Message(record_errors.ZERO_DATE, {"column": "at"})
    unfit = shown(verify_errors.UNFIT_ROW, table=f"{table}dated", why=zero)
    assert found["dated"] == ("not finished", unfit)
    assert plain.stdout.splitlines()[1:] == [
        "  columns that the mirror gets with the next row: later"
    ]


def test_a_table_that_is_set_aside_for_a_forged_record_is_named_and_then_equal(
    stream: Stream,
) -> None:
    table = f"{stream.database}.t"
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    with pair_of(stream) as pair:
        pair.catch_up(1)
        (seen,) = stream.changes()
        forged = {**seen.headers, "cdc.seq": str(Sequence(6, 0, 0, 0, 0))}
        key, value = (json.dumps(part).encode() for part in (seen.key, seen.value))
        kafka = pair.job.kafka
        with kafka.transaction():
            kafka.send(seen.topic, key, value, forged, seen.partition)
        stream.execute("UPDATE t SET v = 2")
        stream.wait_for_changes(3, pair.connector)
        lines = pair.job.run()
        set_aside = next(line for line in lines if line["event"] == "table_quarantined")
        named = pair.verify("--patience", "1")
        pair.job.resume(table, skipped=[(seen.partition, set_aside["offset"])])
        pair.job.run()
        equal = pair.verify()
    why = f"[{set_aside['code']}] {set_aside['error']}"
    aside = shown(verify_errors.SET_ASIDE, table=table, why=why)
    assert (named.returncode, named.stdout) == (1, f"{table}: not finished: {aside}\n")
    assert (equal.returncode, equal.stderr) == (0, ""), equal.stdout


def test_a_mirror_or_a_pipeline_that_does_not_go_on_is_waited_for(
    stream: Stream, mariadb_server: Server
) -> None:
    table = f"{stream.database}.t"
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with pair_of(stream) as pair:
        pair.catch_up(1)
        stream.execute("INSERT INTO t VALUES (2)")
        stream.wait_for_changes(2, pair.connector)
        lagging = pair.verify("--patience", "1")
        assert pair.connector.terminate() == 0
        stream.execute("INSERT INTO t VALUES (3)")
        ended = pair.verify("--patience", "1")
        pair.job.kafka.prefix = "other"
        wrong = pair.job_config.read_text().replace(stream.prefix, "other", 1)
        other = stream.directory / "other.toml"
        other.write_text(wrong)
        config = pair.connector.config
        refused = pair.run("verify", str(config), "--mirror", str(other))
        unknown = stream.directory / "unknown.toml"
        unknown.touch(mode=0o600)
        unknown.write_text(config.read_text().replace(f'name = "{stream.prefix}"', 'name = "new"'))
        elsewhere = stream.directory / "elsewhere.toml"
        elsewhere.touch(mode=0o600)
        ports = (f"port = {stream.source.port}", f"port = {mariadb_server.endpoint.port}")
        elsewhere.write_text(config.read_text().replace(*ports))
        moved = pair.run("verify", str(elsewhere), "--mirror", str(pair.job_config))
        never = pair.run("verify", str(unknown), "--mirror", str(pair.job_config))
    mirror_lags = shown(verify_errors.MIRROR_LAGS, table=table, seconds=1.0)
    assert lagging.stdout == f"{table}: not finished: {mirror_lags}\n", lagging.stderr
    assert lagging.returncode == 1
    connector_lags = shown(
        verify_errors.CONNECTOR_LAGS, table=table, pipeline=stream.prefix, seconds=1.0
    )
    assert (ended.returncode, ended.stdout) == (1, f"{table}: not finished: {connector_lags}\n")
    topics = shown(verify_errors.OTHER_TOPICS, path=other, mirror="other", connector=stream.prefix)
    assert (refused.returncode, refused.stderr) == (2, f"error: {topics}\n")
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@server_uuid")
        (uuid,) = cursor.fetchone() or ("",)
    server = shown(verify_errors.OTHER_SERVER, pipeline=stream.prefix, uuid=uuid)
    assert (moved.returncode, moved.stderr) == (1, f"error: {server}\n")
    progress = shown(verify_errors.NO_PROGRESS, pipeline="new")
    assert (never.returncode, never.stderr) == (3, f"error: {progress}\n")


def write(stream: Stream, ended: threading.Event) -> Iterator[None]:
    """Change rows all the time; some of them are deleted and inserted again."""
    random_ = random.Random(7)
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        while not ended.is_set():
            place = random_.choice([random_.randrange(2000), random_.randrange(5)])
            cursor.execute(f"DELETE FROM t WHERE id = {place}")
            if random_.random() < 0.9:
                cursor.execute(f"INSERT INTO t VALUES ({place}, {random_.randrange(100)}, '')")
            cursor.execute(f"UPDATE t SET v = v + 1 WHERE id = {random_.randrange(2000)}")
            ended.wait(PAUSE_SECONDS)
            yield


@pytest.mark.parametrize("rounds", [10 if FULL else 1])
def test_under_load_no_difference_is_invented_and_none_is_overlooked(
    either_stream: Stream, rounds: int
) -> None:
    stream = either_stream
    values = ",".join(f"({n}, 0, 'x')" for n in range(3000))
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(9))", f"INSERT INTO t VALUES {values}"
    )
    ended = threading.Event()
    thread = threading.Thread(target=lambda: [None for _ in write(stream, ended)])
    with pair_of(stream) as pair:
        pair.catch_up(3000)
        thread.start()
        try:
            with pair.applying():
                for _ in range(rounds):
                    equal = pair.verify("--patience", "120")
                    assert equal.returncode == 0, equal.stdout + equal.stderr
        finally:
            ended.set()
            thread.join()
        broken = random.Random(3).sample(range(2000, 3000), 3)
        settle(pair)
        pair.damage("t", lambda rows: broken_rows(rows, broken))
        ended.clear()
        thread = threading.Thread(target=lambda: [None for _ in write(stream, ended)])
        thread.start()
        try:
            with pair.applying():
                found = pair.differences("--patience", "120")
        finally:
            ended.set()
            thread.join()
    kinds = {each["key"]["id"]: each["kind"] for each in found}
    assert kinds == {broken[0]: "missing", broken[1]: "different", 9999: "surplus"}


def settle(pair: Pair) -> None:
    """Bring all changes of the ended load into the mirror."""
    done = pair.verify("--patience", "0")
    while done.returncode:
        pair.apply()
        done = pair.verify("--patience", "0")


def broken_rows(rows: list[Row], places: list[int]) -> list[Row]:
    """Break one row in each way."""
    by_id = {row["id"]: row for row in rows}
    del by_id[places[0]]
    by_id[places[1]]["w"] = "y"
    return [*by_id.values(), by_id[places[2]] | {"id": 9999}]


def test_what_differs_is_copied_again_through_the_stream(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT, part VARCHAR(9), v INT, PRIMARY KEY (id, part))",
        "INSERT INTO t VALUES (1,'it''s',1),(2,'b',2),(3,'c\\\\d',3),(4,'d',4),(5,'e',5)",
    )
    with pair_of(stream) as pair:
        pair.catch_up(5)

        def lose(rows: list[Row]) -> list[Row]:
            left = [row for row in rows if row["id"] != 1]
            return [row | {"v": 7} if row["id"] == 2 else row for row in left]

        pair.damage("t", lose)
        with pair.applying():
            repaired = pair.verify("--repair")
        copied = [each.value["after"]["id"] for each in stream.changes()[5:]]
        pair.damage("t", lambda rows: [*rows, rows[0] | {"id": 77, "part": "s"}])
        with pair.applying():
            emptied = pair.verify("--repair")
        pair.damage("t", lose)
        assert pair.connector.terminate() == 0
        waited = pair.verify("--repair", "--patience", "1")
        old = stream.directory / "old.toml"
        old.touch(mode=0o600)
        old.write_text(pair.connector.config.read_text())
        with stream.connector(source__exclude_tables=[f"{stream.database}.t"]) as other:
            other.wait_for("streaming")
            failed = pair.run("verify", str(old), "--mirror", str(pair.job_config), "--repair")
    table = f"{stream.database}.t"
    lines = repaired.stdout.splitlines()
    assert lines[0].startswith(f"{table}: equal: 5 rows at "), repaired.stdout + repaired.stderr
    since = [line for line in lines if line.startswith("    in the mirror since version ")]
    assert len(since) == 2
    assert sorted(set(lines[1:]) - set(since)) == [
        '    mirror: {"v": 7}',
        '    source: {"id": 1, "part": "it\'s", "v": 1}',
        '    source: {"v": 2}',
        '  different {"id": 2, "part": "b"}, copied again and equal now',
        '  missing {"id": 1, "part": "it\'s"}, copied again and equal now',
    ]
    assert (repaired.returncode, sorted(copied)) == (0, [1, 2])
    assert emptied.stdout.splitlines()[1] == (
        '  surplus {"id": 77, "part": "s"}, copied again and equal now'
    )
    assert emptied.returncode == 0
    lags = shown(verify_errors.COPY_LAGS, table=table, pipeline=stream.prefix, seconds=1.0)
    assert waited.stdout.splitlines()[0] == f"{table}: different: {lags}"
    assert waited.returncode == 4
    why = shown(copy_errors.COPY_NOT_FOLLOWED, table=table)
    copy_failed = shown(verify_errors.COPY_FAILED, table=table, said=why)
    assert failed.stdout.splitlines()[0] == f"{table}: different: {copy_failed}"
