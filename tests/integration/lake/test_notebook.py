"""A lake in a program: it reads its tables, and both programs end with it."""

from __future__ import annotations

import ast
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from connector.errors import (
    ConfigError,
    ConnectorError,
    DefiniteError,
    SourceRefused,
    TransientError,
)
from connector.lake import Lake, lake_errors, mirror
from tests.integration.harness import wait_until
from tests.integration.lake.shop import PASSWORD, PATIENCE_SECONDS, Shop, children
from tests.lake.notebook_cells import cells
from tests.length import FULL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

pytestmark = pytest.mark.server


def executed(code: str, names: dict[str, Any]) -> Any:
    """Return the value of the last line of a cell, which a notebook shows; None for a statement."""
    *statements, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None


@pytest.mark.skipif(not FULL, reason="half a minute with Spark; `make test-all` runs it")
@pytest.mark.spark
def test_the_notebook_of_the_documents_reads_tables_that_follow_their_source(
    shop: Shop, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shop.grant()
    folder, table = tmp_path / "lake", f"{shop.name}.orders"
    names: dict[str, Any] = {}
    code = cells()

    # A cell may run outside of the main thread, where nobody can set a handler of signals.
    with ThreadPoolExecutor(1) as thread:

        def run(cell: str) -> Any:
            return thread.submit(executed, code.pop(cell), names).result(PATIENCE_SECONDS)

        run("parameters")
        names.update(SOURCE=shop.url, FOLDER=str(folder), TABLE=table)
        run("mirror")
        lake: Lake = names["lake"]
        try:
            assert_told_of(lake, shop)
            assert run("tables") == [table]
            rows = [{name: row[name] for name in ("id", "note")} for row in run("rows")]
            assert sorted(rows, key=lambda row: row["id"]) == [
                {"id": 1, "note": "one"},
                {"id": 2, "note": "two"},
            ]
            shop.execute(f"INSERT INTO {table} VALUES (3, 'three')")
            assert run("again") == 3
            other = refused(ConfigError, lake_errors.NO_TABLE, lambda: lake.table("shop.order"))
            assert f"{folder} has no table shop.order; it has {table}; name a table" in other
            for pid in children("run", folder / "_cdc" / "connector.toml"):
                os.kill(pid, signal.SIGKILL)
            ended = refused(DefiniteError, lake_errors.ENDED, lake.wait)
            assert "the connector has ended with exit code 137" in ended
            refused(DefiniteError, lake_errors.ENDED, lambda: lake.table(table))
            run("close")
        finally:
            lake.close()
    assert code == {}
    # The Java runtime of the job ends shortly after it.
    wait_until(lambda: not children(folder), lambda: children(folder))
    assert capfd.readouterr() == ("", "")


def assert_told_of(lake: Lake, shop: Shop) -> None:
    """Check the errors of a lake that starts."""
    assert lake.tables() == []
    late = refused(TransientError, lake_errors.NOT_IN_TIME, lambda: lake.wait(timeout=0.1))
    assert "do not have everything after 0.1 s; starting" in late
    none = refused(ConfigError, lake_errors.NO_TABLE, lambda: lake.table("x.y"))
    assert "has no table x.y; it has none yet" in none
    refused(ConfigError, lake_errors.IN_USE, lambda: mirror(shop.url, lake.path))


def refused(kind: type[ConnectorError], code: ErrorCode, call: Callable[[], object]) -> str:
    """Return the text of the error with `code` that a call raises."""
    with pytest.raises(kind) as raised:
        call()
    assert raised.value.code is code
    return str(raised.value)


def test_nothing_is_written_for_a_source_that_cannot_be_followed(
    shop: Shop, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "lake"
    refused(ConfigError, lake_errors.NO_SOURCE, lambda: mirror(None, folder))
    with pytest.raises(SourceRefused, match="GRANT REPLICATION SLAVE") as raised:
        mirror(shop.url, folder)
    assert PASSWORD not in str(raised.value)
    without = shop.url.partition("@")[2]
    with pytest.raises(SourceRefused, match="GRANT REPLICATION SLAVE"):
        mirror(f"mysql://{shop.name}@{without}", folder, password=PASSWORD)
    assert not folder.exists()
    assert capfd.readouterr() == ("", "")
