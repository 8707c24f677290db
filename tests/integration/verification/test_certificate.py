"""Certificates of a running pipeline, which programs that did not make them compute again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from connector.binlog.gtid import GtidSet
from connector.cli.configuration import loaded
from connector.stream.snapshot.watermark import LogPosition
from local_stack import connect
from tests.foundation.errors.texts import shown
from tests.integration.verification.pair import pair_of
from tests.integration.verification.test_since import delete_records
from tests.stream_jobs.iceberg.readers import DuckDB
from verification import verify_errors
from verification.certificate import certificate_errors
from verification.certificate.document import canonical, digest
from verification.certificate.run import certify
from verification.keyless_check import SnapshotPosition, SourceSnapshot
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair

pytestmark = pytest.mark.kafka

# Of some ranges.
ROWS = 6000
TYPES = """
    id BIGINT UNSIGNED PRIMARY KEY, price DECIMAL(10,2), name VARCHAR(20) CHARACTER SET utf8mb4,
    picture VARBINARY(20), made DATETIME(3), seen TIMESTAMP(6) NULL, took TIME(2), paid BIT(1),
    `part` INT, kind ENUM('a', 'b'), old VARCHAR(9) CHARACTER SET latin1
"""


def keys(folder: Path) -> tuple[Path, Path]:
    """A private key and its public key."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / "key.pem", folder / "public.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def by_client(stream: Stream, own: dict[str, Any], setup: list[str]) -> list[list[str]]:
    """What the SQL of a table prints at the source, for a client that knows nothing else."""
    with connect(stream.source) as connection, connection.cursor() as cursor:
        for statement in setup:
            cursor.execute(statement)
        cursor.execute(own["source_sql"])
        return [[str(value) for value in row] for row in cursor.fetchall()]


def by_duckdb(own: dict[str, Any], view: str, setup: list[str]) -> list[list[str]]:
    """What the SQL of a table prints in DuckDB, over a view that the certificate names."""
    printed = DuckDB().query(*setup, view, own["table_sql"])
    return [[str(value) for value in row] for row in printed]


def certified(own: dict[str, Any]) -> list[list[str]]:
    """The same lines as the certificate has them; SQL shows no range without rows."""
    return [
        [str(each["part"]), str(each["rows"]), *each["sums"]]
        for each in own["ranges"]
        if each["rows"]
    ]


def require_no_certificate(pair: Pair, path: Path, table: str) -> None:
    """Of no table, there is none."""
    done = pair.verify("--certificate", str(path), table)
    assert f"[{certificate_errors.NOTHING}]" in done.stderr
    assert (done.returncode, path.exists()) == (3, False)


def require_no_certificate_without_records(pair: Pair, table: str, *arguments: str) -> None:
    """What Kafka has deleted since the cut cannot be taken back."""
    delete_records(pair.stream, table)
    done = pair.verify(*arguments)
    assert f"[{verify_errors.RECORDS_LOST}]" in done.stdout
    assert done.returncode == 1


def test_a_certificate_is_computed_again_by_a_client_and_by_duckdb(
    either_stream: Stream,
) -> None:
    stream = either_stream
    stream.execute(
        f"CREATE TABLE t ({TYPES})",
        "CREATE TABLE texts (id VARCHAR(20) PRIMARY KEY, n INT)",
        "CREATE TABLE inexact (id INT PRIMARY KEY, n DOUBLE)",
        "INSERT INTO t VALUES "
        + ", ".join(
            f"({n * 5}, {n}.05, 'é, {n}', X'00{n:04x}2C', '2026-01-31 08:15:00.{n % 1000:03}', "
            f"'2026-03-29 02:30:00.000001', '-10:00:0{n % 9}.5', {n % 2}, NULL, 'b', 'Grüße')"
            for n in range(ROWS)
        ),
        "INSERT INTO t (id) VALUES (18446744073709551615)",
        "INSERT INTO texts VALUES ('a', 1), ('b', NULL)",
        "INSERT INTO inexact VALUES (1, 0.5)",
        "CREATE TABLE zeros (id INT PRIMARY KEY, made DATE, seen DATETIME)",
        "INSERT INTO zeros VALUES (1, '2026-02-28', NULL)",
        # No day of February.
        "INSERT IGNORE INTO zeros VALUES (2, '2026-02-31', NULL)",
    )
    private, public = keys(stream.directory)
    path = stream.directory / "certificate.json"
    tables: list[dict[str, Any]] = [{"match": ["*.t"], "formats": ["delta", "iceberg"]}]
    with pair_of(stream, tables) as pair:
        pair.zero_dates = "null"
        pair.catch_up(ROWS + 6)
        made = pair.verify("--certificate", str(path), "--sign-key", str(private))
        assert made.returncode == 0, made.stdout + made.stderr
        document = json.loads(path.read_text())["certificate"]
        found = {own["table"].partition(".")[2]: own for own in document["tables"]}
        assert found.keys() == {"t", "texts"}
        left_out, zeros = document["left_out"]
        columns = ["n (double)"]
        name = f"{stream.database}.inexact"
        assert left_out["reason"] == shown(certificate_errors.COLUMNS, table=name, columns=columns)
        name = zeros["table"]
        why = shown(certificate_errors.ZERO_DATES, table=name, columns=["made"])
        assert (name, zeros["reason"]) == (f"{stream.database}.zeros", why)
        require_no_certificate(pair, path.with_name("nothing.json"), name)
        assert len(found["t"]["ranges"]) > 2
        for own in found.values():
            assert by_client(stream, own, document["setup"]["source"]) == certified(own)
            view = own["delta"]["view"]
            assert by_duckdb(own, view, document["setup"]["table"]) == certified(own)
        iceberg = found["t"]["iceberg"]
        assert iceberg["snapshot_id"] == found["t"]["delta"]["version"]
        view = iceberg["view"]
        assert by_duckdb(found["t"], view, document["setup"]["table"]) == certified(found["t"])
        check = ("--check", str(path), "--public-key", str(public))
        for arguments in (check, (*check, str(pair.connector.config))):
            done = pair.run("verify", *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
            assert done.stdout.splitlines()[0].startswith(
                f"{stream.database}.t: equal: {ROWS + 1} rows"
            )


def edited(path: Path, gtid_set: str) -> None:
    """Give a certificate another GTID set, and the SHA-256 that goes with it."""
    document = json.loads(path.read_text())
    document["certificate"]["source"]["gtid_set"] = gtid_set
    document["sha256"] = digest(canonical(document["certificate"]))
    path.write_text(json.dumps(document))


def lines(done: CompletedProcess[str], code: int) -> list[str]:
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_certificate_holds_at_its_cut_while_source_and_mirror_go_on(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE masked (id INT PRIMARY KEY, name VARCHAR(9))",
        "CREATE TABLE journal (id INT PRIMARY KEY)",
        "CREATE TABLE counted (n INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
        "INSERT INTO masked VALUES (1, 'name')",
        "INSERT INTO journal VALUES (1)",
        "INSERT INTO counted VALUES (1), (1), (NULL)",
    )
    t, path = f"{stream.database}.t", stream.directory / "certificate.json"
    tables: list[dict[str, Any]] = [
        {"match": ["*.journal"], "mode": "journal"},
        {"match": ["*.counted"], "mode": "rows"},
    ]
    masks = [{"columns": [f"{stream.database}.masked.name"], "chars": 3}]
    with pair_of(stream, tables, source__masks=masks) as pair:
        pair.catch_up(8)
        # The mirror gets these changes later.
        stream.execute(
            "INSERT INTO t VALUES (4, 4)", "DELETE FROM t WHERE id = 1", "UPDATE t SET id = 9 - id",
            "INSERT INTO counted VALUES (NULL)",
        )  # fmt: skip
        config = str(pair.connector.config)
        made = lines(pair.verify("--certificate", str(path)), 0)
        found = {own["table"]: own for own in json.loads(path.read_text())["certificate"]["tables"]}
        assert {name.partition(".")[2]: own["rows"] for name, own in found.items()} == {
            "t": 3, "counted": 3,
        }  # fmt: skip
        assert found[t]["changes_taken_back"] > 2
        masked = shown(certificate_errors.MASKED, table=f"{stream.database}.masked")
        journal = shown(certificate_errors.NO_ROWS, table=f"{stream.database}.journal")
        assert made[1] == f"{stream.database}.journal: not certified: {journal}"
        assert made[2] == f"{stream.database}.masked: not certified: {masked}"
        assert made[3] == f"{t}: certified: 3 rows in 1 ranges"
        check = ("verify", "--check", str(path))
        assert lines(pair.run(*check), 0)[1] == f"{t}: equal: 3 rows in 1 ranges"
        since = "1 of 1 ranges of keys differ, perhaps by transactions since the certificate"
        assert f"{t}: not finished: {since}" in lines(pair.run(*check, config), 1)
        # As if all transactions were being committed.
        unknown = SnapshotPosition(GtidSet.parse(""), LogPosition(1 << 20, 0))
        with monkeypatch.context() as patched:
            patched.setattr(SourceSnapshot, "take", lambda *_: unknown)
            settings = loaded(pair.connector.config)
            (busy,) = certify(settings, pair.job_config, [t], 60, 0, RunProgress()).results
        assert str(busy.error) == shown(certificate_errors.BUSY, table=t, count=10)
        # A damage that is in the next cut.
        pair.apply()
        pair.damage("t", lambda rows: rows[1:])
        stream.execute("UPDATE t SET n = 7 WHERE id = 6")
        stream.wait_for_changes(18, pair.connector)
        pair.apply()
        other = ("--certificate", str(path.with_name("other.json")), t)
        assert lines(pair.verify(*other), 4) == [
            f"{t}: different: 1 of 1 ranges of keys", "  all keys",
            f"{other[1]}: not written, because no table is certified",
        ]  # fmt: skip
        assert lines(pair.run(*check), 0)[1] == f"{t}: equal: 3 rows in 1 ranges"
        text = path.read_text()
        edited(path, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7")
        done = pair.run(*check, config)
        assert (done.returncode, f"[{certificate_errors.OTHER_SOURCE}]" in done.stderr) == (1, True)
        path.write_text(text)
        stream.execute("ALTER TABLE t MODIFY n BIGINT", "DROP TABLE counted")
        done = pair.run(*check, config, "--json")
        # SQL that prints the same is the same; a table that is gone is none.
        gone, same = json.loads(done.stdout)["tables"]
        assert "[V171]" in gone["error"]
        assert same["error"] is None
        # What a TRUNCATE removes is in no record.
        stream.execute("ALTER TABLE t DROP n", "TRUNCATE t")
        assert "[V173]" in pair.run(*check, config, "--json").stdout
        moving = pair.verify(*other)
        require_no_certificate_without_records(pair, "t", *other)
    assert (moving.returncode, f"[{certificate_errors.MOVING}]" in moving.stdout) == (1, True)


def test_a_row_that_is_too_long_for_a_text_is_no_difference(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a MEDIUMTEXT, b MEDIUMTEXT)",
        "CREATE TABLE latin (id INT PRIMARY KEY, a MEDIUMTEXT CHARACTER SET latin1)",
        "CREATE TABLE short (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 'a', 'b'), (2, REPEAT('a', 700000), NULL)",
        "UPDATE t SET b = a WHERE id = 2",
        # Too long as UTF-8 alone.
        "INSERT INTO latin VALUES (1, REPEAT(_utf8mb4 X'C3A9', 700000))",
        "INSERT INTO short VALUES (1)",
    )
    path, other = (stream.directory / f"{name}.json" for name in ("certificate", "other"))
    with pair_of(stream) as pair, connect(stream.source) as connection:
        pair.catch_up(5)
        made = pair.verify("--certificate", str(path))
        assert made.returncode == 0, made.stdout + made.stderr
        cursor = connection.cursor()
        cursor.execute("SELECT @@GLOBAL.max_allowed_packet")
        ((before,),) = cursor.fetchall()
        cursor.execute("SET GLOBAL max_allowed_packet = 1048576")
        try:
            again = pair.verify("--certificate", str(other))
            check = ("verify", str(pair.connector.config), "--check", str(path))
            checked = pair.run(*check)
        finally:
            cursor.execute(f"SET GLOBAL max_allowed_packet = {before}")
        later = pair.run(*check)
    said, lines = again.stdout.splitlines(), checked.stdout.splitlines()
    for table in (f"{stream.database}.t", f"{stream.database}.latin"):
        error = shown(certificate_errors.TOO_LONG, table=table)
        assert f"{table}: not certified: {error}" in said
        assert f"{table}: not finished: {error}" in lines
    assert f"{stream.database}.short: certified: 1 rows in 1 ranges" in said
    assert again.returncode == 1, again.stderr
    assert (checked.returncode, later.returncode) == (1, 0), checked.stdout + later.stdout
