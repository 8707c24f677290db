"""Global transaction ids: the names of transactions, and sets of them to resume from.

MySQL and MariaDB share only the word. MySQL names a transaction by the server that first committed
it and a running number; a set names exactly its members. MariaDB names it by replication domain,
server and a number that rises within the domain; a position is the last GTID of each domain.
"""

from connector.binlog.gtid.mariadb import MariadbGtid, MariadbGtidSet
from connector.binlog.gtid.mysql import GtidSet
from connector.binlog.gtid.mysql_gtid import Gtid, gtid_at, gtid_prefix_at

__all__ = ["Gtid", "GtidSet", "MariadbGtid", "MariadbGtidSet", "gtid_at", "gtid_prefix_at"]
