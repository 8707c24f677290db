"""Certificates of tables that other programs have made: their form, and how they are checked."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connector.foundation.errors import ConfigError
from connector.replication.server.addresses import source_settings
from tests.foundation.errors.texts import shown
from tests.stream_jobs.topics import column
from tests.verification.test_certificates import BOUNDS, EMPTY
from verification.certificate import certificate_errors, foreign_run, range_sums
from verification.certificate.check import CheckedTable, check_tables
from verification.certificate.document import (
    ForeignCertificate,
    SignedCertificate,
    digest,
    read_certificate,
    write_certificate,
)
from verification.certificate.foreign_run import ForeignCertification
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.table_choice import read_choice
from verification.key_ranges import KeyNumber, numbers_of
from verification.row_text import MirrorText
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (column("id", "int", key=1), column("day", "date"))
NAME = "shop.t"
DAYS = {1: 10, 2: 20, 4: 40, 5: None, 6: 60}


def written(path: Path, days: dict[int, Any], kind: pa.DataType) -> None:
    """Write a version with days since 1970, and a row that is deleted."""
    rows = {
        "ID": pa.array([*days, 9], pa.int64()),
        "day": pa.array([*days.values(), None], kind),
        "_deleted": pa.array([False] * len(days) + [True]),
    }
    write_deltalake(path, pa.table(rows), mode="overwrite", schema_mode="overwrite")


@pytest.fixture
def certificate(tmp_path: Path) -> ForeignCertificate:
    """Of the first version of a table, in two ranges; a second one follows."""
    path = tmp_path / "t"
    written(path, DAYS, pa.int32())
    text = MirrorText.of_mirror(COLUMNS)
    assert text is not None
    number = KeyNumber("", is_unsigned=False)
    ranges = range_sums.ranges_of(BOUNDS, number)
    rows = pa.table({"id": [*DAYS], "day": pa.array([*DAYS.values()], pa.int32()).cast("date32")})
    sums = range_sums.Sums(2)
    sums.add(ranges.places(numbers_of(rows["id"])), text.of_rows(rows))
    own = {
        "table": NAME,
        "columns": [dict(each) for each in COLUMNS],
        "forms": [{"name": "ID", "form": "number"}, {"name": "day", "form": "days since 1970"}],
        "deletion_mark": "_deleted",
        "not_compared": {"source": [], "target": []},
        "target": {
            "kind": "delta",
            "place": str(path),
            "version": "0",
            "table_id": str(DeltaTable(path).metadata().id),
            "view": "",
        },
        "moment": {"gtid_set": "", "position": "binlog.000007:400", "committed_at": None},
        "changes_taken_back": 0,
        "rows": 5,
        "source_sql": "",
        "table_sql": range_sums.duckdb_sql(text, ("id", number), ranges, ""),
        "ranges": [
            {"part": place, "low": low, "high": high, "rows": int(sums.rows[place])}
            | {"sums": sums.totals(place)}
            for place, (low, high) in enumerate(BOUNDS)
        ],
    }
    written(path, {1: 11, 7: 70}, pa.int32())
    server = {name: EMPTY["source"][name] for name in ("server_uuid", "flavour")}
    head = {name: own for name, own in EMPTY.items() if name != "mirror"}
    return ForeignCertificate.model_validate(
        head | {"version": 2, "source": server, "tables": [own], "left_out": []}
    )


def checked(certificate: ForeignCertificate, **facts: object) -> CheckedTable:
    """Check a certificate in which the table has other `facts`."""
    own = certificate.tables[0].model_dump() | facts
    every = certificate.model_dump() | {"tables": [own]}
    (found,) = check_tables(ForeignCertificate.model_validate(every), RunProgress())
    return found


def code_of(found: CheckedTable) -> object:
    assert found.error is not None
    return found.error.code


def test_a_version_is_read_as_its_certificate_says(
    certificate: ForeignCertificate, tmp_path: Path
) -> None:
    found = checked(certificate)
    assert (found.verdict, found.rows, found.error) == ("equal", 5, None)
    assert checked(certificate, table_sql=None).verdict == "equal"
    target = certificate.tables[0].target.model_dump()
    later = checked(certificate, target=target | {"version": "1"})
    assert (later.verdict, later.rows, len(later.different)) == ("different", 2, 2)
    # A value that no DATE has is another value, though nothing of it is left.
    texts = {key: day and str(day) for key, day in DAYS.items()}
    written(tmp_path / "t", {**texts, 5: "never"}, pa.string())
    forms = [{"name": "ID", "form": "number"}, {"name": "day", "form": "days since 1970 as text"}]
    unfit = checked(certificate, target=target | {"version": "2"}, forms=forms)
    assert [(each.certified.part, each.rows) for each in unfit.different] == [(1, 2)]
    path = tmp_path / "certificate.json"
    sha256 = digest(certificate.canonical)
    write_certificate(
        path, SignedCertificate(certificate=certificate, sha256=sha256, signature=None)
    )
    assert read_certificate(path).certificate == certificate


def test_a_table_with_other_columns_or_none_is_told_from_one_that_differs(
    certificate: ForeignCertificate, tmp_path: Path
) -> None:
    own = certificate.tables[0]
    forms = [each.model_dump() for each in own.forms]
    others: list[dict[str, object]] = [
        {"forms": [forms[0], {"name": "day", "form": "text"}]},
        {"forms": [forms[0], {"name": "date", "form": "date"}]},
        {"forms": forms[:1]},
        {"deletion_mark": "day"},
        {"deletion_mark": "op"},
        {"table_sql": "SELECT 1"},
    ]
    for facts in others:
        assert code_of(checked(certificate, **facts)) == certificate_errors.OTHER_COLUMNS, facts
    target = own.target.model_dump()
    other = checked(certificate, target=target | {"table_id": "other"})
    assert code_of(other) == certificate_errors.NO_TABLE
    gone = checked(certificate, target=target | {"version": "7"})
    assert code_of(gone) == certificate_errors.VERSION_GONE
    shutil.rmtree(tmp_path / "t")
    assert code_of(checked(certificate)) == certificate_errors.NO_TABLE


@pytest.mark.parametrize(
    "target",
    [
        "parquet:/lake/t",
        "iceberg-rest:https://audit:secret@catalog/v1?table=shop.t",
        "mysql://audit:secret@db2/shop.t",
        "mariadb://audit:secret@db2/shop.t",
        "postgresql://audit:secret@dwh/shop.public.t",
        "clickhouse://audit:secret@dwh/shop.t",
    ],
)
def test_a_target_without_versions_is_refused_before_anything_is_read(target: str) -> None:
    run = ForeignCertification(source_settings("mysql://audit@nowhere"), ForeignLimits())
    choices = [read_choice(f"shop.t={each}") for each in ("delta:/lake/t", target)]
    with pytest.raises(ConfigError) as caught:
        run.results(choices, RunProgress())
    shown_target = target.replace(":secret", "")
    assert f"--certificate: {shown_target} has no versions: " in str(caught.value)
    assert caught.value.code == certificate_errors.NO_VERSIONS
    assert "secret" not in str(caught.value)
    assert shown(certificate_errors.NO_VERSIONS, target=shown_target, why="").startswith("[V176]")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"unsettled": 1}, "the log does not tell enough about some of its rows"),
        ({"has_more": True}, "its rows differ"),
    ],
)
def test_what_is_left_out_says_whether_rows_differ(
    monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], reason: str
) -> None:
    result = ForeignResult(NAME, "delta:/lake/t", **facts)
    monkeypatch.setattr(foreign_run, "verify_tables", lambda *_, **__: [result])
    own = ForeignCertification(source_settings("mysql://root@127.0.0.1:1"), ForeignLimits())
    assert own.results([read_choice(f"{NAME}=delta:/lake/t")], RunProgress()) == [result]
    assert [each.reason for each in own.left_out] == [reason]
