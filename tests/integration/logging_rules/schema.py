"""The tables, functions and procedures that random sessions use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from connector.rules.server import engine_of
from connector.rules.statement_facts import Table, TableColumn, UniqueKey

if TYPE_CHECKING:
    from connector.foundation.server_version import ServerVersion

DATABASE = "rules"

_ID_V = (TableColumn("id", nullable=False), TableColumn("v"))
_PRIMARY = (UniqueKey("PRIMARY", ("id",)),)
_SEED = "(1, 1), (2, 2)"
# Views by their table, and joins by their two tables: id, av and bid, bv.
VIEWS = {"v_t1": "t1", "v_n1": "n1", "v_tr": "tr_tn", "v_of_view": "t1"}
JOIN_VIEWS = {
    "j_tt": ("t1", "t2"),
    "j_tn": ("t1", "n1"),
    "j_nt": ("n1", "t2"),
    "j_tr": ("t1", "tr_tn"),
}
_AUDIT_T, _AUDIT_N = "INSERT INTO audit_t VALUES (3, 1);", "INSERT INTO audit_n VALUES (3, 1);"
_BRANCHES = (
    "IF n > 1 THEN INSERT INTO audit_t VALUES (n, 1); "
    "ELSE INSERT INTO audit_n VALUES (n, 1); END IF;"
)
_CURSOR = (
    "DECLARE done, x INT DEFAULT 0; DECLARE c CURSOR FOR SELECT id FROM t1 WHERE id < 3 "
    "ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; "
    "r: LOOP FETCH c INTO x; IF done THEN LEAVE r; END IF; "
    "INSERT INTO audit_n VALUES (x, 1); END LOOP; CLOSE c;"
)


@dataclass(frozen=True)
class Known:
    """A table with what a generator may do to it."""

    table: Table
    keyed: bool = True  # rows can be found, and a second row with the same id is refused
    changeable: bool = True  # UPDATE works
    trigger: Table | None = None  # written by a trigger for each inserted row

    @property
    def name(self) -> str:
        return self.table.name


def known_tables(server: ServerVersion) -> dict[str, Known]:
    """Return the tables by name."""

    def table(name: str, engine: str) -> Table:
        found = engine_of(engine, server)
        assert found is not None
        return Table(name, found, _ID_V, _PRIMARY)

    audit_t, audit_n = table("audit_t", "InnoDB"), table("audit_n", "MyISAM")
    counted = (TableColumn("id", nullable=False, auto_increment=True), TableColumn("v"))
    two_keys = (*_PRIMARY, UniqueKey("v", ("v",)))
    found = [
        Known(table("t1", "InnoDB")),
        Known(table("t2", "InnoDB")),
        Known(table("n1", "MyISAM")),
        Known(table("mem", "MEMORY")),
        Known(replace(table("csv", "CSV"), unique_keys=()), keyed=False),
        Known(replace(table("counted", "InnoDB"), columns=counted)),
        Known(replace(table("two", "InnoDB"), unique_keys=two_keys), changeable=False),
        Known(table("tr_tn", "InnoDB"), trigger=audit_n),
        Known(table("tr_nt", "MyISAM"), trigger=audit_t),
        Known(table("tr_tt", "InnoDB"), trigger=audit_t),
    ]
    if not server.is_mariadb:
        # Debian's MariaDB has neither of these two.
        archive = replace(table("arch", "ARCHIVE"), unique_keys=())
        found.append(Known(archive, keyed=False, changeable=False))
        hole = replace(table("hole", "BLACKHOLE"), unique_keys=())
        found.append(Known(hole, keyed=False, changeable=False))
    return {each.name: each for each in found} | {
        each.name: Known(each, keyed=False, changeable=False) for each in (audit_t, audit_n)
    }


def creation(server: ServerVersion) -> list[str]:
    """Return the statements that create everything in an empty database."""
    statements = []
    for known in known_tables(server).values():
        table = known.table
        counter = " AUTO_INCREMENT" if table.auto_increment else ""
        key = ", PRIMARY KEY (id)" if table.unique_keys else ""
        if table.name.startswith("audit"):
            key, counter = ", KEY (id)", ""
        if len(table.unique_keys) > 1:
            key += ", UNIQUE KEY v (v)"
        statements.append(
            f"CREATE TABLE {table.name} (id INT NOT NULL{counter}, v INT NOT NULL DEFAULT 7{key}) "
            f"ENGINE={table.engine.name}"
        )
        statements.append(f"INSERT INTO {table.name} VALUES {_SEED}")
        if known.trigger is not None:
            statements.append(
                f"CREATE TRIGGER on_{table.name} AFTER INSERT ON {table.name} FOR EACH ROW "
                f"INSERT INTO {known.trigger.name} VALUES (NEW.id, 1)"
            )
    statements += [
        f"CREATE VIEW {view} AS SELECT * FROM {'v_t1' if view == 'v_of_view' else table}"
        for view, table in VIEWS.items()
    ]
    statements += [
        f"CREATE VIEW {view} AS SELECT a.id AS id, a.v AS av, b.id AS bid, b.v AS bv "
        f"FROM {one} a JOIN {other} b ON a.id = b.id"
        for view, (one, other) in JOIN_VIEWS.items()
    ]
    routines = {
        "FUNCTION f_t() RETURNS INT": "INSERT INTO audit_t VALUES (0, 1); RETURN 1;",
        "FUNCTION f_n() RETURNS INT": "INSERT INTO audit_n VALUES (0, 1); RETURN 1;",
        "FUNCTION f_c() RETURNS INT": "INSERT INTO counted (v) VALUES (1); RETURN 1;",
        "FUNCTION f_u() RETURNS INT": "RETURN LENGTH(UUID());",
        "PROCEDURE p_tn()": f"{_AUDIT_T} {_AUDIT_N}",
        "PROCEDURE p_nt()": f"{_AUDIT_N} {_AUDIT_T}",
        "FUNCTION f_if(n INT) RETURNS INT": f"{_BRANCHES} RETURN 1;",
        "FUNCTION f_limit() RETURNS INT": (
            "DECLARE x INT; SELECT v INTO x FROM t1 WHERE id < 3 LIMIT 1; RETURN x;"
        ),
        "PROCEDURE p_loop(n INT)": (
            "WHILE n > 0 DO INSERT INTO audit_t VALUES (n, 1); SET n = n - 1; END WHILE;"
        ),
        "PROCEDURE p_if(n INT)": _BRANCHES,
        "PROCEDURE p_case(n INT)": (
            "CASE n WHEN 1 THEN UPDATE t1 SET v = v + 1 WHERE id = 1 LIMIT 1; "
            f"ELSE INSERT INTO audit_n VALUES (n, 1); END CASE; {_AUDIT_T}"
        ),
        "PROCEDURE p_cursor()": _CURSOR,
        "PROCEDURE p_transaction()": (
            "START TRANSACTION; INSERT INTO audit_t VALUES (6, 1); "
            "INSERT INTO audit_n VALUES (6, 1); COMMIT;"
        ),
    }
    for name in ("t1", "n1"):
        routines[f"PROCEDURE p_handler_{name}()"] = (
            "DECLARE CONTINUE HANDLER FOR 1062 INSERT INTO audit_n VALUES (4, 1); "
            f"INSERT INTO {name} VALUES (1, 1); INSERT INTO audit_t VALUES (5, 1);"
        )
    return [*statements, *(f"CREATE {head} BEGIN {body} END" for head, body in routines.items())]
