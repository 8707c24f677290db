"""Random sessions from a seed, with what each statement does to rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from connector.rules.row_images import RowEventKind
from connector.rules.server import BinlogFormat, Isolation, SessionState
from connector.rules.statement_facts import Kind, StatementFacts, TableUse
from tests.integration.logging_rules.program_steps import ProgramSteps
from tests.integration.logging_rules.schema import DATABASE, Known, known_tables
from tests.integration.logging_rules.table_steps import TableSteps
from tests.rules.binlog_caches import PlayedStatement, RowsDone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from connector.foundation.server_version import ServerVersion
    from connector.rules.statement_facts import Table


@dataclass
class Session:
    """The settings and the statements of one session."""

    state: SessionState
    statements: list[PlayedStatement] = field(default_factory=list)


class Generator:
    """Makes one session after another; ids of rows rise over all of them."""

    def __init__(self, server: ServerVersion, folder: Path) -> None:
        """Make sessions for a server that may read files in `folder`."""
        self._server = server
        self._tables = known_tables(server)
        self.folder = folder
        self._id = 1000
        self._number = 0

    def session(self, random: Random, length: int) -> Session:
        """Return a session of about `length` statements, which ends outside of a transaction."""
        state = SessionState(
            random.choice(list(BinlogFormat)),
            random.choices([Isolation.REPEATABLE_READ, Isolation.READ_COMMITTED], [6, 1])[0],
            enforce_gtid_consistency=not self._server.is_mariadb and random.random() < 0.25,
        )
        return Maker(self, random, Session(state)).made(length)

    @property
    def server(self) -> ServerVersion:
        return self._server

    @property
    def tables(self) -> dict[str, Known]:
        return self._tables

    def fresh(self) -> int:
        """Return an id that no row has."""
        self._id += 1
        return self._id

    def name(self, prefix: str) -> str:
        """Return a name that nothing has."""
        self._number += 1
        return f"{prefix}{self._number}"


class Maker:
    """Makes the statements of one session."""

    def __init__(self, generator: Generator, random: Random, session: Session) -> None:
        self.all = generator
        self.random = random
        self.session = session
        self.open = False
        self._xa = False
        self._savepoints: list[str] = []
        self._temporary: dict[str, Known] = {}
        self._created: list[str] = []

    def made(self, length: int) -> Session:
        steps: list[tuple[int, Callable[[], None]]] = [
            (12, self._insert),
            (4, self._failing_insert),
            (5, self._update),
            (2, self._update_nothing),
            (3, self._limited_update),
            (4, self._insert_select),
            (2, self._update_two),
            (2, self._update_or_insert),
            (4, self._functions),
            (2, self._select_function),
            (2, self._call),
            *TableSteps(self).steps,
            *ProgramSteps(self).steps,
            (1, self._xa_transaction),
            (8, self.begin),
            (4, lambda: self.end(Kind.COMMIT)),
            (4, lambda: self.end(Kind.ROLLBACK)),
            (4, self._savepoint),
            (4, self._rollback_to),
            (1, self._release),
            (2, self._create_temporary),
            (2, self._drop_temporary),
            (2, self._create_select),
            (1, self._truncate),
        ]
        weights = [weight for weight, _ in steps]
        for _ in range(length):
            self.random.choices([step for _, step in steps], weights)[0]()
        self.end(self.random.choice([Kind.COMMIT, Kind.ROLLBACK]))
        for name in list(self._temporary):
            self._drop(name)
        for name in self._created:
            text = f"DROP TABLE `{name}`"
            self.add(text, Kind.DROP_TABLE, name=name)
        return self.session

    def add(
        self,
        text: str,
        kind: Kind,
        uses: tuple[TableUse, ...] = (),
        done: tuple[RowsDone, ...] = (),
        *,
        fails: bool = False,
        name: str = "",
        body: tuple[PlayedStatement, ...] = (),
        **facts: object,
    ) -> None:
        played = PlayedStatement(
            text,
            StatementFacts(kind, uses, **facts),  # type: ignore[arg-type]
            done,
            fails=fails,
            name=name,
            body=body,
        )
        self.session.statements.append(played)

    def pick(self, allowed: Callable[[Known], bool] = lambda _: True) -> Known:
        own = [*self.all.tables.values(), *self._temporary.values(), *self._temporary.values()]
        known = [each for each in own if not each.name.startswith("audit") and allowed(each)]
        return self.random.choice(known)

    @staticmethod
    def writes(known: Known) -> tuple[TableUse, ...]:
        own = TableUse(known.table, writes=True)
        if known.trigger is None:
            return (own,)
        return (own, TableUse(known.trigger, writes=True, in_sub_statement=True))

    @staticmethod
    def inserted(known: Known, rows: int = 1) -> tuple[RowsDone, ...]:
        one = [RowsDone(known.table, RowEventKind.WRITE)]
        if known.trigger is not None:
            one.append(RowsDone(known.trigger, RowEventKind.WRITE))
        return tuple(one * rows)

    def values(self, known: Known) -> str:
        """Return a new id and a value; a counter gives the id if the table has one."""
        fresh = self.all.fresh()
        return f"{'NULL' if known.table.auto_increment else fresh}, {fresh}"

    def _insert(self) -> None:
        known = self.pick()
        rows = self.random.choice([1, 1, 2])
        values = ", ".join(f"({self.values(known)})" for _ in range(rows))
        self.add(
            f"INSERT INTO {known.name} VALUES {values}",
            Kind.INSERT,
            self.writes(known),
            self.inserted(known, rows),
        )

    def _failing_insert(self) -> None:
        known = self.pick(lambda each: each.keyed)
        rows = self.random.choice([0, 1, 1, 2])
        values = ", ".join([*(f"({self.values(known)})" for _ in range(rows)), "(1, 1)"])
        self.add(
            f"INSERT INTO {known.name} VALUES {values}",
            Kind.INSERT,
            self.writes(known),
            self.inserted(known, rows),
            fails=True,
        )

    def _update(self) -> None:
        known = self.pick(lambda each: each.changeable)
        done = (RowsDone(known.table, RowEventKind.UPDATE),)
        text = f"UPDATE {known.name} SET v = v + 1 WHERE id = 1"
        use = (TableUse(known.table, writes=True, reads=True),)
        self.add(text, Kind.UPDATE, use, done)

    def _update_nothing(self) -> None:
        known = self.pick(lambda each: each.changeable)
        use = (TableUse(known.table, writes=True, reads=True),)
        if self.random.random() < 0.5:
            self.add(f"UPDATE {known.name} SET v = 1 WHERE id = -1", Kind.UPDATE, use)
        else:
            self.add(f"DELETE FROM {known.name} WHERE id = -1", Kind.DELETE, use)

    def _limited_update(self) -> None:
        known = self.pick(lambda each: each.changeable)
        done = (RowsDone(known.table, RowEventKind.UPDATE),)
        text = f"UPDATE {known.name} SET v = v + 1 WHERE id = 1 LIMIT 1"
        use = (TableUse(known.table, writes=True, reads=True),)
        self.add(text, Kind.UPDATE, use, done, limit=True)

    def _insert_select(self) -> None:
        into = self.pick()
        source = self.pick(
            lambda each: (each.keyed or each.table.temporary) and each.name != into.name
        )
        found = self.random.random() < 0.8
        where = f"id = {1 if found else -1}"
        ignore = self.random.random() < 0.2
        self.add(
            f"INSERT {'IGNORE ' if ignore else ''}INTO {into.name} "
            f"SELECT {self.values(into)} FROM {source.name} WHERE {where}",
            Kind.INSERT_SELECT,
            (*self.writes(into), TableUse(source.table, reads=True)),
            self.inserted(into) if found else (),
            ignore=ignore,
        )

    def _update_two(self) -> None:
        one = self.pick(lambda each: each.changeable and each.keyed)
        other = self.pick(lambda each: each.changeable and each.keyed and each.name != one.name)
        self.add(
            f"UPDATE {one.name} a STRAIGHT_JOIN {other.name} b SET a.v = a.v + 1, b.v = b.v + 1 "
            "WHERE a.id = 1 AND b.id = 1",
            Kind.UPDATE,
            tuple(TableUse(each.table, writes=True, reads=True) for each in (one, other)),
            tuple(RowsDone(each.table, RowEventKind.UPDATE) for each in (one, other)),
        )

    def _update_or_insert(self) -> None:
        known = self.pick(lambda each: each.name in ("two", "t1", "n1"))
        fresh = self.all.fresh()
        self.add(
            f"INSERT INTO {known.name} VALUES ({fresh}, {fresh}) ON DUPLICATE KEY UPDATE v = v",
            Kind.INSERT,
            self.writes(known),
            self.inserted(known),
            on_duplicate=True,
        )

    def _functions(self) -> None:
        # A function may not write the table of the statement that calls it.
        known = self.pick(lambda each: each.name != "counted" and each.trigger is None)
        call, extra, done, functions = self._called()
        self.add(
            f"INSERT INTO {known.name} VALUES ({self.values(known)} + 0 * {call})",
            Kind.INSERT,
            (*self.writes(known), *extra),
            (*done, *self.inserted(known)),
            functions=functions,
        )

    def _called(
        self,
    ) -> tuple[str, tuple[TableUse, ...], tuple[RowsDone, ...], frozenset[str]]:
        """Return a call, what it uses and changes, and the built-in functions in it."""
        name = self.random.choice(["f_t()", "f_n()", "f_c()", "f_u()", "NOW()", "USER() = ''"])
        writes = {"f_t()": "audit_t", "f_n()": "audit_n", "f_c()": "counted"}
        if name in writes:
            table = self.all.tables[writes[name]].table
            use = TableUse(table, writes=True, in_sub_statement=True)
            done = (RowsDone(table, RowEventKind.WRITE),)
            return name, (use,), done, frozenset()
        functions = {"f_u()": "UUID", "NOW()": "NOW", "USER() = ''": "USER"}
        return f"({name})", (), (), frozenset({functions[name]})

    def _select_function(self) -> None:
        name = self.random.choice(["f_t", "f_n", "f_c"])
        table = self.all.tables[{"f_t": "audit_t", "f_n": "audit_n", "f_c": "counted"}[name]].table
        self.add(
            f"SELECT `{DATABASE}`.`{name}`()",
            Kind.SELECT,
            (TableUse(table, writes=True, in_sub_statement=True),),
            (RowsDone(table, RowEventKind.WRITE),),
        )

    def _call(self) -> None:
        name = self.random.choice(["p_tn", "p_nt"])
        names = ["audit_t", "audit_n"] if name == "p_tn" else ["audit_n", "audit_t"]
        body = []
        for each in names:
            table = self.all.tables[each].table
            facts = StatementFacts(Kind.INSERT, (TableUse(table, writes=True),))
            done = (RowsDone(table, RowEventKind.WRITE),)
            body.append(PlayedStatement(f"INSERT INTO {each} VALUES (3, 1)", facts, done))
        self.add(f"CALL {name}()", Kind.CALL, body=tuple(body))

    def _xa_transaction(self) -> None:
        if self.open:
            return
        name = self.all.name("x")
        logged = f"X'{name.encode().hex()}',X'',1"
        self.add(f"XA START '{name}'", Kind.XA_START, name=name)
        for _ in range(self.random.choice([1, 2])):
            known = self.pick(lambda each: each.name in ("t1", "t2", "n1", "tr_tn", "tr_tt"))
            fresh = self.all.fresh()
            self.add(
                f"INSERT INTO {known.name} VALUES ({fresh}, {fresh})",
                Kind.INSERT,
                self.writes(known),
                self.inserted(known),
            )
        self.add(f"XA END '{name}'", Kind.XA_END)
        way = self.random.choice(["commit", "rollback", "one", "early"])
        if way in ("commit", "rollback"):
            self.add(f"XA PREPARE '{name}'", Kind.XA_PREPARE)
            kind = Kind.XA_COMMIT if way == "commit" else Kind.XA_ROLLBACK
            self.add(f"XA {way.upper()} {logged}", kind)
        elif way == "one":
            self.add(f"XA COMMIT '{name}' ONE PHASE", Kind.XA_COMMIT_ONE_PHASE)
        else:
            self.add(f"XA ROLLBACK '{name}'", Kind.XA_ROLLBACK)

    def begin(self) -> None:
        if not self.open or self.random.random() < 0.2:
            self.add("BEGIN", Kind.BEGIN)
            self.open = True
            self._savepoints.clear()

    def end(self, kind: Kind) -> None:
        self.add(kind.name, kind)
        self.open = False
        self._savepoints.clear()

    def _savepoint(self) -> None:
        if self.open:
            name = self.random.choice("ab")
            if name in self._savepoints:
                self._savepoints.remove(name)
            self._savepoints.append(name)
            self.add(f"SAVEPOINT {name}", Kind.SAVEPOINT, name=name)

    def _rollback_to(self) -> None:
        if self._savepoints:
            name = self.random.choice(self._savepoints)
            del self._savepoints[self._savepoints.index(name) + 1 :]
            self.add(f"ROLLBACK TO SAVEPOINT {name}", Kind.ROLLBACK_TO_SAVEPOINT, name=name)

    def _release(self) -> None:
        if self._savepoints:
            name = self.random.choice(self._savepoints)
            del self._savepoints[self._savepoints.index(name) :]
            self.add(f"RELEASE SAVEPOINT {name}", Kind.RELEASE_SAVEPOINT, name=name)

    def _create_temporary(self) -> None:
        model = self.all.tables[self.random.choice(["t1", "n1"])]
        name = self.all.name("tmp")
        table = replace(model.table, name=name, temporary=True)
        uncertain = self._refused_temporary()
        if not uncertain:
            self._temporary[name] = Known(table, keyed=False)
        columns = "(id INT PRIMARY KEY, v INT)"
        text = f"CREATE TEMPORARY TABLE {name} {columns} ENGINE={table.engine.name}"
        self.add(text, Kind.CREATE_TEMPORARY, (TableUse(table, writes=True),), name=name)
        if uncertain:
            return
        self.add(
            f"INSERT INTO {name} VALUES (1, 1), (2, 2)",
            Kind.INSERT,
            (TableUse(table, writes=True),),
            (RowsDone(table, RowEventKind.WRITE),),
        )

    def _refused_temporary(self) -> bool:
        """Whether the table might not come into being, so that what follows would fail."""
        return self.open and self.session.state.enforce_gtid_consistency

    def _drop_temporary(self) -> None:
        if self._temporary and not self._refused_temporary():
            self._drop(self.random.choice(list(self._temporary)))

    def _drop(self, name: str) -> None:
        del self._temporary[name]
        self.add(f"DROP TEMPORARY TABLE `{name}`", Kind.DROP_TEMPORARY, name=name)

    def _create_select(self) -> None:
        source = self.pick(lambda each: each.keyed)
        state = self.session.state
        weak = state.isolation < Isolation.REPEATABLE_READ
        refused = weak and state.binlog_format is BinlogFormat.STATEMENT
        engine = "n1" if refused else self.random.choice(["t1", "n1"])
        name = self.all.name("made")
        table: Table = replace(self.all.tables[engine].table, name=name, unique_keys=())
        found = self.random.random() < 0.8
        self.add(
            f"CREATE TABLE {name} ENGINE={table.engine.name} "
            f"SELECT id, v FROM {source.name} WHERE id = {1 if found else -1}",
            Kind.CREATE_TABLE_SELECT,
            (TableUse(table, writes=True), TableUse(source.table, reads=True)),
            (RowsDone(table, RowEventKind.WRITE),) if found else (),
            name=name,
        )
        if not state.enforce_gtid_consistency:
            # Else it is not certain that there is a table now.
            self._created.append(name)
        self.open = False
        self._savepoints.clear()

    def _truncate(self) -> None:
        self.add("TRUNCATE audit_t", Kind.TRUNCATE)
        self.committed()

    def committed(self) -> None:
        """Note that a statement has ended the transaction."""
        self.open = False
        self._savepoints.clear()
