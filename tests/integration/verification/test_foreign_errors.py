"""What is refused of tables of other programs, and what ends the comparison of one table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connector.cli import command_errors
from connector.foundation.errors import ConfigError
from stream_jobs.errors import MirrorError
from tests import forked_command
from tests.foundation.errors.texts import shown
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable
from verification.foreign import foreign_errors
from verification.foreign.row_states import DefinitionMoment
from verification.foreign.table_choice import ColumnChoice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode
    from local_stack import MysqlServer

pytestmark = pytest.mark.server

ROWS = 30


@pytest.fixture
def table(mysql_server: MysqlServer, database: str, tmp_path: Path) -> ForeignTable:
    own = ForeignTable(mysql_server.endpoint, database, tmp_path / "orders")
    own.execute(foreign_tables.DEFINITION)
    own.fill(1, ROWS)
    foreign_tables.write(own.path, foreign_tables.typed(own.rows()))
    return own


def error_of(table: ForeignTable, target: str = "") -> str:
    """Return the error with which the table is not finished."""
    report = table.report("--lag", "1", target=target, code=1)
    assert report["verdict"] == "not finished"
    error: str = report["error"]
    return error


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("shop.orders", "there is no `=`"),
        ("orders=delta:/lake/orders", "orders is no DATABASE.TABLE"),
        ("shop.orders=/lake/orders", "/lake/orders is no KIND:PLACE"),
        ("shop.orders=hudi:/lake/orders", "hudi is no kind of a target"),
    ],
)
def test_a_text_that_names_no_two_tables_is_refused(text: str, why: str) -> None:
    done = forked_command.run("verify", "mysql://root@127.0.0.1:1", "--table", text, seconds=60)
    assert done.returncode == 2
    code = foreign_errors.TARGET_FORM.code
    assert f"[{code}] --table {text}: {why}; write DATABASE.TABLE=KIND:PLACE" in done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[tables]", "Expected"),
        ("[[tables]]\ntable = 'shop.orders'", "tables.0.target: Field required"),
        ("[[tables]]\ntable = 'orders'\ntarget = 'delta:/a'\nform = 1", "tables.0.form: Extra"),
    ],
)
def test_a_file_that_names_no_tables_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(text)
    done = forked_command.run("verify", "mysql://a@127.0.0.1:1", "--tables", str(path), seconds=60)
    assert done.returncode == 2
    assert f"[{foreign_errors.TABLES_FILE.code}] --tables {path}: {why}" in done.stderr


def test_a_server_without_the_name_of_a_table_is_refused(table: ForeignTable) -> None:
    text = "a.b=mysql://me:secret@db2/orders"
    done = forked_command.run("verify", table.url, "--table", text, seconds=60)
    assert done.returncode == 2
    code = foreign_errors.SERVER_FORM.code
    assert f"[{code}] mysql://me@db2/orders names no table of a server" in done.stderr
    done = forked_command.run("verify", table.url, "--table", text.replace("a.b", "a"), seconds=60)
    assert "--table a=mysql://me@db2/orders: a is no DATABASE.TABLE" in done.stderr


def test_a_pattern_without_a_table_is_refused(table: ForeignTable) -> None:
    done = forked_command.run("verify", table.url, "--table", "none.*=delta:/a", seconds=60)
    assert done.returncode == 2
    assert "--table none.*=delta:/a: the source has no such table" in done.stderr


def test_options_of_a_mirror_are_refused() -> None:
    words = ("--table", "a.b=delta:/c", "--repair")
    done = forked_command.run("verify", "mysql://root@127.0.0.1:1", *words, seconds=60)
    assert done.returncode == 2
    assert shown(command_errors.NO_EFFECT, way="--table", ignored=["--repair"]) in done.stderr


def test_a_place_without_a_table_is_not_finished(table: ForeignTable, tmp_path: Path) -> None:
    for kind in ("delta", "parquet"):
        target = f"{kind}:{tmp_path}/nothing"
        error = error_of(table, target)
        assert error.startswith(f"[{foreign_errors.NO_TARGET.code}] there is no table at {target};")


def test_files_of_two_tables_are_not_one(table: ForeignTable, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number, values in enumerate(([1], [{"a": 1}])):
        pq.write_table(pa.table({"id": values}), folder / f"{number}.parquet")
    code = foreign_errors.OTHER_SCHEMAS.code
    assert error_of(table, f"parquet:{folder}").startswith(f"[{code}] the files of parquet:")


def test_a_table_without_a_key_in_the_target_is_not_finished(table: ForeignTable) -> None:
    data = foreign_tables.typed(table.rows())
    foreign_tables.write(table.path, data.drop_columns(["id"]))
    assert foreign_errors.NO_KEY.code in error_of(table)
    assert "the target has no column for id of the key" in error_of(table)
    table.execute("ALTER TABLE orders DROP PRIMARY KEY")
    assert "it has no primary key" in error_of(table)


def test_a_table_of_a_feature_that_readers_must_know_is_refused(table: ForeignTable) -> None:
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["variantType"],
        "writerFeatures": ["variantType"],
    }
    commit = table.path / "_delta_log" / f"{1:020d}.json"
    commit.write_text(json.dumps({"protocol": protocol}) + "\n")
    assert foreign_errors.FEATURES.code in error_of(table)
    assert "this program cannot read variantType" in error_of(table)


def test_a_source_that_logs_statements_is_refused(table: ForeignTable) -> None:
    table.execute("SET GLOBAL binlog_format = STATEMENT")
    try:
        assert foreign_errors.LOG_NOT_ROWS.code in error_of(table)
    finally:
        table.execute("SET GLOBAL binlog_format = ROW")


def test_a_choice_for_columns_must_fit(table: ForeignTable) -> None:
    wrong: list[tuple[dict[str, ColumnChoice], str]] = [
        ({"prize": ColumnChoice(name="price")}, "the source has no column prize"),
        ({"price": ColumnChoice(name="prize")}, "the target has no column prize"),
        ({"note": ColumnChoice(tolerance=1)}, "column note is VARCHAR, which has no tolerance"),
        ({"price": ColumnChoice(seconds=1)}, "column price is DECIMAL, which has no seconds"),
        ({"id": ColumnChoice(tolerance=1)}, "column id belongs to the key, so it has no tolerance"),
        ({"price": ColumnChoice(form="base64")}, "column price cannot be 'base64'; it can be n"),
    ]
    for columns, why in wrong:
        with pytest.raises(ConfigError) as raised, foreign_tables.comparison(table, columns):
            pass
        assert raised.value.code is foreign_errors.MAPPING_FORM
        assert why in str(raised.value)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (
            lambda table: table.execute("ALTER TABLE orders ADD COLUMN more INT"),
            foreign_errors.TABLE_CHANGED,
        ),
        (
            lambda table: foreign_tables.write(
                table.path, foreign_tables.typed(table.rows()).drop_columns(["note"])
            ),
            foreign_errors.COLUMN_GONE,
        ),
    ],
)
def test_a_table_that_changes_is_not_finished(
    table: ForeignTable, change: Callable[[ForeignTable], None], code: ErrorCode
) -> None:
    with foreign_tables.comparison(table) as check:
        table.execute("UPDATE orders SET note = 'newer' WHERE id = 3")
        change(table)
        with pytest.raises(MirrorError) as raised:
            check.run()
    assert raised.value.code is code


def test_rows_from_before_an_alter_do_not_hide_those_after_it(table: ForeignTable) -> None:
    table.execute(
        "ALTER TABLE orders ADD COLUMN old VARCHAR(9) NOT NULL DEFAULT 'x' FIRST",
        "DO SLEEP(3)",
        "UPDATE orders SET note = 'newer' WHERE id = 3",
        "ALTER TABLE orders DROP COLUMN old",
        "UPDATE orders SET note = 'newest' WHERE id = 4",
    )
    with foreign_tables.comparison(table) as check:
        check.run()
    found = {row.key["id"]: row.kind for row in check.result.differences}
    assert found == {3: "different", 4: "stale"}


def test_an_altered_table_whose_old_columns_are_still_shown_is_not_finished(
    table: ForeignTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement may wait in the log, such as for replicas, before the server shows its effect."""
    with foreign_tables.comparison(table, lag_seconds=6.0) as check:
        table.execute(
            "ALTER TABLE orders ADD COLUMN more INT FIRST",
            "UPDATE orders SET note = 'newer' WHERE id = 3",
        )
        monkeypatch.setattr(check._sides.source, "described", DefinitionMoment(2**62))
        with pytest.raises(MirrorError) as raised:
            check.run()
    assert raised.value.code is foreign_errors.TABLE_CHANGED
