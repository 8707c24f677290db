"""A cut, the files that hold cuts, and the search for the cut that a reader wants.

    _cdc/cuts/<number>.json          a cut
    _cdc/cut_tables/<name>.json      a base: all tables, for some cuts from a number on

The file of a cut names only the tables that differ from its base, which many cuts share. So a cut
costs little, however many tables the mirror has.

Numbers rise, and a cut is put only if it is absent: if two jobs write the same number, one of
them is told. A base is written before the cuts that need it, and removed after them.
"""

import json
import math
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from connector.binlog.gtid import AnyGtidSet, has_reached, lacks_some, parse_gtid_set
from connector.foundation.errors import ConfigError, DecodeError
from stream_jobs.cuts import cut_errors
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.paths import OWN_FOLDER

# Why a cut leaves out a table without a key, in the modes that need one.
NO_KEY: Final = "it has no primary key, and so no mirror"


class CutTable(NamedTuple):
    """A table at a cut."""

    path: str  # of the Delta table, below the root of the mirror
    version: int
    # The id of the Delta table: one that is made again has another id, and versions of its own.
    generation: str


class CutShards(NamedTuple):
    """The shards of a table that a cut is of; a version has those of other pipelines, too."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """All tables at one moment of the source."""

    # 38 digits. The tables have every change with a lower `cdc.seq`, and no other one.
    seq: str
    flavour: str  # "mysql" or "mariadb"
    gtid: str | None  # every transaction up to here; None if the stream goes by position
    position: str  # FILE:POSITION after the last transaction; "" if the server has not named it
    # When the source committed the latest change that the tables have: milliseconds since 1970.
    source_time_ms: int | None
    written_ms: int  # when the job wrote the cut
    tables: Mapping[str, CutTable]  # by `database.table`
    # Tables that the cut does not have, although they are not skipped by choice: why not.
    left_out: Mapping[str, str]
    number: int = 0  # of its file; rises from cut to cut
    # If pipelines share the mirror: of each table, the shards whose rows are of this moment.
    shards: Mapping[str, CutShards] = field(default_factory=dict)


class CutBase(NamedTuple):
    """The tables that several cuts share."""

    # Begins with the number of the first cut that uses it; no other base ever has this name.
    name: str
    tables: Mapping[str, CutTable]
    shards: Mapping[str, CutShards]

    @classmethod
    def of(cls, cut: Cut) -> "CutBase":
        """Return a new base with the tables of `cut`."""
        name = f"{cut.number:020d}-{uuid.uuid4().hex}"
        return cls(name, dict(cut.tables), dict(cut.shards))

    @property
    def number(self) -> int:
        """The number of the first cut that uses it."""
        return int(self.name.partition("-")[0])

    def write(self) -> bytes:
        """Return the content of the file."""
        content: Mapping[str, object] = self.tables
        if self.shards:
            # The names of tables have a dot.
            content = {"tables": self.tables, "shards": self.shards}
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def read(cls, name: str, content: bytes) -> "CutBase":
        """Read what `write` returned; raises ValueError, KeyError or TypeError for others."""
        document = json.loads(content)
        shards = {
            table: CutShards(column, tuple(values))
            for table, (column, values) in document.get("shards", {}).items()
        }
        return cls(name, _tables(document["tables"] if shards else document), shards)

    def difference(self, cut: Cut) -> dict[str, CutTable] | None:
        """Return the tables of `cut` that differ.

        None if one is gone, or if the shards differ: then it needs a new base.
        """
        if self.tables.keys() - cut.tables.keys() or self.shards != cut.shards:
            return None
        return {name: own for name, own in cut.tables.items() if self.tables.get(name) != own}


def write_cut(cut: Cut, base: CutBase) -> bytes:
    """Return the content of the file of `cut`, whose base is `base`."""
    content = {
        "seq": cut.seq,
        "flavour": cut.flavour,
        "gtid": cut.gtid,
        "position": cut.position,
        "source_time_ms": cut.source_time_ms,
        "written_ms": cut.written_ms,
        "base": base.name,
        "tables": base.difference(cut),
        "left_out": dict(cut.left_out),
    }
    return json.dumps(content, separators=(",", ":")).encode()


def read_cut(number: int, content: bytes) -> tuple[Cut, str]:
    """Return a cut with the tables that differ from its base, and the name of the base.

    Raises ValueError, KeyError or TypeError for what `write_cut` did not return.
    """
    document: dict[str, Any] = json.loads(content)
    cut = Cut(
        document["seq"],
        document["flavour"],
        document["gtid"],
        document["position"],
        document["source_time_ms"],
        document["written_ms"],
        _tables(document["tables"]),
        document["left_out"],
        number,
    )
    return cut, str(document["base"])


def _tables(tables: dict[str, list[Any]]) -> dict[str, CutTable]:
    return {name: CutTable(path, version, own) for name, (path, version, own) in tables.items()}


FOLDER: Final = f"{OWN_FOLDER}/cuts"
_BASES: Final = f"{OWN_FOLDER}/cut_tables"
# So many cuts share a base.
_CUTS_OF_A_BASE: Final = 100


class CutStore:
    """The cuts of one mirror."""

    def __init__(self, storage: Storage, root: str = "") -> None:
        """Look in `storage`, whose root is `root` in errors."""
        self._storage = storage
        self._root = root.rstrip("/")
        # The base that was read or written last.
        self._base: CutBase | None = None

    def written(self, first: int = 0) -> dict[int, int]:
        """Return the numbers of all cuts from `first` on, in order, and when they were written."""
        before = f"{first - 1:020d}.json" if first else ""
        document = {
            file.name.removesuffix(".json"): file.modified
            for file in self._storage.list(FOLDER, before)
            if file.name.endswith(".json")
        }
        return {int(name): modified for name, modified in document.items() if name.isdecimal()}

    def numbers(self) -> list[int]:
        """Return the numbers of all cuts, in order."""
        return list(self.written())

    def read(self, number: int) -> Cut | None:
        """Return a cut; None if it does not exist, or not any more.

        Raises MirrorError for a file that is not a cut.
        """
        cut_and_base = self._read(number)
        if cut_and_base is None:
            return None
        cut, name = cut_and_base
        base = self._read_base(name)
        if base is None:
            return None
        return replace(cut, tables={**base.tables, **cut.tables}, shards=base.shards)

    def read_all(self) -> Iterator[Cut]:
        """Yield all cuts, the oldest first."""
        for number in self.numbers():
            # The job may remove old ones meanwhile.
            if (cut := self.read(number)) is not None:
                yield cut

    def latest(self, known: int = 0) -> Cut | None:
        """Return the newest cut; None without one.

        Cuts below the number `known` are not listed while there is a newer one, or itself.
        """
        numbers = self.written(known)
        if known and not numbers:
            # The mirror was made again.
            numbers = self.written()
        for number in reversed(numbers):
            if (cut := self.read(number)) is not None:
                return cut
        return None

    def put(self, cut: Cut) -> bool:
        """Write a cut; return False if there is one of its number."""
        base = self._base
        if (
            base is None
            or not 0 <= cut.number - base.number < _CUTS_OF_A_BASE
            or base.difference(cut) is None
        ):
            base = self._base = CutBase.of(cut)
            self._storage.write(f"{_BASES}/{base.name}.json", base.write())
        return self._storage.put_if_absent(_path(cut.number), write_cut(cut, base))

    def remove(self, number: int) -> None:
        """Remove a cut."""
        self._storage.delete(_path(number))

    def remove_bases(self, oldest: int) -> None:
        """Remove the bases that no cut from `oldest` on needs."""
        base = self._read(oldest)
        names = [file.name.removesuffix(".json") for file in self._storage.list(_BASES)]
        for name in names:
            if base is not None and name < base[1]:
                self._storage.delete(f"{_BASES}/{name}.json")

    def _read(self, number: int) -> tuple[Cut, str] | None:
        """Return a cut without the tables of its base, and the name of the base."""
        path = _path(number)
        content = self._storage.read(path)
        if content is None:
            return None
        try:
            return read_cut(number, content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._wrong(path) from error

    def _read_base(self, name: str) -> CutBase | None:
        if self._base is None or self._base.name != name:
            path = f"{_BASES}/{name}.json"
            content = self._storage.read(path)
            if content is None:
                return None
            try:
                self._base = CutBase.read(name, content)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise self._wrong(path) from error
        return self._base

    def _wrong(self, path: str) -> MirrorError:
        return MirrorError(job_errors.OWN_FILE, path=f"{self._root}/{path}")


def _path(number: int) -> str:
    return f"{FOLDER}/{number:020d}.json"


def read_cuts(storage: Storage, root: str = "") -> list[Cut]:
    """Return every cut of the mirror in `storage`, the oldest first; errors name its `root`.

    Raises MirrorError if the storage fails, or for a file that is not a cut.
    """
    return list(CutStore(storage, root).read_all())


def latest_cut(storage: Storage, root: str = "") -> Cut | None:
    """Return the newest cut; None without one. Raises MirrorError as `read_cuts`."""
    return CutStore(storage, root).latest()


def cut_at(
    storage: Storage,
    *,
    gtid: str | None = None,
    time: datetime | None = None,
    root: str = "",
    among: Collection[int] | None = None,
) -> Cut | None:
    """Return the first cut that has all transactions of `gtid`, or the last one up to `time`.

    `gtid` is a GTID or a set of them. `time` is compared with the time of the last commit at the
    source; without a zone, it is UTC. Without both, the newest cut. Only the cuts with the numbers
    `among` count, if they are given. None if no cut fits.

    Raises ConfigError for a text that is not a GTID set, and MirrorError as `read_cuts`.
    """
    store = CutStore(storage, root)
    numbers = sorted(store.numbers() if among is None else among, reverse=True)
    if gtid is not None:
        return _first_with(store, gtid, numbers)
    at = None if time is None else time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    wanted_ms = math.inf if at is None else at.timestamp() * 1000
    for number in numbers:
        cut = store.read(number)
        if cut is not None and at is None:
            return cut
        if cut is not None and cut.source_time_ms is not None and cut.source_time_ms <= wanted_ms:
            return cut
    return None


def _first_with(store: CutStore, gtid: str, numbers: Iterable[int]) -> Cut | None:
    """Return the first cut with all of `gtid`: each cut has what the ones before it have.

    `numbers` begin with the newest cut. A cut whose last GTIDs are of another server of MariaDB
    does not tell; an earlier one may.
    """
    earliest = None
    for number in numbers:
        cut = store.read(number)
        if cut is None or cut.gtid is None:
            break
        known, wanted = parse_gtid_set(cut.gtid, cut.flavour), _wanted(gtid, cut.flavour)
        if lacks_some(known, wanted):
            break
        if has_reached(known, wanted):
            earliest = cut
    return earliest


def _wanted(gtid: str, flavour: str) -> AnyGtidSet:
    try:
        return parse_gtid_set(gtid, flavour)
    except DecodeError as error:
        raise ConfigError(cut_errors.NOT_A_GTID, text=gtid) from error
