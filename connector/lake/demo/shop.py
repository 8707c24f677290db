"""The shop's tables on a source, values for their columns, and the account that reads them.

`shop.sql` has five tables with primary keys, and `page_views` without one. During the demo, the
workload adds a column to `orders`. The account has the fewest rights. Values are ordinary ones,
limits of each type, and NULL in a fifth.
"""

import json
import math
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TypeVar

from connector.lake.demo import demo_errors
from local_stack.server import Endpoint, connect
from local_stack.stack_errors import LocalStackError

DATABASE = "shop"
MIRRORED_TABLES = ("customers", "products", "orders", "order_lines", "payments")
KEYLESS_TABLE = "page_views"
TABLES = (*MIRRORED_TABLES, KEYLESS_TABLE)

# Customers that exist before the connector starts, and buy nothing.
REGULAR_CUSTOMERS = range(1000)
INSERT_REGULAR_CUSTOMER = (
    f"INSERT INTO {DATABASE}.customers"  # noqa: S608 - a name of our own
    " (email, name, newsletter, interests, balance, created_at)"
    " VALUES (%s, 'regular customer', b'1', 'books,music', %s, '2020-02-29 12:00:00.123456')"
)

READER = "cdc"
SCHEMA = Path(__file__).with_name("shop.sql")
ADD_COLUMN = (
    f"ALTER TABLE {DATABASE}.orders"
    " ADD COLUMN channel VARCHAR(16) NOT NULL DEFAULT 'web' AFTER status"
)


def require_no_shop(endpoint: Endpoint) -> None:
    """Raise LocalStackError if the server has such a database or user: they are somebody else's."""
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM mysql.user WHERE user = %s", (READER,))
        taken = [f"user {READER}"] if cursor.fetchone() != (0,) else []
        if cursor.execute("SHOW DATABASES LIKE %s", (DATABASE,)):
            taken.append(f"database {DATABASE}")
        if taken:
            raise LocalStackError(demo_errors.SHOP, address=endpoint.bootstrap, names=taken)


def create_shop(endpoint: Endpoint, reader_password: str) -> None:
    """Create the tables, and the user of the connector."""
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        for statement in statements(SCHEMA.read_text("utf-8")):
            cursor.execute(statement)
        cursor.execute(f"CREATE USER {READER}@'%%' IDENTIFIED BY %s", (reader_password,))
        cursor.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {READER}@'%'")
        # LOCK TABLES: needed for a moment to copy a table without a primary key from MySQL.
        cursor.execute(f"GRANT SELECT, LOCK TABLES ON {DATABASE}.* TO {READER}@'%'")


def insert_regular_customers(endpoint: Endpoint) -> None:
    """Insert rows that nobody changes, so that they can reach Kafka only by a copy."""
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.executemany(
            INSERT_REGULAR_CUSTOMER, [(f"regular{n}@shop.example", n) for n in REGULAR_CUSTOMERS]
        )
        connection.commit()


def drop_shop(endpoint: Endpoint) -> None:
    """Remove what `create_shop` made, also a part of it."""
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"DROP USER IF EXISTS {READER}@'%'")


def count_rows(endpoint: Endpoint) -> dict[str, int]:
    """Return how many rows each table has."""
    counts = {}
    with closing(connect(endpoint, DATABASE)) as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 - our own names
            (counts[table],) = cursor.fetchone() or (0,)
    return counts


def statements(script: str) -> list[str]:
    """Return the statements of a script, in which comments have their own lines."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    parts = "\n".join([*lines, ""]).split(";\n")
    return [part.strip() for part in parts if part.strip()]


T = TypeVar("T")

NAMES = ("Ada", "Zoë", "Łukasz", "Σοφία", "李雷", "Grace", "O'Hara", "Bjørn", "Noor", "Ivy 🌱")
CATEGORIES = ("book", "tool", "toy", "record")
INTERESTS = ("books", "garden", "games", "music")
CHANNELS = ("web", "shop", "phone")
NULL_SHARE = 0.2
# MySQL's TIME is a duration: below zero, and up to 838 hours.
TIME_MS = 838 * 3_600_000
YEARS: tuple[int, ...] = (0, 1901, 2155, *range(1990, 2026))
FIRST_MOMENT = datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None)
TWO_YEARS_US = 2 * 365 * 86_400 * 10**6


class RandomValues:
    """Draws values from `random`: the same ones for the same seed."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def maybe(self, value: T) -> T | None:
        """Return `value`, or NULL in a fifth of the cases."""
        return value if self._random.random() >= NULL_SHARE else None

    def name(self) -> str:
        """Return text of several scripts, a quote and a character of four bytes."""
        return self._random.choice(NAMES)

    def email(self) -> str:
        """Return a unique address."""
        return f"{self._random.getrandbits(64):016x}@example.com"

    def sku(self) -> str:
        """Return a key of eight characters."""
        return f"{self._random.getrandbits(32):08X}"

    def born(self) -> date | None:
        """Return a day since the year 1000."""
        return self.maybe(
            date(self._random.randint(1000, 2010), 1, 1)
            + timedelta(days=self._random.randrange(365))
        )

    def moment(self) -> datetime:
        """Return a moment with microseconds."""
        return FIRST_MOMENT + timedelta(microseconds=self._random.randrange(TWO_YEARS_US))

    def day(self) -> date | None:
        """Return the day of a moment."""
        return self.maybe(self.moment().date())

    def time(self) -> timedelta | None:
        """Return a duration in milliseconds."""
        return self.maybe(timedelta(milliseconds=self._random.randint(-TIME_MS, TIME_MS)))

    def year(self) -> int:
        """Return a year that YEAR can hold."""
        return self._random.choice(YEARS)

    def interests(self) -> str:
        """Return a set of labels, also the empty one."""
        return ",".join(self._random.sample(INTERESTS, self._random.randint(0, len(INTERESTS))))

    def preferences(self) -> str | None:
        """Return a JSON document with numbers of each kind, nesting and escapes."""
        document = {
            "theme": self._random.choice(("dark", "light", None)),
            "size": self._random.choice((1, 2.5, -(2**63), math.pi, True)),
            "näme": ["ü", {"deep": [[], {}]}, '"quoted"\n'],
        }
        return self.maybe(json.dumps(document))

    def money(self, digits: int) -> Decimal:
        """Return an amount with `digits` decimals."""
        return Decimal(self._random.randint(1, 10**7)).scaleb(-digits)

    def balance(self) -> int:
        """Return a number of most of a BIGINT's range."""
        return self._random.randint(-(2**62), 2**62)

    def factor(self) -> Decimal:
        """Return the factor of a price change."""
        return Decimal(self._random.randint(85, 115)).scaleb(-2)

    def rating(self) -> float | None:
        """Return a value for FLOAT, which keeps seven digits of it."""
        return self.maybe(self._random.uniform(0, 5))

    def weight(self) -> float | None:
        """Return a double of any magnitude."""
        return self.maybe(self._random.uniform(-1, 1) * 10.0 ** self._random.randint(-30, 30))

    def blob(self, *sizes: int) -> bytes | None:
        """Return bytes of one of `sizes`."""
        return self.maybe(self._random.randbytes(self._random.choice(sizes)))

    def reference(self) -> bytes:
        """Return 16 bytes that end in zeros, which the binlog cuts off."""
        return self._random.randbytes(14) + bytes(2)

    def bits(self, number: int) -> int:
        """Return that many bits."""
        return self._random.getrandbits(number)

    def text(self) -> str | None:
        """Return text of up to some hundred characters."""
        return self.maybe("Größe: Ø 10 cm\n" * self._random.randint(0, 40))
