"""Certificates: their form, their signatures, and what the versions of a table say of them."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from stream_jobs.apply.modes import MODES
from stream_jobs.delta.table import TableCommit
from stream_jobs.errors import MirrorError
from stream_jobs.tables.mirror_metadata import DOMAIN, MODE_PROPERTY
from tests.foundation.errors.texts import shown
from tests.stream_jobs.topics import column
from tests.verification.past import NAME, Past
from verification import verify_errors
from verification.certificate import certificate_errors, range_sums
from verification.certificate.check import CheckedTable, check_source, check_tables, is_later
from verification.certificate.document import (
    Certificate,
    SignedCertificate,
    digest,
    read_certificate,
    write_certificate,
)
from verification.certificate.signature import (
    check_signature,
    fingerprint,
    read_public_key,
    read_sign_key,
    sign,
)
from verification.certificate.table_proof import version_at, where_clause
from verification.key_ranges import KeyNumber, numbers_of
from verification.row_text import MirrorText
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

COLUMNS = (column("id", "int", key=1), column("v", "int"))
BOUNDS = [(None, "3"), ("4", None)]
EMPTY: dict[str, Any] = {
    "form": "binlog-connector certificate",
    "version": 1,
    "made_at": "2026-11-28T10:00:00+00:00",
    "made_by": "a test",
    "checksum": range_sums.IN_WORDS,
    "source": {
        "server_uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "flavour": "mysql",
        "gtid_set": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7",
        "position": "binlog.000007:400",
        "committed_at": None,
    },
    "mirror": {"path": "/data/mirror", "cut": 1, "seq": "0" * 38},
    "setup": {"source": [], "table": []},
    "tables": [],
    "left_out": [{"table": "shop.größe", "reason": "it has no mirror"}],
}


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """Version 1 has five rows, and is in a cut."""
    past = Past(tmp_path / "mirror")
    past.write({1: 10, 2: 20, 4: 40, 5: 50, 6: 60})
    return past


def certificate_of(past: Past) -> Certificate:
    """The certificate of the newest version, in two ranges."""
    side, text = past.side, MirrorText.of_mirror(COLUMNS)
    assert text is not None
    number = KeyNumber("", is_unsigned=False)
    ranges = range_sums.ranges_of(BOUNDS, number)
    sums = range_sums.Sums(2)
    for rows in side.batches(side.snapshot):
        sums.add(ranges.places(numbers_of(rows["id"])), text.of_rows(rows))
    parts = [
        {"part": place, "low": low, "high": high, "rows": int(sums.rows[place])}
        | {"sums": sums.totals(place)}
        for place, (low, high) in enumerate(BOUNDS)
    ]
    delta = {
        "path": f"{past.storage.root}/shop/t",
        "version": side.snapshot.version,
        "table_id": side.snapshot.metadata.table_id,
        "view": "",
    }
    table = {
        "table": NAME,
        "columns": [dict(each) for each in COLUMNS],
        "mode": "current",
        "delta": delta,
        "iceberg": None,
        "changes_taken_back": 0,
        "rows": 5,
        "source_sql": "",
        "table_sql": range_sums.duckdb_sql(text, ("id", number), ranges, ""),
        "ranges": parts,
    }
    mirror = EMPTY["mirror"] | {"path": past.storage.root}
    return Certificate.model_validate(EMPTY | {"mirror": mirror, "tables": [table]})


def checked(certificate: Certificate) -> CheckedTable:
    (found,) = check_tables(certificate, RunProgress())
    return found


def code_of(certificate: Certificate) -> object:
    error = checked(certificate).error
    assert error is not None
    return error.code


def test_a_version_stays_what_its_certificate_says_whatever_follows(past: Past) -> None:
    own = certificate_of(past)
    assert (checked(own).verdict, checked(own).rows) == ("equal", 5)
    past.write({1: 11, 6: None})
    assert checked(own).verdict == "equal"
    later = own.tables[0].model_copy(
        update={"delta": own.tables[0].delta.model_copy(update={"version": 2})}
    )
    found = checked(own.model_copy(update={"tables": [later]}))
    assert (found.verdict, found.rows) == ("different", 4)
    assert [(each.certified.part, each.rows) for each in found.different] == [(0, 2), (1, 2)]
    # Only one sum differs where a row has another value.
    first = found.to_json()["different_ranges"][0]
    assert (first["rows"], first["certified_rows"], first["high"]) == (2, 2, "3")
    assert first["sums"] != first["certified_sums"]


def test_a_table_that_is_gone_or_another_is_told_from_a_version_that_is_gone(past: Past) -> None:
    own = certificate_of(past)
    name = next(iter(past.delta.snapshot.files))
    other = own.tables[0].model_copy(update={"table_sql": "SELECT 1"})
    assert code_of(own.model_copy(update={"tables": [other]})) == certificate_errors.OTHER_COLUMNS
    past.storage.delete(f"shop/t/{name}")
    assert code_of(own) == certificate_errors.VERSION_GONE
    delta = own.tables[0].delta.model_copy(update={"table_id": "another"})
    made_again = own.tables[0].model_copy(update={"delta": delta})
    assert code_of(own.model_copy(update={"tables": [made_again]})) == certificate_errors.NO_TABLE
    shutil.rmtree(f"{past.storage.root}/shop")
    found = checked(own)
    place = f"{past.storage.root}/shop/t"
    assert str(found.error) == shown(certificate_errors.NO_TABLE, table=NAME, place=place)
    assert found.verdict == "not finished"


def test_a_mirror_that_shards_share_is_not_that_of_one_table(tmp_path: Path) -> None:
    past = Past(tmp_path)
    past.write({1: 10})
    own = certificate_of(past)
    # Shards have their progress in domains of their own.
    folder = tmp_path / "shop/t/_delta_log"
    for path in folder.glob("*.json"):
        path.write_text(path.read_text().replace(f'"{DOMAIN}"', f'"{DOMAIN}/progress/1"'))
    found = checked(own)
    facts = {"table": NAME, "version": 1, "place": f"{past.storage.root}/shop/t"}
    assert str(found.error) == shown(certificate_errors.NOT_ONE_TABLE, **facts)
    assert found.verdict == "not finished"


def test_a_journal_is_not_checked_by_a_certificate(past: Past) -> None:
    metadata = replace(past.delta.snapshot.metadata, configuration={MODE_PROPERTY: "journal"})
    own = certificate_of(past)
    past.delta.commit(TableCommit(metadata=metadata), "CHANGE COLUMNS")
    delta = own.tables[0].delta.model_copy(update={"version": past.delta.snapshot.version})
    later = own.tables[0].model_copy(update={"delta": delta})
    assert code_of(own.model_copy(update={"tables": [later]})) == verify_errors.MODE


class CatchingUp:
    """A session on a replica that has the transactions of a certificate after its first look."""

    name = "source db2:3306"

    def __init__(self) -> None:
        self._looks = 0

    def query(self, sql: str) -> list[dict[str, str | None]]:
        if "gtid_executed" not in sql:
            return []
        self._looks += 1
        return [{"found": f"{EMPTY['source']['server_uuid']}:1-{5 + self._looks}"}]


def test_a_replica_that_catches_up_meanwhile_is_not_different(past: Past) -> None:
    pace = SimpleNamespace(settings=SnapshotSettings())
    server: Any = SimpleNamespace(session=CatchingUp(), pace=pace)
    with pytest.raises(SourceUnavailable) as caught:
        list(check_source(certificate_of(past), server, RunProgress()))
    facts = {"server": CatchingUp.name, "gtids": EMPTY["source"]["gtid_set"]}
    assert str(caught.value) == shown(certificate_errors.OTHER_SOURCE, **facts)


def test_a_table_is_certified_at_the_version_of_the_cut(past: Past) -> None:
    past.write({7: 70}, cut=False)
    (cut,) = past.store.read_all()
    assert version_at(past.side, NAME, cut).snapshot.version == 1
    with pytest.raises(MirrorError) as caught:
        version_at(past.side, NAME, replace(cut, tables={}))
    assert caught.value.code == certificate_errors.LEFT_OUT
    past.add_cut(has_table=False)
    *_, cut = past.store.read_all()
    with pytest.raises(MirrorError) as caught:
        version_at(past.side, NAME, cut)
    assert "the cut 2 does not have it: the connector is copying it" in str(caught.value)


def signed(key: Ed25519PrivateKey | None = None) -> SignedCertificate:
    own = Certificate.model_validate(EMPTY)
    signature = None if key is None else sign(own.canonical, key)
    return SignedCertificate(certificate=own, sha256=digest(own.canonical), signature=signature)


def key_file(path: Path, key: PrivateKeyTypes, password: bytes | None = None) -> Path:
    hidden = NoEncryption() if password is None else BestAvailableEncryption(password)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden))
    return path


def public_file(path: Path, key: PrivateKeyTypes) -> Path:
    public = key.public_key()
    path.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return path


@pytest.mark.parametrize(
    ("mode", "clause"),
    [
        ("current", ""),
        ("soft_delete", ' WHERE NOT "_cdc_deleted"'),
        ("history", ' WHERE "_cdc_is_current"'),
        ("rows", ""),
    ],
)
def test_the_statement_of_a_certificate_names_the_current_rows_as_ever(
    mode: str, clause: str
) -> None:
    current = MODES[mode].current_rows
    assert current is not None
    assert where_clause(current) == clause


def test_no_statement_of_a_certificate_names_the_last_changes_of_a_journal() -> None:
    current = MODES["journal"].current_rows
    assert current is not None
    with pytest.raises(AssertionError, match="no certificate has the last changes of keys"):
        where_clause(current)


def test_a_signature_is_of_the_canonical_text_and_of_one_key(tmp_path: Path) -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    private = read_sign_key(key_file(tmp_path / "key.pem", key))
    public = public_file(tmp_path / "public.pem", key)
    path = tmp_path / "shop.json"
    write_certificate(path, signed(private))
    own = read_certificate(path)
    found = fingerprint(key.public_key())
    assert check_signature(path, own, read_public_key(public)) == found
    assert check_signature(path, own, None) == found
    with pytest.raises(SourceRefused) as caught:
        check_signature(path, own, other.public_key())
    assert str(caught.value) == shown(certificate_errors.OTHER_KEY, path=path, found=found)
    forged = own.signature and own.signature.model_copy(
        update={"value": base64.b64encode(bytes(64)).decode()}
    )
    with pytest.raises(SourceRefused) as caught:
        check_signature(path, own.model_copy(update={"signature": forged}), None)
    why = "its signature does not hold"
    assert str(caught.value) == shown(certificate_errors.CHANGED, path=path, why=why)
    assert check_signature(path, signed(), None) is None
    with pytest.raises(SourceRefused) as caught:
        check_signature(path, signed(), key.public_key())
    assert caught.value.code == certificate_errors.NOT_SIGNED


def test_openssl_finds_the_signature_right(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    write_certificate(tmp_path / "shop.json", signed(key))
    document = json.loads((tmp_path / "shop.json").read_text())
    text = json.dumps(
        document["certificate"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    (tmp_path / "text").write_text(text)
    (tmp_path / "value").write_bytes(base64.b64decode(document["signature"]["value"]))
    public = public_file(tmp_path / "public.pem", key)
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", str(public)]
    command += ["-in", str(tmp_path / "text"), "-sigfile", str(tmp_path / "value")]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "Signature Verified Successfully")


def test_a_file_that_is_no_certificate_or_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    write_certificate(path, signed())
    text = path.read_text()
    assert "größe" in text
    path.write_text(text.replace("größe", "größer"))
    with pytest.raises(SourceRefused) as refused:
        read_certificate(path)
    why = "its SHA-256 is another"
    assert str(refused.value) == shown(certificate_errors.CHANGED, path=path, why=why)
    document = json.loads(text)
    document["certificate"]["version"] = 3
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError) as caught:
        read_certificate(path)
    assert caught.value.code == certificate_errors.OTHER_FORM
    more = EMPTY | {"more": 1}
    canonical = json.dumps(more, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    changed = {"certificate": more, "sha256": digest(canonical.encode()), "signature": None}
    for content in (text[:-40], "[]", '{"certificate": {"form": "other"}}', json.dumps(changed)):
        path.write_text(content)
        with pytest.raises(ConfigError) as caught:
            read_certificate(path)
        assert caught.value.code == certificate_errors.UNREADABLE
    with pytest.raises(ConfigError) as caught:
        read_certificate(tmp_path / "missing")
    facts = {"path": tmp_path / "missing", "why": "No such file or directory"}
    assert str(caught.value) == shown(certificate_errors.UNREADABLE, **facts)
    with pytest.raises(ConfigError) as caught:
        write_certificate(tmp_path / "missing" / "shop.json", signed())
    assert caught.value.code == certificate_errors.NOT_WRITTEN


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    elliptic, own = generate_private_key(SECP256R1()), Ed25519PrivateKey.generate()
    cases = [
        (key_file(tmp_path / "ec.pem", elliptic), "it is a key of another kind"),
        (key_file(tmp_path / "secret.pem", own, b"word"), "it is encrypted"),
        (public_file(tmp_path / "public.pem", own), "it is no such key in PEM"),
        (tmp_path / "missing.pem", "No such file or directory"),
    ]
    for path, why in cases:
        with pytest.raises(ConfigError) as caught:
            read_sign_key(path)
        facts = {"path": path, "option": "--sign-key", "why": why}
        assert str(caught.value) == shown(certificate_errors.KEY_FILE, **facts)
    with pytest.raises(ConfigError, match="it is a key of another kind"):
        read_public_key(public_file(tmp_path / "ec-public.pem", elliptic))
    with pytest.raises(ConfigError, match="it is no such key in PEM"):
        read_public_key(key_file(tmp_path / "key.pem", own))


@pytest.mark.parametrize(
    ("certified", "of_server", "later"),
    [
        ("0-1-7", "0-1-7", False),
        ("0-1-7", "0-1-8", True),
        # Without gtid_strict_mode, 0-2-7 may have come after 0-1-7.
        ("0-1-7", "0-2-7", True),
    ],
)
def test_a_server_of_mariadb_is_not_later_only_by_numbers_of_one_server(
    certified: str, of_server: str, *, later: bool
) -> None:
    session: Any = SimpleNamespace(name="db1", query=lambda _: [{"found": of_server}])
    assert is_later(certified, "mariadb", session) is later
