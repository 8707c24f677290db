"""Keeps the tables of a REST catalog equal to the Iceberg tables that are found by their paths.

    publisher.publish({"shop/orders": ("shop", "orders")}, pool)

Each time, a table is loaded, and what it lacks is committed. So there is one way for all: an answer
that was lost, a catalog that was away, and a process that died between two tables of a cut.

*Cuts.* Where the catalog can commit several tables in one request, the tables of a cut are; if it
refuses, they are committed one by one, and so the others do not wait for the one that is refused.

*Files.* What the catalog has last is kept: `kept` names its snapshot and its time, for the upkeep
of both formats. Tables that lag stand in a file, for a process that starts while the catalog is
away:

    _cdc/iceberg/catalog.json    by path: the snapshot that the catalog has, and its time
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import orjson

from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.iceberg import catalog_changes, catalog_errors, rest_catalog
from stream_jobs.iceberg.catalog_changes import Relation
from stream_jobs.iceberg.metadata import TableMetadata, current_id
from stream_jobs.iceberg.table_files import TableFiles
from stream_jobs.paths import OWN_FOLDER

_RECORD: Final = f"{OWN_FOLDER}/iceberg/catalog.json"
_DATABASE: Final = "{database}"
# So many namespaces are tried until the catalog takes a table in one.
_TRIALS_MAX: Final = 16
# What an answer raises that is none of a catalog.
_UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)


class Kept(NamedTuple):
    """The last state that the catalog's readers see."""

    snapshot: int | None
    at: int  # milliseconds since 1970


class _Pending(NamedTuple):
    """A change that is to be committed."""

    name: rest_catalog.CatalogName
    change: rest_catalog.Change
    after: Kept


class CatalogPublisher:
    """The tables of one mirror in one catalog. One thread at a time may call `publish`."""

    def __init__(
        self,
        catalog: rest_catalog.RestCatalog,
        files: TableFiles,
        namespace: str,
        *,
        replaces_foreign: bool,
    ) -> None:
        """Publish tables of `files` in `namespace`, a pattern.

        If `replaces_foreign`, a table to which another program has committed is dropped and made
        again. Raises MirrorError if the file of an earlier process cannot be read.
        """
        self._catalog = catalog
        self._files = files
        self._namespace = tuple(namespace.split("."))
        self._replaces_foreign = replaces_foreign
        self._written = _read(files.storage, files.uri)
        self._lagging, self._kept = dict(self._written), dict(self._written)
        # Why nothing more is asked in this turn.
        self._away: rest_catalog.CatalogAway | None = None

    def verify(self, databases: Collection[str] = ()) -> None:
        """Try what tables of `databases` need; raises MirrorError if the catalog refuses it.

        One that is away is no error, nor is one that takes some of the tables.
        """
        namespaces = {self._name(database, "").namespace for database in databases}
        if not any(_DATABASE in level for level in self._namespace):
            namespaces.add(self._namespace)
        try:
            refusal = self._refusal(sorted(namespaces)[:_TRIALS_MAX])
        except rest_catalog.CatalogAway:
            return
        if refusal is not None:
            why = refusal.message
            number = why.shown_code.code
            raise MirrorError(catalog_errors.UNUSABLE, refusal=number, why=why) from refusal

    def _refusal(self, namespaces: Collection[tuple[str, ...]]) -> MirrorError | None:
        """Return why the catalog takes no table at all; None if it takes one in a namespace."""
        refusals = [_refusal_of(self._catalog.verify)]
        for levels in namespaces if refusals == [None] else ():
            refusals.append(_refusal_of(partial(self._catalog.verify_namespace, levels)))
            if refusals[-1] is None:
                return None
        return next((refusal for refusal in refusals if refusal is not None), None)

    def kept(self, path: str) -> Kept | None:
        """Return what readers of the catalog see of a table; None if that is nothing."""
        return self._kept.get(path)

    def expect(self, path: str) -> Kept | None:
        """Return the same as `kept`, before the table of `path` is published by its path.

        What is there is what readers of the catalog have, unless it is known better. Raises
        MirrorError if the storage fails.
        """
        if path not in self._kept:
            head = self._files.load(path)
            if head is not None:
                self._kept[path] = _kept(head.metadata)
        return self._kept.get(path)

    def publish(
        self, tables: Mapping[str, tuple[str, str]], pool: ThreadPoolExecutor
    ) -> dict[str, MirrorError | None]:
        """Publish tables, by path with the names of their mirrors; return what failed.

        If the catalog is away, all that is left fails after one attempt.
        """
        self._away = None
        names = {path: self._name(*own) for path, own in tables.items()}
        results = self._each(pool, names, lambda path: self._look(path, names[path]))
        found = {path: own for path, own in results.items() if isinstance(own, _Pending)}
        if self._catalog.is_joint and len(found) > 1:
            try:
                self._catalog.commit([own.change for own in found.values()])
            except MirrorError:
                # Whether nothing is done, or nobody knows: looking once more finds out.
                results |= self._each(pool, found, lambda path: self._again(path, names[path]))
            else:
                self._kept.update({path: own.after for path, own in found.items()})
        else:
            results |= self._each(pool, found, lambda path: self._commit(path, found[path]))
        problems = {p: own if isinstance(own, MirrorError) else None for p, own in results.items()}
        self._note(problems)
        return problems

    def _each(
        self,
        pool: ThreadPoolExecutor,
        paths: Collection[str],
        work: Callable[[str], _Pending | None],
    ) -> dict[str, _Pending | MirrorError | None]:
        """Return what `work` returns for each path, or its error."""

        def attempt(path: str) -> _Pending | MirrorError | None:
            if self._away is not None:
                return self._away
            try:
                return work(path)
            except rest_catalog.CatalogAway as error:
                self._away = error
                return error
            except MirrorError as error:
                return error
            except _UNREADABLE:
                return MirrorError(
                    catalog_errors.NO_DOCUMENT, catalog=self._catalog.url, doing=f"a look at {path}"
                )

        return dict(zip(paths, pool.map(attempt, paths), strict=True))

    def _name(self, database: str, table: str) -> rest_catalog.CatalogName:
        levels = tuple(level.replace(_DATABASE, database) for level in self._namespace)
        return rest_catalog.CatalogName(levels, table)

    def _look(self, path: str, name: rest_catalog.CatalogName) -> _Pending | None:
        """Compare a table with the catalog's, and make it if there is none."""
        head = self._files.load(path)
        if head is None:
            return None
        ours, theirs = head.metadata, self._catalog.load(name)
        if theirs is not None:
            own = catalog_changes.relation(theirs, ours)
            if own in (Relation.EARLIER, Relation.GONE_BACK):
                if (kept := _kept_by(theirs)) is not None:
                    self._kept[path] = kept
                self._refuse_foreign(name, own, theirs)
                change = catalog_changes.change(name, theirs, ours)
                if change is not None:
                    return _Pending(name, change, _kept(ours))
                self._kept[path] = _kept(ours)
                return None
            if own is Relation.FOREIGN:
                self._kept.pop(path, None)
            self._refuse_foreign(name, own, theirs)
            self._catalog.drop(name)
        # Nobody reads it there, so nothing needs to be kept until it is made.
        self._kept.pop(path, None)
        self._make(name, ours)
        self._kept[path] = _kept(ours)
        return None

    def _refuse_foreign(
        self, name: rest_catalog.CatalogName, own: Relation, theirs: TableMetadata
    ) -> None:
        """Raise MirrorError if the catalog's table is not to be replaced."""
        url = self._catalog.url
        if own is Relation.FOREIGN:
            other = f"one at {theirs.get('location')}"
            raise MirrorError(catalog_errors.TAKEN, table=str(name), catalog=url, other=other)
        if self._replaces_foreign:
            return
        if own is Relation.GONE_BACK:
            raise MirrorError(
                catalog_errors.GONE_BACK,
                table=str(name),
                catalog=url,
                newest=catalog_changes.newest_of(theirs),
                snapshot=catalog_changes.head_of(theirs),
            )
        entry = catalog_changes.foreign_snapshot(theirs)
        if entry is not None:
            raise MirrorError(
                catalog_errors.FOREIGN_COMMIT,
                table=str(name),
                catalog=url,
                who=catalog_changes.author_of(entry),
                snapshot=entry["snapshot-id"],
                what=(entry.get("summary") or {}).get("operation", "no summary"),
            )

    def _make(self, name: rest_catalog.CatalogName, ours: TableMetadata) -> None:
        found = self._catalog.stage(name, catalog_changes.staged(ours))
        if found is not None:
            self._catalog.commit([catalog_changes.creation(name, found, ours, is_staged=True)])
        else:
            self._make_at_once(name, ours)
        made = self._catalog.load(name)
        if made is None or not catalog_changes.has_our_ids(made, ours):
            # Readers would find other columns in the files than it says.
            self._catalog.drop(name)
            raise MirrorError(
                catalog_errors.OTHER_IDS, catalog=self._catalog.url, doing=f"to make {name}"
            )

    def _make_at_once(self, name: rest_catalog.CatalogName, ours: TableMetadata) -> None:
        """Make a table that is empty for a moment; without the rest, it is none."""
        found = self._catalog.create(name, catalog_changes.unstaged(ours))
        try:
            self._catalog.commit([catalog_changes.creation(name, found, ours, is_staged=False)])
        except rest_catalog.CatalogAway:
            raise
        except MirrorError:
            self._catalog.drop(name)
            raise

    def _commit(self, path: str, own: _Pending) -> None:
        """Commit the change of one table; after a conflict or a lost answer, look once more."""
        try:
            self._catalog.commit([own.change])
        except (rest_catalog.CatalogConflict, rest_catalog.CatalogAway):
            self._again(path, own.name)
        else:
            self._kept[path] = own.after

    def _again(self, path: str, name: rest_catalog.CatalogName) -> None:
        """Look at a table once more, and commit what it still lacks."""
        own = self._look(path, name)
        if own is not None:
            self._catalog.commit([own.change])
            self._kept[path] = own.after

    def _note(self, problems: Mapping[str, MirrorError | None]) -> None:
        """Remember which tables lag, also for the next process."""
        for path, problem in problems.items():
            known = self._kept.get(path)
            if problem is None or known is None:
                self._lagging.pop(path, None)
            else:
                self._lagging[path] = known
        if self._lagging == self._written:
            return
        with suppress(MirrorError):
            # It is written with the next change; batches meet the same error.
            self._files.storage.write(
                _RECORD, orjson.dumps({p: list(own) for p, own in self._lagging.items()})
            )
            self._written = dict(self._lagging)


def _refusal_of(attempt: Callable[[], None]) -> MirrorError | None:
    """Return the error of an attempt; raises CatalogAway."""
    try:
        attempt()
    except rest_catalog.CatalogAway:
        raise
    except MirrorError as error:
        return error
    return None


def _kept(ours: TableMetadata) -> Kept:
    return Kept(current_id(ours), ours["last-updated-ms"])


def _kept_by(theirs: TableMetadata) -> Kept | None:
    """Return what a catalog that lags has; its own time may be later than that of the snapshot."""
    head = catalog_changes.head_of(theirs)
    times = [e["timestamp-ms"] for e in theirs["snapshots"] if e["snapshot-id"] == head]
    return Kept(head, times[0]) if times else None


def _read(storage: Storage, root: str) -> dict[str, Kept]:
    content = storage.read(_RECORD)
    if content is None:
        return {}
    try:
        return {path: Kept(*own) for path, own in orjson.loads(content).items()}
    except (ValueError, TypeError, AttributeError) as error:
        path = f"{root.rstrip('/')}/{_RECORD}"
        raise MirrorError(job_errors.OWN_FILE, path=path) from error
