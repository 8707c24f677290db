"""What the mirrors of a database must hold, in each mode, as SELECT says it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from deltalake import DeltaTable

from connector.binlog.table_filter import named_after
from connector.lake.demo.stack import read_mirror
from connector.lake.demo.verdict import OWN_PREFIX, compare_all_rows, compare_table
from local_stack import connect
from stream_jobs.apply.modes import MODES
from stream_jobs.apply.modes.mode import CurrentRows, LastChanges
from stream_jobs.paths import path_part
from tests.chaos.ddl.catalogue import catalogue_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from local_stack import Endpoint
    from tests.chaos.ddl.catalogue import Shape

_SEQUENCE: Final = ("_cdc_hi", "_cdc_lo")
_TOLD: Final = 3


def differences_of(
    source: Endpoint, database: str, mode: str, mirrors: Path, *, leaves_out: bool
) -> list[str]:
    """Return how mirrors differ from the tables of a database that does not change.

    Each difference begins with the name of its table. A table without a primary key has a mirror
    only in a mode that refuses a key, and one with a key has none there. Tables with the names of
    tools for online schema changes have none.
    """
    with closing(connect(source, database)) as connection, connection.cursor() as cursor:
        tables = catalogue_of(cursor, database).tables
        ticks = {name: _ticks(cursor, shape) for name, shape in tables.items()}
    found = []
    for name, shape in tables.items():
        if bool(shape.key) == MODES[mode].refuses_key or named_after(name):
            continue
        path = mirrors / path_part(name)
        if not _is_mirror(path):
            if ticks[name]:
                found.append(f"{name}: there is no mirror")
            continue
        if isinstance(MODES[mode].current_rows, LastChanges):
            found += [f"{name}: {each}" for each in _of_journal(path, ticks[name])]
            continue
        found += [
            f"{name}: {each}"
            for each in _of_rows(source, database, mode, path, shape, leaves_out=leaves_out)
        ]
        if mode == "history":
            found += [f"{name}: {each}" for each in _of_versions(path)]
    names = {path_part(name) for name in tables}
    return found + [
        f"{path.name}: the table is gone, and the mirror has {rows} rows"
        for path in (mirrors.iterdir() if mirrors.is_dir() else ())
        if path.name not in names and _is_mirror(path) and (rows := _rows_of_now(path, mode))
    ]


def _is_mirror(path: Path) -> bool:
    return any((path / "_delta_log").glob("*.json"))


def _ticks(cursor: Any, shape: Shape) -> dict[int, int]:
    if not {"id", "tick"} <= set(shape.names):
        return {}
    cursor.execute(f"SELECT id, tick FROM `{shape.name}`")
    return dict(cursor.fetchall())


def _rows_of_now(path: Path, mode: str) -> int:
    if isinstance(MODES[mode].current_rows, LastChanges):
        return len(_folded(path))
    rows: int = read_mirror(path, _condition(mode)).num_rows
    return rows


def _condition(mode: str) -> str:
    """Return the condition of the rows that the source has now."""
    current = MODES[mode].current_rows
    assert isinstance(current, CurrentRows), f"mode {mode} needs a comparison of its own"
    if current.column is None:
        return "true"
    return current.column if current.value else f"NOT {current.column}"


def _of_rows(
    source: Endpoint, database: str, mode: str, path: Path, shape: Shape, *, leaves_out: bool
) -> list[str]:
    if MODES[mode].refuses_key:
        result = compare_all_rows(source, database, shape.name, path)
    else:
        result = compare_table(
            source,
            database,
            shape.name,
            path,
            where=_condition(mode),
            may_have_more=MODES[mode].keeps_columns,
        )
    generated = {column.name for column in shape.columns if column.is_generated}
    problems: list[object] = [
        each
        for each in result.column_problems
        if not (leaves_out and any(f"column {name} " in each for name in generated))
    ]
    problems += [
        each for each in result.differences if not (leaves_out and _is_of(generated, each.problem))
    ]
    if not problems and not MODES[mode].keeps_columns:
        fields = [field.name for field in DeltaTable(path).schema().fields]
        shown = [name for name in fields if not name.startswith(OWN_PREFIX)]
        wanted = [name for name in shape.names if name in shown]
        if shown != wanted:
            problems.append(f"the order of columns is {', '.join(shown)}")
    return [str(each) for each in problems]


def _is_of(columns: set[str], problem: str) -> bool:
    """Return whether a row differs in some of the columns alone."""
    names = problem.removeprefix("differs in ")
    return names != problem and columns.issuperset(names.split(", "))


def _of_journal(path: Path, ticks: dict[int, int]) -> list[str]:
    """Compare the journal, folded to its end, with the source."""
    return _different(ticks, _folded(path))


def _folded(path: Path) -> dict[int, int]:
    """Return the tick of each row that the changes of a journal leave."""
    rows = read_mirror(path).select(["id", "tick", "_cdc_op", *_SEQUENCE]).to_pylist()
    rows.sort(key=lambda row: tuple(row[name] for name in _SEQUENCE))
    left: dict[int, int] = {}
    for row in rows:
        match row["_cdc_op"]:
            case "t":
                left.clear()
            case "d":
                left.pop(row["id"], None)
            case _:
                left[row["id"]] = row["tick"]
    return left


def _different(wanted: dict[int, int], found: dict[int, int]) -> list[str]:
    keys = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
    return [
        f"id {key} has the tick {wanted.get(key)}, and the mirror says {found.get(key)}"
        for key in keys[:_TOLD]
    ]


def _of_versions(path: Path) -> list[str]:
    """Return which versions of one key are at one moment together, or end before they begin."""
    names = ["id", "_cdc_valid_from", "_cdc_valid_to", "_cdc_is_current", *_SEQUENCE]
    rows = read_mirror(path).select(names).to_pylist()
    return list(overlaps(rows))[:_TOLD]


def overlaps(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return what is wrong with the intervals of versions, by their `id`."""
    versions: dict[object, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: tuple(row[name] for name in _SEQUENCE)):
        versions.setdefault(row["id"], []).append(row)
    found = []
    for key, own in versions.items():
        for one, after in zip(own, [*own[1:], None], strict=True):
            began, ended = one["_cdc_valid_from"], one["_cdc_valid_to"]
            if (ended is None) != one["_cdc_is_current"]:
                found.append(f"id {key}: a version ends at {ended}, and is current or not")
            elif ended is not None and ended < began:
                found.append(f"id {key}: a version begins at {began}, and ends at {ended}")
            elif after is not None and (ended is None or after["_cdc_valid_from"] < ended):
                begins = after["_cdc_valid_from"]
                found.append(f"id {key}: a version ends at {ended}, the next begins at {begins}")
    return found
