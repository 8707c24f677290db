"""What `--forever` knows of each table: from where on changes have to be compared.

A comparison begins at a version of the mirror and at the ends of the topic. It proves each key as
it is then, or later. So the next comparison needs only the keys that changed in the mirror since
that version, those that records beyond these ends name, and those that differed.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Final

from stream_jobs.errors import MirrorError
from stream_jobs.source.table_schema import TableSchema
from verification.baseline import Baseline, compared_of
from verification.changed_keys import VERSION_GONE, AllRowsError, ChangedKeys
from verification.digests import Digest
from verification.key_texts import decode_keys
from verification.mirror_side import MirrorSide
from verification.report import TableResult, key_of
from verification.source_moment import SourceMoment
from verification.source_table import RowKey
from verification.state_file import NOT_OURS, StateFile, different_keys
from verification.table_topic import LostRecordsError

_FORMAT: Final = 1
_US_OF_AN_HOUR: Final = 3_600_000_000


class Baselines:
    """Those of all tables, and the file that keeps them. Several threads may use it."""

    def __init__(self, path: Path | None, of: Mapping[str, object], whole_hours: float) -> None:
        """Go on with the file at `path`; all rows are due after so many hours.

        What is known of tables of another "server" says nothing of the rows on this one. Raises
        ConfigError if the file is of another comparison, or cannot be used.
        """
        self._file = None if path is None else StateFile(path, _FORMAT, of)
        self._whole_hours = whole_hours
        self._turn = RLock()
        # By the keys that `key_of` gives tables.
        self._tables: dict[str, Baseline] = {}
        # Through when a table of another server was equal, if the file is of that one.
        self.elsewhere: SourceMoment | None = None
        state = None
        if self._file is not None:
            state = self._file.read("tables", "of", besides="server")
        if self._file is not None and state is not None:
            try:
                entries = dict(state["tables"])
                known = {name: Baseline.of_json(own) for name, own in entries.items()}
                if state["of"].get("server") == of.get("server"):
                    self._tables = known
                else:
                    moments = (own.through for own in known.values())
                    self.elsewhere = max(filter(None, moments), default=None)
            except (ValueError, KeyError, TypeError) as error:
                raise self._file.unusable(NOT_OURS) from error
        if self.elsewhere is None:
            self.write()

    def get(self, key: str) -> Baseline | None:
        """Return the baseline of a table; None without one."""
        return self._tables.get(key)

    def knows_one_of(self, names: Sequence[tuple[str, str]]) -> bool:
        """Return whether one of some tables, each a database and a table, has a baseline."""
        return any(key_of(name) in self._tables for name in names)

    def is_due(self, key: str, now: SourceMoment) -> bool:
        """Return whether all rows of a table have to be compared."""
        known = self._tables.get(key)
        if known is None or known.whole is None:
            return True
        return now.time_us - known.whole.time_us >= self._whole_hours * _US_OF_AN_HOUR

    def changed(
        self, changes: ChangedKeys, schema: TableSchema, mirror: MirrorSide, result: TableResult
    ) -> dict[Digest, RowKey]:
        """Return the keys that have to be compared, and let the result begin with them.

        Raises AllRowsError if they cannot be told, and the errors of the pipeline.
        """
        known = self._tables.get(result.key)
        of = compared_of(schema, mirror)
        if known is None or known.of != of:
            raise AllRowsError
        try:
            before = mirror.log.load_version(known.version)
            keys = changes.since(before, known.ends)
        except LostRecordsError as error:
            raise AllRowsError from error
        except MirrorError as error:
            if error.code not in VERSION_GONE:
                raise
            raise AllRowsError from error
        if known.different:
            keys = keys | decode_keys(known.different, schema)
        result.changed_keys = result.rows = len(keys)
        result.baseline = Baseline(of, changes.version, changes.ends)
        return keys

    def take(self, result: TableResult) -> None:
        """Keep where a comparison has begun that came to its end."""
        if result.verdict not in {"equal", "different"}:
            return
        different = different_keys(result)
        with self._turn:
            known = self._tables.get(result.key)
            if result.baseline is None:
                self._tables.pop(result.key, None)
                return
            self._tables[result.key] = _after(known, result, different)

    def keep(self, keys: Collection[str]) -> None:
        """Forget all other tables."""
        with self._turn:
            for key in self._tables.keys() - keys:
                del self._tables[key]

    def write(self) -> None:
        """Replace the file, if there is one. Raises ConfigError if that fails."""
        if self._file is not None:
            with self._turn:
                tables = {name: own.to_json() for name, own in self._tables.items()}
            self._file.write({"tables": tables})


def _after(known: Baseline | None, result: TableResult, different: str | None) -> Baseline:
    """Return the baseline of a table after a comparison with a baseline of its own."""
    assert result.baseline is not None
    new = result.baseline._replace(different=different or "")
    if different is None:
        # Only a comparison of all rows finds what is wrong again.
        new = new._replace(of="")
    if known is not None:
        new = new._replace(through=known.through, whole=known.whole, proven=known.proven)
    equal = result.equal_through
    if result.changed_keys is not None:
        return new._replace(through=equal or new.through)
    # What was said of changes since the last comparison of all rows was perhaps wrong.
    if equal is None:
        return new._replace(through=new.proven, whole=result.began_at)
    if known is not None and known.through is not None and known.through > equal:
        # Changes were compared meanwhile, and are known to be equal.
        return known._replace(whole=equal, proven=equal)
    return new._replace(through=equal, whole=equal, proven=equal)
