"""The workloads: each fills one binlog file of the server and returns what it has put there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.workload.rows import STATUS, Pages, Rows
from benchmarks.workload.tables import FLEET_FOLLOWED, FLEET_TABLES, fleet_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.workload.session import Session

# One-row transactions are sent in packets of so many statements.
_PACKET = 50
_STEP = 1000
_NUMBERS = 100_000


@dataclass(slots=True)
class Counts:
    """Changed rows, by what happened to them."""

    inserts: int = 0
    updates: int = 0
    deletes: int = 0

    @property
    def changes(self) -> int:
        """All of them."""
        return self.inserts + self.updates + self.deletes


@dataclass(frozen=True, slots=True)
class Workload:
    """What fills a file, and how much of it makes the full size."""

    generate: Callable[[Session, int], Counts]
    full_size: int  # in the unit of `generate`
    step: int  # sizes are multiples of this
    tables: tuple[str, ...]  # whose topics the changes go to

    def size(self, scale: float) -> int:
        """Return the size at `scale`."""
        return max(1, round(self.full_size * scale / self.step)) * self.step


class _Packets:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._statements: list[str] = []

    def add(self, statement: str) -> None:
        self._statements.append(statement)
        if len(self._statements) == _PACKET:
            self.flush()

    def flush(self) -> None:
        if self._statements:
            self._session.execute(*self._statements)
            self._statements.clear()


def oltp(session: Session, transactions: int) -> Counts:
    """One-row transactions on shop.orders: half inserts, 40 % updates, 10 % deletes."""
    session.execute("USE shop")
    rows, key, counts = Rows(1), 0, Counts()
    live: list[int] = []
    packets = _Packets(session)
    for _ in range(transactions):
        kind = rows.draw()
        if kind < 0.5 or len(live) < 1000:  # noqa: PLR2004
            key += 1
            live.append(key)
            packets.add("INSERT INTO shop.orders VALUES " + rows.order(key))
            counts.inserts += 1
        elif kind < 0.9:  # noqa: PLR2004
            chosen = live[rows.below(len(live))]
            packets.add(
                f"UPDATE shop.orders SET amount={rows.draw() * 1e5:.2f},"
                f"status='{STATUS[rows.below(6)]}',updated_at={rows.when(micros=False)},"
                f"created_at={rows.when(micros=True)} WHERE id={chosen}"
            )
            counts.updates += 1
        else:
            index = rows.below(len(live))
            live[index], live[-1] = live[-1], live[index]
            packets.add(f"DELETE FROM shop.orders WHERE id={live.pop()}")
            counts.deletes += 1
    packets.flush()
    return counts


def bulk(session: Session, size: int) -> Counts:
    """Statements of 1,000 rows on shop.orders (10 columns) and shop.wide (40); `size` inserts.

    Every third statement updates 1,500 rows of the first; every fifth inserts into the second,
    every tenth updates 500 rows there.
    """
    session.execute("USE shop")
    rows, base, counts = Rows(2), 10_000_000, Counts()
    for start in range(0, size, _STEP):
        keys = range(base + start, base + start + _STEP)
        session.execute("INSERT INTO shop.orders VALUES " + ",".join(map(rows.order, keys)))
        counts.inserts += _STEP
        if start % 3000 == 2000:  # noqa: PLR2004
            session.execute(
                "UPDATE shop.orders SET amount=amount+1,status='paid',score=score*2 "
                f"WHERE id BETWEEN {keys[-1] - 1499} AND {keys[-1]}"
            )
            counts.updates += 1500
        if start % 5000 == 0:
            session.execute("INSERT INTO shop.wide VALUES " + ",".join(map(rows.wide, keys)))
            counts.inserts += _STEP
            if start % 10000 == 0:
                session.execute(
                    "UPDATE shop.wide SET i0=i0/2,d0=d0/2,v0='updated' "
                    f"WHERE id BETWEEN {keys[0]} AND {keys[499]}"
                )
                counts.updates += 500
    return counts


def text(session: Session, size: int) -> Counts:
    """`size` inserts of kilobytes of text and JSON into docs.pages; a fifth is updated."""
    pages, counts = Pages(3), Counts()
    for start in range(0, size, 100):
        keys = range(start, start + 100)
        session.execute("INSERT INTO docs.pages VALUES " + ",".join(map(pages.page, keys)))
        session.execute(
            f"UPDATE docs.pages SET title=CONCAT(title,'!') WHERE id BETWEEN {start} AND "
            f"{start + 19}"
        )
        counts.inserts += 100
        counts.updates += 20
    return counts


def fleet(session: Session, transactions: int) -> Counts:
    """Inserts of 1 to 19 rows, each into one of 100 equal tables, of which one is followed."""
    rows, key, counts = Rows(4), 0, Counts()
    packets = _Packets(session)
    for _ in range(transactions):
        table = fleet_table(rows.below(FLEET_TABLES))
        length = 1 + rows.below(19)
        values = ",".join(map(rows.order, range(key, key + length)))
        packets.add(f"INSERT INTO {table} VALUES {values}")
        key += length
        counts.inserts += length
    packets.flush()
    return counts


def flat(session: Session, size: int) -> Counts:
    """`size` inserts of small rows into flat.readings, in transactions of 100,000."""
    digits = " UNION ALL ".join(f"SELECT {digit} d" for digit in range(10))
    session.execute(
        "CREATE TEMPORARY TABLE live.numbers (n INT NOT NULL PRIMARY KEY)",
        f"CREATE TEMPORARY TABLE live.digits {digits}",
        *(f"CREATE TEMPORARY TABLE live.digits{n} SELECT d FROM live.digits" for n in range(4)),
        "INSERT INTO live.numbers SELECT e.d*10000+d3.d*1000+d2.d*100+d1.d*10+d0.d FROM "
        "live.digits e, live.digits0 d0, live.digits1 d1, live.digits2 d2, live.digits3 d3",
    )
    for base in range(0, size, _NUMBERS):
        session.execute(
            f"INSERT INTO flat.readings SELECT {base}+n,n%977,"
            f"TIMESTAMPADD(SECOND,{base}+n,'2024-01-01'),(n%7919)/8,'kWh' FROM live.numbers"
        )
    return Counts(inserts=size)


# In the order of the files.
WORKLOADS = {
    "oltp": Workload(oltp, 340_000, _PACKET, ("shop.orders",)),
    "bulk": Workload(bulk, 960_000, 30_000, ("shop.orders", "shop.wide")),
    "text": Workload(text, 25_000, 100, ("docs.pages",)),
    "fleet": Workload(fleet, 60_000, _PACKET, (FLEET_FOLLOWED,)),
    "flat": Workload(flat, 10_000_000, _NUMBERS, ("flat.readings",)),
}
