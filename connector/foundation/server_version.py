"""Product and version of a database server."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

# Of each series the first release whose log leaves generated columns out; of later series, all do.
_WITHOUT_GENERATED: Final = {
    number[:2]: number for number in ((10, 6, 28), (10, 11, 19), (11, 4, 13), (11, 8, 9))
}


class Product(Enum):
    """The two families of servers; their rules differ since MariaDB 5.5."""

    MYSQL = "MySQL"
    MARIADB = "MariaDB"


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """One server, by product and version number."""

    product: Product
    number: tuple[int, int, int]

    @property
    def is_mariadb(self) -> bool:
        """Whether the rules of MariaDB are in force."""
        return self.product is Product.MARIADB

    @property
    def leaves_out_generated(self) -> bool:
        """Whether rows of UPDATE and DELETE are logged without generated columns.

        This is so in each `binlog_row_image`; rows of INSERT have them.
        """
        first = _WITHOUT_GENERATED.get(self.number[:2], max(_WITHOUT_GENERATED.values()))
        return self.is_mariadb and self.number >= first

    def mysql_since(self, major: int, minor: int, patch: int = 0) -> bool:
        """Return whether this is MySQL of that version or a later one."""
        return not self.is_mariadb and self.number >= (major, minor, patch)

    def __str__(self) -> str:
        """Return the server as people write it: `MySQL 8.0.31`."""
        return f"{self.product.value} {'.'.join(map(str, self.number))}"
