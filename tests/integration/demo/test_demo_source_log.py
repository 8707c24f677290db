"""Where the demo begins to read, and how it knows that everything has arrived."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest

from connector.lake.demo.stack import SourceLog
from connector.stream.progress.progress_record import has_transactions
from local_stack import MysqlServer, connect
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.control_records import ProgressRecord
    from local_stack import MariadbServer

pytestmark = pytest.mark.server


def progress(product: str, gtids: str) -> ProgressRecord:
    return cast("ProgressRecord", {"flavour": product, "gtid_set": gtids})


@pytest.mark.parametrize("product", ["mysql", "mariadb"])
def test_what_is_committed_later_is_not_in_what_was_executed_before(
    product: str, request: pytest.FixtureRequest
) -> None:
    server: MysqlServer | MariadbServer = request.getfixturevalue(f"{product}_server")
    database = request.getfixturevalue("database" if product == "mysql" else "mariadb_database")
    log = SourceLog(server.endpoint)
    before = log.executed()
    with closing(connect(server.endpoint, database)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a INT)")
    after = log.executed()
    assert log.product == product
    assert has_transactions(progress(product, after), before)
    assert not has_transactions(progress(product, before), after)


def test_products_and_versions_are_called_by_their_names(
    mysql_server: MysqlServer, mariadb_server: MariadbServer
) -> None:
    assert SourceLog(mysql_server.endpoint).name == "MySQL 8.0.31"
    assert SourceLog(mariadb_server.endpoint).name.startswith("MariaDB 11.8.")


def test_a_mysql_without_gtids_is_refused(tmp_path: Path) -> None:
    settings = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
    with MysqlServer(tmp_path, settings=settings) as server:
        with pytest.raises(LocalStackError) as caught:
            SourceLog(server.endpoint)
        assert caught.value.text == (
            f"{server.endpoint.bootstrap} has gtid_mode other than ON, and the demo counts in "
            "GTIDs; start the server with --gtid-mode=ON --enforce-gtid-consistency=ON"
        )
