"""Keeps the tables of a REST catalog equal to the Iceberg tables that are found by their paths.

    publisher.publish({"shop/orders": ("shop", "orders")}, pool)

Each time, a table is loaded, and what it lacks is committed. So there is one way for all: an answer
that was lost, a catalog that was away, and a process that died between two tables of a cut.

*Cuts.* Where the catalog can commit several tables in one request, the tables of a cut are; if it
refuses, they are committed one by one, and so the others do not wait for the one that is refused.

*Files.* What the catalog has or may have is kept, for the upkeep of both formats
(`catalog_states.py`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple

from connector.foundation.errors.message import Message
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_changes, catalog_errors, rest_catalog
from stream_jobs.iceberg.catalog_changes import Relation
from stream_jobs.iceberg.catalog_states import CatalogStates, Kept
from stream_jobs.iceberg.metadata import TableMetadata
from stream_jobs.iceberg.table_files import TableFiles

_DATABASE: Final = "{database}"
# So many namespaces are tried until the catalog takes a table in one.
_TRIALS_MAX: Final = 16
# So many changes are committed together, if the catalog can.
_JOINT_MIN: Final = 2
# What an answer raises that is none of a catalog.
_UNREADABLE: Final = (
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Pending(NamedTuple):
    """A change that is to be committed."""

    name: rest_catalog.CatalogName
    change: rest_catalog.Change


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
        self.states = CatalogStates(files)
        self._namespace = tuple(namespace.split("."))
        self._replaces_foreign = replaces_foreign
        # Why nothing more is asked in this turn.
        self._away: rest_catalog.CatalogAway | None = None
        self._is_stopped = False

    def verify(self, tables: Collection[tuple[str, str]] = (), threads: int = 1) -> Message | None:
        """Try what `tables` need, by the names of their mirrors; with so many `threads`.

        Returns what the catalog refuses, if it has some of them: these do not need it. Raises
        MirrorError if it has none. One that is away is no error, nor is one that takes some of
        them.
        """
        names = sorted({self._name(*own) for own in tables})
        namespaces = {name.namespace for name in names}
        if not any(_DATABASE in level for level in self._namespace):
            namespaces.add(self._namespace)
        try:
            refusal = _refusal_of(self._catalog.verify)
            if refusal is None:
                refusal = self._refusal(sorted(namespaces))
            if refusal is None:
                return None
            has_any = None
            if names and refusal.code is catalog_errors.RIGHTS:
                has_any = self._has_any(names, threads)
        except rest_catalog.CatalogAway:
            return None
        facts = {"refusal": refusal.message.shown_code.code, "why": refusal.message}
        if has_any:
            return Message(catalog_errors.NO_NEW_TABLES, facts)
        code = catalog_errors.REFUSED_ALL if has_any is None else catalog_errors.NO_TABLES
        raise MirrorError(code, **facts) from refusal

    def _has_any(self, names: Sequence[rest_catalog.CatalogName], threads: int) -> bool | None:
        """Return whether the catalog has one of some tables; None if it does not say.

        Raises CatalogAway.
        """

        def has(name: rest_catalog.CatalogName) -> bool | None:
            try:
                return self._catalog.load(name) is not None
            except rest_catalog.CatalogAway:
                raise
            except MirrorError:
                return None

        is_silent = False
        with ThreadPoolExecutor(threads) as pool:
            try:
                for is_there in pool.map(has, names):
                    if is_there:
                        return True
                    is_silent = is_silent or is_there is None
            finally:
                # One is enough, so the others are not asked for.
                pool.shutdown(cancel_futures=True)
        return None if is_silent else False

    def _refusal(self, namespaces: Sequence[tuple[str, ...]]) -> MirrorError | None:
        """Return why the catalog takes no table at all; None if it takes one, or may take one."""
        refusals = []
        for levels in namespaces[:_TRIALS_MAX]:
            refusal = _refusal_of(partial(self._catalog.verify_namespace, levels))
            if refusal is None:
                return None
            refusals.append(refusal)
        # Those that are not tried may be others.
        return refusals[0] if refusals and len(namespaces) <= _TRIALS_MAX else None

    def stop(self) -> None:
        """Ask for nothing more: the job ends."""
        self._is_stopped = True

    def publish(
        self, tables: Mapping[str, tuple[str, str]], pool: ThreadPoolExecutor
    ) -> dict[str, MirrorError | None]:
        """Publish tables, by path with the names of their mirrors; return what failed.

        If the catalog is away, all that is left fails after one attempt.
        """
        self._away = None
        names = {path: self._name(*own) for path, own in tables.items()}
        try:
            results = self._publish(names, pool)
        finally:
            for path in tables:
                self.states.settle(path)
        problems = {p: own if isinstance(own, MirrorError) else None for p, own in results.items()}
        self.states.note(problems)
        return problems

    def _publish(
        self, names: Mapping[str, rest_catalog.CatalogName], pool: ThreadPoolExecutor
    ) -> dict[str, _Pending | MirrorError | None]:
        results = self._each(pool, names, lambda path: self._look(path, names[path]))
        found = {path: own for path, own in results.items() if isinstance(own, _Pending)}
        if not self._catalog.is_joint or len(found) < _JOINT_MIN:
            return results | self._each(pool, found, lambda path: self._commit(path, found[path]))
        for path in found:
            self.states.send(path)
        try:
            self._catalog.commit([own.change for own in found.values()])
        except MirrorError:
            # Whether nothing is done, or nobody knows: looking once more finds out.
            return results | self._each(pool, found, lambda path: self._again(path, names[path]))
        for path in found:
            self.states.confirm(path)
        return results

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
            if self._is_stopped:
                doing = f"a look at {path}"
                return rest_catalog.CatalogAway(
                    catalog_errors.AWAY, catalog=self._catalog.url, doing=doing, why="the job ends"
                )
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
        ours = self.states.load(path)
        if ours is None:
            return None
        theirs = self._catalog.load(name)
        if theirs is not None:
            own = catalog_changes.relation(theirs, ours)
            if own in (Relation.EARLIER, Relation.GONE_BACK):
                if (kept := _kept_by(theirs)) is not None:
                    self.states.learn(path, kept)
                self._refuse_foreign(name, own, theirs, ours)
                if catalog_changes.can_follow(theirs, ours):
                    change = catalog_changes.change(name, theirs, ours)
                    if change is not None:
                        return _Pending(name, change)
                    self.states.confirm(path)
                    return None
            if own is Relation.FOREIGN:
                self.states.learn(path, None)
            self._refuse_foreign(name, own, theirs, ours)
            refusal = _refusal_of(partial(self._catalog.verify_namespace, name.namespace))
            if refusal is not None:
                # Without it, readers would find no table at all.
                raise refusal
            self._catalog.drop(name)
        # Nobody reads it there, so nothing needs to be kept until it is made.
        self.states.learn(path, None)
        self._make(path, name, ours)
        self.states.confirm(path)
        return None

    def _refuse_foreign(
        self,
        name: rest_catalog.CatalogName,
        own: Relation,
        theirs: TableMetadata,
        ours: TableMetadata,
    ) -> None:
        """Raise MirrorError if the catalog's table is not to be replaced."""
        url = self._catalog.url
        if own is Relation.FOREIGN:
            other = f"one at {theirs.get('location')}"
            raise MirrorError(catalog_errors.TAKEN, table=str(name), catalog=url, other=other)
        if own is Relation.LATER:
            why = f"it has snapshot {catalog_changes.head_of(theirs)}, which is newer"
            doing = f"a commit to {name}"
            raise rest_catalog.CatalogConflict(
                catalog_errors.CONFLICT, catalog=url, doing=doing, why=why
            )
        if self._replaces_foreign:
            return
        if own is Relation.GONE_BACK:
            raise MirrorError(
                catalog_errors.GONE_BACK,
                table=str(name),
                catalog=url,
                newest=catalog_changes.last_of(theirs, ours),
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

    def _make(self, path: str, name: rest_catalog.CatalogName, ours: TableMetadata) -> None:
        found = self._catalog.stage(name, catalog_changes.staged(ours))
        if found is not None:
            self.states.send(path)
            self._catalog.commit([catalog_changes.creation(name, found, ours, is_staged=True)])
        else:
            self._make_at_once(path, name, ours)
        made = self._catalog.load(name)
        if made is None or not catalog_changes.has_our_ids(made, ours):
            # Readers would find other columns in the files than it says.
            self._catalog.drop(name)
            raise MirrorError(
                catalog_errors.OTHER_IDS, catalog=self._catalog.url, doing=f"to make {name}"
            )

    def _make_at_once(self, path: str, name: rest_catalog.CatalogName, ours: TableMetadata) -> None:
        """Make a table that is empty for a moment; without the rest, it is none."""
        found = self._catalog.create(name, catalog_changes.unstaged(ours))
        self.states.send(path)
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
            self._send(path, own)
        except (rest_catalog.CatalogConflict, rest_catalog.CatalogAway):
            self._again(path, own.name)

    def _again(self, path: str, name: rest_catalog.CatalogName) -> None:
        """Look at a table once more, and commit what it still lacks."""
        own = self._look(path, name)
        if own is not None:
            self._send(path, own)

    def _send(self, path: str, own: _Pending) -> None:
        self.states.send(path)
        self._catalog.commit([own.change])
        self.states.confirm(path)


def _refusal_of(attempt: Callable[[], None]) -> MirrorError | None:
    """Return the refusal of an attempt; raises CatalogAway."""
    try:
        attempt()
    except rest_catalog.CatalogAway:
        raise
    except rest_catalog.CatalogConflict:
        # Another process tries the same.
        return None
    except MirrorError as error:
        return error
    return None


def _kept_by(theirs: TableMetadata) -> Kept | None:
    """Return what a catalog that lags has; its own time may be later than that of the snapshot."""
    head = catalog_changes.head_of(theirs)
    times = [e["timestamp-ms"] for e in theirs["snapshots"] if e["snapshot-id"] == head]
    return Kept(head, times[0]) if times else None
