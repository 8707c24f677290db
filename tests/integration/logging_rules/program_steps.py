"""Steps of random sessions: procedures and functions with parameters, branches and handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.rules.row_images import RowEventKind
from connector.rules.statement_facts import Kind, StatementFacts, TableUse
from tests.integration.logging_rules.schema import DATABASE
from tests.rules.binlog_caches import PlayedStatement, RowsDone

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.logging_rules.random_sessions import Maker


class ProgramSteps:
    """Adds statements to the session of a maker."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self.steps: list[tuple[int, Callable[[], None]]] = [
            (1, self._loop),
            (2, self._branch),
            (2, self._case),
            (2, self._handler),
            (1, self._cursor),
            (1, self._transaction),
            (2, self._function_with_branches),
            (1, self._function_with_limit),
        ]

    def _insert(self, table: str, value: object, *, fails: bool = False) -> PlayedStatement:
        """Return an INSERT of a procedure; the log has values in the place of its variables."""
        found = self._maker.all.tables[table].table
        facts = StatementFacts(Kind.INSERT, (TableUse(found, writes=True),))
        done = () if fails else (RowsDone(found, RowEventKind.WRITE),)
        text = f"INSERT INTO {table} VALUES ({value}, 1)"
        return PlayedStatement(text, facts, done, fails=fails, handled=fails)

    def _call(self, text: str, *body: PlayedStatement) -> None:
        self._maker.add(f"CALL {text}", Kind.CALL, body=body)

    @staticmethod
    def _value(name: str, value: int) -> str:
        return f" NAME_CONST('{name}',{value})"

    def _loop(self) -> None:
        times = self._maker.random.choice([0, 1, 3])
        inserts = (self._insert("audit_t", self._value("n", n)) for n in range(times, 0, -1))
        self._call(f"p_loop({times})", *inserts)

    def _branch(self) -> None:
        n = self._maker.random.choice([1, 2])
        table = "audit_t" if n > 1 else "audit_n"
        self._call(f"p_if({n})", self._insert(table, self._value("n", n)))

    def _case(self) -> None:
        n = self._maker.random.choice([1, 2])
        table = self._maker.all.tables["t1"].table
        limited = PlayedStatement(
            "UPDATE t1 SET v = v + 1 WHERE id = 1 LIMIT 1",
            StatementFacts(Kind.UPDATE, (TableUse(table, writes=True, reads=True),), limit=True),
            (RowsDone(table, RowEventKind.UPDATE),),
        )
        first = limited if n == 1 else self._insert("audit_n", self._value("n", n))
        self._call(f"p_case({n})", first, self._insert("audit_t", 3))

    def _handler(self) -> None:
        table = self._maker.random.choice(["t1", "n1"])
        failing = self._insert(table, 1, fails=True)
        last = self._insert("audit_t", 5)
        self._call(f"p_handler_{table}()", failing, self._insert("audit_n", 4), last)

    def _cursor(self) -> None:
        self._call("p_cursor()", *(self._insert("audit_n", self._value("x", x)) for x in (1, 2)))

    def _transaction(self) -> None:
        begin, commit = (
            PlayedStatement(kind.name, StatementFacts(kind)) for kind in (Kind.BEGIN, Kind.COMMIT)
        )
        inserts = self._insert("audit_t", 6), self._insert("audit_n", 6)
        self._call("p_transaction()", begin, *inserts, commit)
        # Consistency of GTIDs can refuse a statement of it, so that the transaction stays open.
        self._maker.end(Kind.COMMIT)

    def _function_with_branches(self) -> None:
        n = self._maker.random.choice([1, 2])
        tables = [self._maker.all.tables[name].table for name in ("audit_t", "audit_n")]
        uses = tuple(TableUse(table, writes=True, in_sub_statement=True) for table in tables)
        done = (RowsDone(tables[0 if n > 1 else 1], RowEventKind.WRITE),)
        self._maker.add(f"SELECT `{DATABASE}`.`f_if`({n})", Kind.SELECT, uses, done)

    def _function_with_limit(self) -> None:
        maker = self._maker
        known = maker.pick(lambda each: each.name in ("t2", "n1"))
        fresh = maker.all.fresh()
        read = TableUse(maker.all.tables["t1"].table, reads=True, in_sub_statement=True)
        maker.add(
            f"INSERT INTO {known.name} VALUES ({fresh}, {fresh} + 0 * f_limit())",
            Kind.INSERT,
            (*maker.writes(known), read),
            maker.inserted(known),
            limit=True,
        )
