"""Steps of random sessions: LOAD DATA, changes through views, and DEFAULT of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.rules.row_images import RowEventKind
from connector.rules.statement_facts import Kind, TableUse
from tests.integration.logging_rules.schema import JOIN_VIEWS, VIEWS
from tests.rules.binlog_caches import RowsDone

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.logging_rules.random_sessions import Maker


class TableSteps:
    """Adds statements to the session of a maker."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self.steps: list[tuple[int, Callable[[], None]]] = [
            (3, self._load),
            (1, self._failing_load),
            (2, self._insert_into_view),
            (2, self._update_view),
            (3, self._update_join),
            (1, self._insert_into_join),
            (2, self._default),
            (2, self._change_temporary),
        ]

    def _file(self, lines: list[str]) -> str:
        path = self._maker.all.folder / self._maker.all.name("rows")
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def _line(self, *, counted: bool) -> str:
        fresh = str(self._maker.all.fresh())
        return "\t".join([r"\N" if counted else fresh, fresh])

    def _load(self) -> None:
        maker = self._maker
        known = maker.pick()
        rows = maker.random.choice([1, 2])
        counted = known.table.auto_increment is not None
        file = self._file([self._line(counted=counted) for _ in range(rows)])
        maker.add(
            f"LOAD DATA INFILE '{file}' INTO TABLE {known.name}",
            Kind.LOAD_DATA,
            maker.writes(known),
            maker.inserted(known, rows),
        )

    def _failing_load(self) -> None:
        maker = self._maker
        known = maker.pick(lambda each: each.keyed)
        rows = maker.random.choice([0, 1])
        counted = known.table.auto_increment is not None
        lines = [*(self._line(counted=counted) for _ in range(rows)), "1\t1"]
        maker.add(
            f"LOAD DATA INFILE '{self._file(lines)}' INTO TABLE {known.name}",
            Kind.LOAD_DATA,
            maker.writes(known),
            maker.inserted(known, rows),
            fails=True,
        )

    def _insert_into_view(self) -> None:
        maker = self._maker
        view = maker.random.choice(list(VIEWS))
        known = maker.all.tables[VIEWS[view]]
        maker.add(
            f"INSERT INTO {view} VALUES ({maker.values(known)})",
            Kind.INSERT,
            maker.writes(known),
            maker.inserted(known),
        )

    def _update_view(self) -> None:
        maker = self._maker
        view = maker.random.choice(list(VIEWS))
        table = maker.all.tables[VIEWS[view]].table
        maker.add(
            f"UPDATE {view} SET v = v + 1 WHERE id = 1",
            Kind.UPDATE,
            (TableUse(table, writes=True, reads=True),),
            (RowsDone(table, RowEventKind.UPDATE),),
        )

    def _update_join(self) -> None:
        maker = self._maker
        view = maker.random.choice(list(JOIN_VIEWS))
        tables = [maker.all.tables[name].table for name in JOIN_VIEWS[view]]
        chosen = maker.random.randrange(2)
        maker.add(
            f"UPDATE {view} SET {'ab'[chosen]}v = {'ab'[chosen]}v + 1 WHERE id = 1",
            Kind.UPDATE,
            tuple(
                TableUse(each, writes=number == chosen, reads=True)
                for number, each in enumerate(tables)
            ),
            (RowsDone(tables[chosen], RowEventKind.UPDATE),),
        )

    def _insert_into_join(self) -> None:
        maker = self._maker
        view = maker.random.choice(list(JOIN_VIEWS))
        known, other = (maker.all.tables[name] for name in JOIN_VIEWS[view])
        # Servers lock both tables as if they wrote them, with their triggers.
        fresh = maker.all.fresh()
        maker.add(
            f"INSERT INTO {view} (id, av) VALUES ({fresh}, {fresh})",
            Kind.INSERT,
            (*maker.writes(known), *maker.writes(other)),
            maker.inserted(known),
        )

    def _default(self) -> None:
        maker = self._maker
        known = maker.pick(lambda each: each.changeable and not each.table.temporary)
        maker.add(
            f"UPDATE {known.name} SET v = v + DEFAULT(v) WHERE id = 1",
            Kind.UPDATE,
            (TableUse(known.table, writes=True, reads=True),),
            (RowsDone(known.table, RowEventKind.UPDATE),),
            functions=frozenset({"DEFAULT"}),
        )

    def _change_temporary(self) -> None:
        maker = self._maker
        # There may be no temporary table.
        known = maker.pick(lambda each: each.table.temporary or each.name == "t1")
        if not known.table.temporary:
            return
        index = maker.all.name("i")
        ways = [
            [f"ALTER TABLE {known.name} COMMENT = '{index}'"],
            [
                f"CREATE INDEX {index} ON {known.name} (v)",
                f"DROP INDEX {index} ON {known.name}",
            ],
        ]
        use = (TableUse(known.table, writes=True),)
        if maker.random.random() < 0.2:
            maker.add(f"TRUNCATE {known.name}", Kind.TRUNCATE, use)
        else:
            for text in maker.random.choice(ways):
                maker.add(text, Kind.DDL, use)
        maker.committed()
