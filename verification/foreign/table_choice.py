"""What a user names: tables of the source, their targets, and choices for columns."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field, ValidationError

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError
from connector.foundation.errors.secrets_in_urls import url_without_secrets
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import LogSettings, Section, VerifySettings
from connector.stream.snapshot.copy_requests import names_ignore_case
from connector.stream.snapshot.table_plan import followed_tables
from connector.stream.source.select_session import SelectSession
from verification.foreign import foreign_errors
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.file_target import ParquetTarget
from verification.foreign.iceberg_target import CatalogTarget, IcebergTarget
from verification.foreign.server_target import ServerTarget, split_place
from verification.foreign.target import Target, VersionedTarget
from verification.foreign.tolerance import Tolerance


def _postgresql(name: str, place: str) -> Target:
    try:
        from verification.foreign import postgresql_target  # noqa: PLC0415  # of an extra
    except ModuleNotFoundError as error:
        raise ConfigError(settings_errors.POSTGRESQL_EXTRA, said=error) from error
    return postgresql_target.opened(name, place)


def _clickhouse(name: str, place: str) -> Target:
    try:
        from verification.foreign import clickhouse_target  # noqa: PLC0415  # of an extra
    except ModuleNotFoundError as error:
        raise ConfigError(settings_errors.CLICKHOUSE_EXTRA, said=error) from error
    return clickhouse_target.opened(name, place)


_KINDS: Final[Mapping[str, Callable[[str, str], Target]]] = {
    "delta": DeltaTarget,
    "parquet": ParquetTarget,
    "iceberg": IcebergTarget,
    "iceberg-rest": CatalogTarget,
    "mysql": ServerTarget,
    "mariadb": ServerTarget,
    "postgresql": _postgresql,
    "clickhouse": _clickhouse,
}
_OF_FILES_KINDS: Final = frozenset({"delta", "parquet", "iceberg", "iceberg-rest"})
# Those whose states can be read again later, as long as their files are kept.
VERSIONED: Final[Mapping[str, Callable[[str, str], VersionedTarget]]] = {
    "delta": DeltaTarget,
    "iceberg": IcebergTarget,
}
_ANY: Final = frozenset("*?[")
# Paths have no options: a certificate names all of a path.
_OF_FILES: Final = re.compile(r"(?:^|=)(?:delta|parquet|iceberg):")
_SHOWN_OPTIONS: Final = frozenset({"table", "warehouse"})


class ColumnChoice(Section):
    """What a user chooses for one column of the source."""

    name: str | None = None  # in the target
    form: str | None = None  # as the report names it
    # After the point of a number, or of a second: the others do not count.
    digits: int | None = Field(default=None, ge=0, le=30)
    # By how much a number, or a time, may differ.
    tolerance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    skip: bool = False  # it is not compared

    @property
    def distance(self) -> Tolerance | None:
        """The tolerance that was asked for; that in seconds, if there are both."""
        if self.seconds is not None:
            return Tolerance(self.seconds, is_seconds=True)
        return None if self.tolerance is None else Tolerance(self.tolerance)


class _TableSection(Section):
    table: str
    target: str
    columns: dict[str, ColumnChoice] = Field(default_factory=dict)


class _TablesFile(Section):
    tables: list[_TableSection] = Field(min_length=1)
    verify: VerifySettings = Field(default_factory=VerifySettings)
    log: LogSettings = Field(default_factory=LogSettings)


@dataclass(frozen=True, slots=True)
class TableChoice:
    """One table that is compared, or a pattern of such tables."""

    database: str
    table: str
    target: str  # KIND:PLACE
    columns: Mapping[str, ColumnChoice] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    @property
    def title(self) -> str:
        """The table and its target, for people."""
        return f"{self.name} = {self.shown_target}"

    @property
    def is_of_server(self) -> bool:
        """Whether reading the target takes a connection with a server of databases."""
        return self.kind not in _OF_FILES_KINDS

    @property
    def is_pattern(self) -> bool:
        """Whether it names tables by a pattern."""
        return not _ANY.isdisjoint(self.name)

    @property
    def kind(self) -> str:
        """What the target is, such as `delta`."""
        return self.target.partition(":")[0]

    @property
    def shown_target(self) -> str:
        """The target without a password, and without values of options that may be secret."""
        return _shown(self.target)

    def opened(self) -> Target:
        """Return the target. Raises ConfigError for a place that cannot be one."""
        kind, _, place = self.target.partition(":")
        return _KINDS[kind](self.shown_target, place)


class TablesFile(NamedTuple):
    """The file of --tables; `verify` and `log` are of --forever."""

    tables: Sequence[TableChoice] = ()
    verify: VerifySettings = VerifySettings()
    log: LogSettings = LogSettings()


def read_choice(text: str) -> TableChoice:
    """Read `shop.orders=delta:/lake/orders`; raises ConfigError for another form."""
    name, equals, target = text.partition("=")
    if not equals:
        raise _wrong(text, "there is no `=`")
    return _choice(text, name, target)


def read_tables_file(path: Path) -> TablesFile:
    """Read the file of --tables. Raises ConfigError for one that cannot be used."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        file = _TablesFile.model_validate(document)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(foreign_errors.TABLES_FILE, path=path, why=str(error)) from error
    except ValidationError as error:
        why = "; ".join(
            f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
            for found in error.errors(include_input=False)
        )
        raise ConfigError(foreign_errors.TABLES_FILE, path=path, why=why) from error
    if file.verify.repair:
        why = "verify.repair: nothing repairs tables of other programs"
        raise ConfigError(foreign_errors.TABLES_FILE, path=path, why=why)
    tables = [
        replace(_choice(f"{own.table}={own.target}", own.table, own.target), columns=own.columns)
        for own in file.tables
    ]
    return TablesFile(tables, file.verify, file.log)


def matching(session: SelectSession, choices: Sequence[TableChoice]) -> Iterator[TableChoice]:
    """Yield choices for single tables: a pattern becomes the tables that match it.

    `{database}` and `{table}` in a target become their names. A table may be named with several
    targets; a pattern adds no target to a table that a choice before it names. Raises ConfigError
    for a pattern without a table, and the errors of the session.
    """
    ignores_case = names_ignore_case(session)
    stored = _stored_names(session) if ignores_case else {}
    known: set[tuple[str, str]] = set()
    known_targets: set[tuple[str, str, str]] = set()
    for choice in choices:
        typed = choice.database, choice.table
        names = [stored.get((typed[0].lower(), typed[1].lower()), typed)]
        if choice.is_pattern:
            wanted = TableFilter([choice.name], ignores_case=ignores_case)
            names = followed_tables(session, wanted)
            if not names:
                text, why = f"{choice.name}={choice.target}", "the source has no such table"
                raise _wrong(text, why)
        for database, table in names:
            target = choice.target.replace("{database}", database).replace("{table}", table)
            named = (database, table, target)
            if named in known_targets or (choice.is_pattern and (database, table) in known):
                continue
            known.add((database, table))
            known_targets.add(named)
            yield replace(choice, database=database, table=table, target=target)


def require_one_target(choices: Sequence[TableChoice]) -> None:
    """Raise ConfigError for a table with several targets, whose figures would have one name."""
    known = set()
    for choice in choices:
        if choice.name in known:
            text, why = f"{choice.name}={choice.target}", "with --forever, a table has one target"
            raise _wrong(text, why)
        known.add(choice.name)


def _stored_names(session: SelectSession) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the names of all tables, as the log has them, by their names in lower case."""
    every = followed_tables(session, TableFilter(["*.*"], ignores_case=True))
    return {(database.lower(), table.lower()): (database, table) for database, table in every}


def _choice(text: str, name: str, target: str) -> TableChoice:
    database, point, table = name.partition(".")
    kind, colon, place = target.partition(":")
    if not point or not database or not table:
        raise _wrong(text, f"{name} is no DATABASE.TABLE")
    if not colon or not place:
        raise _wrong(text, f"{target} is no KIND:PLACE")
    if kind not in _KINDS:
        raise _wrong(text, f"{kind} is no kind of a target")
    if _KINDS[kind] is ServerTarget:
        split_place(place, _shown(target))
    return TableChoice(database, table, target)


def _shown(text: str) -> str:
    """Return a text with a URL, without its password and the values of its options."""
    kind, slashes, url = url_without_secrets(text).partition("://")
    if not slashes and not _OF_FILES.search(kind):
        # The slashes may have been forgotten, not the password.
        head, at, place = text.rpartition("@")
        return f"{head.partition(':')[0]}:{place}" if at else text
    place, mark, query = url.partition("?")
    if not mark or _OF_FILES.search(kind):
        return f"{kind}{slashes}{url}"
    options = [option.partition("=") for option in query.split("&")]
    names = "&".join(
        f"{name}{equals}{value}" if name in _SHOWN_OPTIONS else name
        for name, equals, value in options
    )
    return f"{kind}{slashes}{place}{mark}{names}"


def _wrong(text: str, why: str) -> ConfigError:
    facts = {"text": _shown(text), "why": _shown(why)}
    return ConfigError(foreign_errors.TARGET_FORM, kinds=list(_KINDS), **facts)
