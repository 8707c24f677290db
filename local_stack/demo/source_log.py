"""The binlog of the source as a set of GTIDs: the start, and what must arrive."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from connector.errors import LocalStackError, local_demo
from connector.gtid import GtidSet, MariadbGtidSet
from local_stack.endpoint import connect

if TYPE_CHECKING:
    from local_stack.choice import Product
    from local_stack.endpoint import Endpoint

EXECUTED = {
    "mysql": "SELECT @@version, @@global.gtid_executed",
    "mariadb": "SELECT @@version, @@global.gtid_binlog_pos",
}


class SourceLog:
    """What a source has written to its binlog."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Use the server of `endpoint`; raises LocalStackError for a MySQL without GTIDs."""
        self._endpoint = endpoint
        version, _ = self._ask("SELECT @@version, ''")
        self.product: Product = "mariadb" if "MariaDB" in version else "mysql"
        self.version = version.partition("-")[0]
        if self.product == "mysql" and self._ask("SELECT @@gtid_mode, ''")[0] != "ON":
            raise LocalStackError(local_demo.GTID_MODE, address=endpoint.bootstrap)

    @property
    def name(self) -> str:
        """Product and version."""
        return f"{'MariaDB' if self.product == 'mariadb' else 'MySQL'} {self.version}"

    def executed(self) -> str:
        """Return the GTIDs of all transactions in the binlog, as the server prints them."""
        _, gtids = self._ask(EXECUTED[self.product])
        return gtids.replace("\n", "")

    def contains(self, gtids: str, wanted: str) -> bool:
        """Return whether the set `gtids` holds every GTID of the set `wanted`."""
        if self.product == "mariadb":
            return MariadbGtidSet.parse(wanted) <= MariadbGtidSet.parse(gtids)
        return GtidSet.parse(wanted) <= GtidSet.parse(gtids)

    def _ask(self, question: str) -> tuple[str, str]:
        with closing(connect(self._endpoint)) as connection, connection.cursor() as cursor:
            cursor.execute(question)
            first, second = cursor.fetchone() or ("", "")
            return str(first), str(second)
