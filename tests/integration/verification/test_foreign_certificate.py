"""Certificates of tables that other programs have made, at a moment that the log tells."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.schema import assign_fresh_schema_ids

from connector.binlog.gtid import GtidSet
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.server.addresses import source_settings
from connector.stream.snapshot.watermark import DeliveredPosition, LogPosition, log_end
from connector.stream.source.select_session import SelectSession
from local_stack import connect
from stream_jobs.errors import MirrorError
from tests import forked_command
from tests.foundation.errors.texts import shown
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable
from tests.integration.verification.test_certificate import by_duckdb, certified, keys
from tests.length import full_only
from tests.verification.foreign import iceberg_tables
from verification.certificate import certificate_errors, document, foreign_proof
from verification.certificate.check import check_source
from verification.certificate.foreign_proof import ForeignProof
from verification.certificate.foreign_run import ForeignCertification
from verification.foreign import foreign_errors
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.guess import MappingGuess
from verification.foreign.source_server import SourceServer
from verification.foreign.table_choice import ColumnChoice, read_choice
from verification.keyless_check import SnapshotPosition, take_snapshot
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from local_stack import MariadbServer, MysqlServer
    from tests.integration.verification.foreign_tables import Row

pytestmark = pytest.mark.server

# Of some ranges.
ROWS = 6000
DEFINITION = """
    CREATE TABLE orders (
        id INT UNSIGNED PRIMARY KEY, price DECIMAL(10,2), note VARCHAR(40), picture VARBINARY(20),
        paid BIT(1), born DATE, made DATETIME(3), seen TIMESTAMP(6) NULL, made_in YEAR,
        big BIGINT UNSIGNED, weight DOUBLE
    ) ENGINE = InnoDB
"""
FILL = f"""
    INSERT INTO orders SELECT i, i / 4, CONCAT('row é,', i), UNHEX(SHA1(i)), i % 2,
        DATE '2001-02-03' + INTERVAL i DAY, TIMESTAMP '2020-01-01 00:00:00.001' + INTERVAL i HOUR,
        TIMESTAMP '2021-06-01 10:00:00.000025' + INTERVAL i MINUTE, 1990 + i % 60,
        18446744073709551000 + i % 600, i / 7
    FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 1 AS i FROM n a, n b, n c, n d) numbers
    WHERE i <= {ROWS}
"""
KEY = pa.schema([("id", pa.int64())])
DIGITS = ", ".join(f"({digit})" for digit in range(10))


@dataclass
class CertifiedTable(ForeignTable):
    """A table of the source, its target, and the files of a certificate."""

    @property
    def file(self) -> Path:
        """The certificate."""
        return self.path.with_name("shop.json")

    def made(self) -> None:
        """Make the table at the source."""
        fill = ("CREATE TABLE n (n INT)", f"INSERT INTO n VALUES {DIGITS}", FILL)
        self.execute(DEFINITION, *fill)

    def made_small(self) -> None:
        """Make nine rows at both sides, without the column that has no exact text."""
        self.execute(
            DEFINITION.replace(", weight DOUBLE", ""),
            "INSERT INTO orders (id, note) VALUES "
            + ", ".join(f"({number}, 'row é,{number}')" for number in range(1, 10)),
        )
        foreign_tables.write(self.path, typed([{**r, "weight": 0} for r in self.rows()]))

    def certify(self, *arguments: str, targets: tuple[str, ...] = ()) -> CompletedProcess[str]:
        """Run the command with a file that leaves out the column without an exact text."""
        tables = self.path.with_name("audit.toml")
        tables.write_text(
            "".join(
                f'[[tables]]\ntable = "{self.database}.orders"\n'
                f'target = "{target}"\ncolumns.weight.skip = true\n'
                for target in targets or [f"delta:{self.path}"]
            )
        )
        options = ("--tables", str(tables), "--certificate", str(self.file), "--lag", "2")
        return forked_command.run("verify", self.url, *options, *arguments)

    def check(self, *arguments: str) -> CompletedProcess[str]:
        """Compute the certificate again."""
        return forked_command.run("verify", *arguments, "--check", str(self.file))

    def document(self) -> dict[str, Any]:
        """Return what is certified."""
        found: dict[str, Any] = json.loads(self.file.read_text())["certificate"]
        return found

    def gtid_set(self) -> str:
        """Return what the source has."""
        names = ("gtid_executed", "gtid_binlog_pos")
        with connect(self.endpoint) as connection, connection.cursor() as cursor:
            for name in names:
                cursor.execute(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
                if row := cursor.fetchone():
                    return str(row[1]).replace("\n", "")
        raise AssertionError


@pytest.fixture
def table(mysql_server: MysqlServer, database: str, tmp_path: Path) -> CertifiedTable:
    own = CertifiedTable(mysql_server.endpoint, database, tmp_path / "orders")
    own.made()
    return own


def typed(rows: list[Row]) -> pa.Table:
    """Rows as a program writes them that has a type for each value."""
    kinds: dict[str, pa.DataType] = {
        "id": pa.int64(), "price": pa.decimal128(10, 2), "note": pa.string(),
        "picture": pa.binary(), "paid": pa.bool_(), "born": pa.date32(),
        "made": pa.timestamp("us"), "seen": pa.timestamp("us", "UTC"), "made_in": pa.int16(),
        "big": pa.decimal128(20, 0), "weight": pa.float64(),
    }  # fmt: skip
    values = {name: [row[name] for row in rows] for name in kinds}
    values["paid"] = [value and value == b"\1" for value in values["paid"]]
    return pa.table(
        {
            name: pa.array(values[name], pa.timestamp("us") if name == "seen" else kind).cast(kind)
            for name, kind in kinds.items()
        }
    )


def recipe(rows: list[Row]) -> pa.Table:
    """Rows as recipes for Spark leave them, without types, and one that is deleted."""
    data = typed([*rows, {**rows[0], "id": 90_000}])
    changed = {
        "born": data["born"].cast(pa.int32()),
        "made": data["made"].cast(pa.int64()),
        "big": data["big"].cast(pa.string()),
        "picture": pa.array([foreign_tables._base64(v.as_py()) for v in data["picture"]]),
        "madeIn": data["made_in"].cast(pa.int64()),
        "__deleted": pa.array(["false"] * len(rows) + ["true"]),
    }
    # Milliseconds, as Debezium has a DATETIME(3).
    changed["made"] = pa.compute.divide(changed["made"], 1000)
    names = [name for name in data.column_names if name not in changed and name != "made_in"]
    return pa.table({**{name: data[name] for name in names}, **changed})


def lines(done: CompletedProcess[str], code: int) -> list[str]:
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.splitlines()


def holds_and_is_computed_again(table: CertifiedTable, public: Path) -> None:
    """Clients that know nothing else compute the checksums, and so do both checks."""
    document = table.document()
    (own,) = document["tables"]
    assert (own["rows"], len(own["ranges"]) > 2) == (ROWS, True)
    with connect(table.endpoint) as connection, connection.cursor() as cursor:
        for statement in document["setup"]["source"]:
            cursor.execute(statement)
        cursor.execute(own["source_sql"])
        printed = [[str(value) for value in row] for row in cursor.fetchall()]
    assert printed == certified(own)
    assert by_duckdb(own, own["target"]["view"], document["setup"]["table"]) == certified(own)
    for source in ((), (table.url,)):
        done = table.check(*source, "--public-key", str(public))
        first, last = lines(done, 0)
        name = f"{own['table']} = {own['target']['kind']}:{own['target']['place']}"
        assert first == f"{name}: equal: {ROWS} rows in {len(own['ranges'])} ranges"
        assert f"at {own['moment']['gtid_set']}; signed by SHA256:" in last


@pytest.mark.parametrize("maker", [typed, recipe])
def test_a_certificate_of_a_delta_table_is_computed_again_by_anybody(
    table: CertifiedTable, maker: Any
) -> None:
    private, public = keys(table.path.parent)
    foreign_tables.write(table.path, maker(table.rows()))
    done = table.certify("--sign-key", str(private))
    first, *_, proof, last = lines(done, 0)
    name, moment = f"{table.database}.orders", table.gtid_set()
    assert first == f"{name} = delta:{table.path}: equal: {ROWS} rows, version 0"
    assert proof.startswith(f"  certified at {moment}")
    assert last == f"{table.file}: 1 of 1 tables are certified"
    (own,) = table.document()["tables"]
    assert own["target"]["version"] == "0"
    assert own["target"]["table_id"] == str(DeltaTable(table.path).metadata().id)
    assert (own["changes_taken_back"], own["moment"]["gtid_set"]) == (0, moment)
    assert own["not_compared"]["source"] == ["weight"]
    holds_and_is_computed_again(table, public)


def test_a_target_that_lags_is_certified_at_an_earlier_moment(table: CertifiedTable) -> None:
    foreign_tables.write(table.path, typed(table.rows()))
    moment = table.gtid_set()
    table.execute(
        "UPDATE orders SET note = 'newer' WHERE id BETWEEN 10 AND 12",
        "UPDATE orders SET id = 70000 WHERE id = 13",
        "DELETE FROM orders WHERE id = 14",
        "INSERT INTO orders (id, note) VALUES (70001, 'ü'), (70002, NULL)",
        "CREATE TABLE other (id INT)",
        "REPLACE INTO orders (id) VALUES (15)",
    )
    done = table.certify("--lag", "60", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = json.loads(done.stdout)["tables"]
    (own,) = table.document()["tables"]
    assert (report["verdict"], report["certified"]) == ("equal", own["moment"])
    assert (own["changes_taken_back"], own["moment"]["gtid_set"]) == (8, moment)
    assert lines(table.check(), 0)
    since = "ranges of keys differ, perhaps by transactions since the certificate"
    assert since in lines(table.check(table.url), 1)[0]
    # The last of them, and not the first, is the one that the target has.
    foreign_tables.write(table.path, typed(table.rows()))
    assert lines(table.certify(), 0)
    (own,) = table.document()["tables"]
    assert (own["changes_taken_back"], own["target"]["version"]) == (0, "1")
    assert own["moment"]["gtid_set"] == table.gtid_set()
    assert lines(table.check(table.url), 0)


def test_a_row_that_is_damaged_is_not_certified_and_a_damaged_file_is_found(
    table: CertifiedTable,
) -> None:
    foreign_tables.write(table.path, typed(table.rows()))
    assert lines(table.certify(), 0)
    (uri,) = DeltaTable(table.path).file_uris()
    # Another version has nothing to do with it.
    damaged = [{**row, "note": "damaged"} if row["id"] == 4711 else row for row in table.rows()]
    foreign_tables.write(table.path, typed(damaged))
    assert lines(table.check(), 0)
    before = table.file.read_text()
    found = lines(table.certify(), 4)
    assert found[1] == '  different {"id": 4711}'
    assert found[-1] == f"{table.file}: not written, because no table is certified"
    assert found[-2] == "  not certified: its rows differ"
    assert table.file.read_text() == before
    pq.write_table(typed(damaged), uri.removeprefix("file://"))
    found = lines(table.check(), 4)
    assert found[0].endswith("1 of 3 ranges of keys differ"), found
    (table.path / uri.rpartition("/")[2]).unlink()
    assert f"[{certificate_errors.VERSION_GONE}]" in lines(table.check(), 1)[0]
    # A table at the same place with other values is another table.
    table.path.rename(table.path.with_name("before"))
    foreign_tables.write(table.path, typed(table.rows()))
    assert f"[{certificate_errors.NO_TABLE}]" in lines(table.check(), 1)[0]


def test_targets_of_one_table_are_certified_each_by_itself(table: CertifiedTable) -> None:
    places = [table.path.with_name(name) for name in ("lake", "damaged", "copy", "none")]
    targets = tuple(f"delta:{place}" for place in places)
    rows = table.rows()
    damaged = [{**row, "note": "damaged"} if row["id"] == 4711 else row for row in rows]
    for place, own in zip(places, (rows, damaged, rows), strict=False):
        foreign_tables.write(place, typed(own))
    done = table.certify("--json", targets=targets)
    assert done.returncode == 4, done.stdout + done.stderr
    report = json.loads(done.stdout)["tables"]
    found = {own["target"]: (own["certified"], own["not_certified"]) for own in report}
    document = table.document()
    certified = {f"delta:{own['target']['place']}": own["moment"] for own in document["tables"]}
    assert list(certified) == [targets[0], targets[2]]
    assert {target: moment for target, (moment, _) in found.items() if moment} == certified
    left_out = {own["target"]: own["reason"] for own in document["left_out"]}
    assert {target: reason for target, (_, reason) in found.items() if reason} == left_out
    assert left_out[targets[1]] == "its rows differ"
    assert str(places[3]) in left_out[targets[3]]
    told = lines(table.check(), 0)[:2]
    name = f"{table.database}.orders"
    assert [line.partition(": equal")[0] for line in told] == [
        f"{name} = {targets[0]}",
        f"{name} = {targets[2]}",
    ]


@full_only
def test_mariadb_is_certified(
    mariadb_server: MariadbServer, mariadb_database: str, tmp_path: Path
) -> None:
    table = CertifiedTable(mariadb_server.endpoint, mariadb_database, tmp_path / "orders")
    table.made()
    private, public = keys(tmp_path)
    foreign_tables.write(table.path, recipe(table.rows()))
    lines(table.certify("--sign-key", str(private)), 0)
    holds_and_is_computed_again(table, public)
    moment = table.gtid_set()
    table.execute("UPDATE orders SET price = 3 WHERE id = 5", "DELETE FROM orders WHERE id = 6")
    lines(table.certify("--lag", "60"), 0)
    (own,) = table.document()["tables"]
    assert (own["changes_taken_back"], own["moment"]["gtid_set"]) == (2, moment)


@full_only
def test_a_snapshot_of_iceberg_is_certified(table: CertifiedTable) -> None:
    private, public = keys(table.path.parent)
    data = typed(table.rows())
    schema = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(data.schema))
    orders = iceberg_tables.made(table.path, schema)
    orders.append(data)
    target = f"iceberg:{table.path}"
    lines(table.certify("--sign-key", str(private), targets=(target,)), 0)
    snapshot = orders.current_snapshot()
    (own,) = table.document()["tables"]
    assert snapshot is not None
    assert own["target"]["version"] == str(snapshot.snapshot_id)
    holds_and_is_computed_again(table, public)
    # No snapshot has the new name, so the certificate has the old one.
    with orders.update_schema() as update:
        update.rename_column("made_in", "MadeIn")
    lines(table.certify("--sign-key", str(private), targets=(target,)), 0)
    (own,) = table.document()["tables"]
    assert "made_in" in [form["name"] for form in own["forms"]]
    holds_and_is_computed_again(table, public)
    orders.append(data.slice(0, 5).rename_columns({"made_in": "MadeIn"}))
    assert lines(table.check(), 0)
    newest = max((table.path / "metadata").glob("*.metadata.json"))
    document = json.loads(newest.read_text())
    document["snapshots"] = document["snapshots"][1:]
    newest.write_text(json.dumps(document))
    assert f"[{certificate_errors.VERSION_GONE}]" in lines(table.check(), 1)[0]


def test_a_check_of_the_source_reads_at_its_pace_and_over_lost_connections(
    table: CertifiedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign_tables.write(table.path, typed(table.rows()))
    other = table.path.with_name("other")
    foreign_tables.write(other, typed(table.rows()))
    assert lines(table.certify(targets=(f"delta:{table.path}", f"delta:{other}")), 0)
    certificate = document.read_certificate(table.file).certificate
    losses: list[str] = []
    query = SelectSession.query

    def lost_once(session: SelectSession, sql: str) -> list[dict[str, str | None]]:
        if "AS found" in sql and "texts" in sql and not losses:
            losses.append(sql)
            session.close()
        return query(session, sql)

    monkeypatch.setattr(SelectSession, "query", lost_once)
    settings = source_settings(table.url)
    began = time.monotonic()
    with SourceServer(settings, SnapshotSettings(), 20.0, ROWS // 2) as server:
        found = list(check_source(certificate, server, RunProgress()))
    assert [(each.verdict, each.rows) for each in found] == [("equal", ROWS)] * 2
    assert len(losses) == 1
    # The second table waits until the rows of the first one are no longer too many.
    assert time.monotonic() - began > 1.5
    for options in (("--pace", "full"), ("--rows-per-second", "100000"), ("--patience", "5")):
        assert lines(table.check(table.url, *options), 0)


@contextmanager
def proof(table: CertifiedTable) -> Iterator[tuple[ForeignProof, int]]:
    """Yield a proof of the newest version, and the time since which moments are looked for."""
    choice = read_choice(f"{table.database}.orders=delta:{table.path}")
    with foreign_tables.source_rows(table.url, (table.database, "orders")) as source:
        target = DeltaTarget(choice.target, str(table.path))
        target.refresh()
        mapping = MappingGuess(source, target, choice).mapping()
        since = source.server_time_us() - 2 * 10**6
        yield ForeignProof(source, target, mapping, lambda *_: None), since


def test_no_moment_is_computed_that_the_log_does_not_tell(
    mysql_server: MysqlServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = CertifiedTable(mysql_server.endpoint, database, tmp_path / "orders")
    table.made_small()
    xid, change = f"'{table.database}'", "UPDATE orders SET note = 'new' WHERE id = {}"
    with proof(table) as (own, since):
        assert own.run(since) is not None
        # Two changes in another order are no state that the source had.
        table.execute(change.format(3), change.format(4))
        rows = table.rows()
        rows[2]["note"] = "row é,3"
        foreign_tables.write(table.path, typed([{**row, "weight": 0} for row in rows]))
    with proof(table) as (own, since):
        assert own.run(since) is None
    unknown = SnapshotPosition(GtidSet.parse(""), LogPosition(1 << 20, 0))
    table.execute("SET binlog_row_image = MINIMAL", change.format(7))
    with proof(table) as (own, since), monkeypatch.context() as patched:
        patched.setattr(foreign_proof, "take_snapshot", lambda *_: unknown)
        with pytest.raises(MirrorError) as caught:
            own.run(since)
        name = f"{table.database}.orders"
        assert str(caught.value) == shown(certificate_errors.BUSY, table=name, count=10)
    opaque = (
        (f"XA START {xid}", change.format(5), f"XA END {xid}", f"XA PREPARE {xid}",
         f"XA COMMIT {xid}"),
        ("SET binlog_row_image = MINIMAL", change.format(6)),
        ("CREATE TABLE kept AS SELECT * FROM orders", "TRUNCATE orders",
         "INSERT INTO orders SELECT * FROM kept WHERE id > 1"),
    )  # fmt: skip
    for statements in opaque:
        foreign_tables.write(table.path, typed([{**row, "weight": 0} for row in table.rows()]))
        table.execute(*statements)
        with proof(table) as (own, since):
            assert own.run(since) is None, statements
    table.execute("ALTER TABLE orders ADD other INT")
    with proof(table) as (own, since), pytest.raises(MirrorError) as caught:
        own.run(since)
    assert caught.value.code == foreign_errors.TABLE_CHANGED


CHANGES = (
    "UPDATE orders SET note = 'new' WHERE id = 3",
    "UPDATE orders SET note = 'newer' WHERE id IN (3, 4)",
    "DELETE FROM orders WHERE id = 5",
    "INSERT INTO orders (id, note) VALUES (5, 'again'), (90, 'more')",
    "UPDATE orders SET id = 91 WHERE id = 6",
)


@pytest.mark.parametrize("count", range(len(CHANGES) + 1))
def test_a_snapshot_tells_which_transactions_it_has_that_were_being_committed(
    mysql_server: MysqlServer,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    count: int,
) -> None:
    table = CertifiedTable(mysql_server.endpoint, database, tmp_path / "orders")
    table.made_small()
    before = table.gtid_set()

    def take_meanwhile(session: SelectSession, delivered: DeliveredPosition) -> SnapshotPosition:
        executed = GtidSet.parse(before)
        table.execute(*CHANGES[:count])
        take_snapshot(session, delivered)
        table.execute(*CHANGES[count:])
        return SnapshotPosition(executed, log_end(session))

    monkeypatch.setattr(foreign_proof, "take_snapshot", take_meanwhile)
    with proof(table) as (own, since):
        proven = own.run(since)
    assert proven is not None
    assert proven.moment.gtid_set == before
    assert proven.moment.changes == (0, 1, 3, 4, 6, 7)[count]


@full_only
def test_what_keeps_a_table_from_being_certified_is_told(
    table: CertifiedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign_tables.write(table.path, typed(table.rows()))
    name, target = f"{table.database}.orders", f"delta:{table.path}"
    options = ("--table", f"{name}={target}", "--lag", "2", "--certificate", str(table.file))
    done = forked_command.run("verify", table.url, *options)
    reason = shown(certificate_errors.FOREIGN_COLUMNS, table=name, columns=["weight (double)"])
    assert f"  not certified: {reason}" in lines(done, 3)
    nothing = shown(certificate_errors.NOTHING, path=table.file)
    assert done.stderr == f"error: {nothing}\n"
    table.execute("ALTER TABLE orders DROP weight", "DO SLEEP(4)")
    settings, limits = source_settings(table.url), ForeignLimits(1.0)
    rounded = replace(read_choice(f"{name}={target}"), columns={"price": ColumnChoice(digits=1)})
    empty = table.path.with_name("empty")
    iceberg_tables.made(empty, assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(KEY)))
    iceberg = read_choice(f"{name}=iceberg:{empty}")
    for choice, verdict, reason in (
        (rounded, "equal", shown(certificate_errors.ROUNDED, table=name, columns=["price"])),
        (
            iceberg,
            "different",
            shown(certificate_errors.NO_STATE, table=name, target=iceberg.target),
        ),
    ):
        run = ForeignCertification(settings, limits)
        (result,) = run.results([choice], RunProgress())
        assert (result.verdict, run.outcome(name, result.target)) == (verdict, reason)
    # As if a version were of no moment, while its rows lag.
    monkeypatch.setattr(ForeignProof, "run", lambda *_: None)
    run = ForeignCertification(settings, limits)
    (result,) = run.results([read_choice(f"{name}={target}")], RunProgress())
    facts = {"table": name, "target": target, "state": "version 0", "seconds": 1.0}
    assert str(result.error) == shown(certificate_errors.NO_COMMON_MOMENT, **facts)
    assert (result.rows, run.certificate()) == (ROWS, None)
    assert run.outcome(name, result.target) == str(result.error)
