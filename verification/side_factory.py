"""Which mirror, journal or replica a table of the source is compared with."""

from stream_jobs.apply.modes import MODES
from stream_jobs.apply.modes.mode import LastChanges
from stream_jobs.apply.modes.row_counts import RowCounts
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.tables.mirror_metadata import MODE_PROPERTY
from stream_jobs.tables.mirror_table import MirrorTable, mirror_path
from stream_jobs.tables.table_options import TableOptionsResolver
from verification import verify_errors
from verification.journal_side import JournalSide
from verification.mirror_side import MirrorSide
from verification.pipeline import Pipeline
from verification.replica_side import ReplicaServer, ReplicaSide
from verification.side import Side
from verification.source_table import SourceTable


class SideFactory:
    """The mirrors of one job, or the replica of these mirrors."""

    def __init__(
        self,
        pipeline: Pipeline,
        job: JobSettings,
        server: ReplicaServer | None,
        storage: Storage,
        choices: TableOptionsResolver,
    ) -> None:
        """Look at the replica at `server`; without it, at the mirrors in `storage`.

        `choices` are what `job` says of tables. Raises MirrorError if the storage fails.
        """
        self._folder = folder_of(job)
        self._patience = pipeline.patience.for_target()
        self._pipeline = pipeline
        self._job = job
        self._server = server
        self._storage = storage
        self._choices = choices

    def of(self, source: SourceTable, *, may_fold: bool = True) -> Side | None:
        """Return the side of a table; None if the table has no mirror.

        None, too, for a journal if all of it may not be read now. Raises MirrorError for a table
        that cannot be compared.
        """
        schema = source.schema
        if schema.chosen.is_skipped:
            raise MirrorError(verify_errors.SKIPPED, table=schema.name)
        schema.refuse_unfit()
        base = self._job.mirror.path
        path = mirror_path(self._storage, *schema.place)
        own = MirrorTable.open(self._storage, path, schema.name, base, schema.chosen.shard)
        if own is None:
            chosen = self._choices.of(schema.database, schema.table)
            if not schema.key and chosen.mode != RowCounts.name:
                raise MirrorError(verify_errors.NO_KEY, table=schema.name)
            return None
        mode = own.delta.snapshot.configuration.get(MODE_PROPERTY)
        has_last_changes = mode in MODES and isinstance(MODES[mode].current_rows, LastChanges)
        if self._server is None and schema.key and has_last_changes:
            if not may_fold:
                return None
            history = self._pipeline.history(schema.database, schema.table)
            return JournalSide(own, schema, history, self._folder)
        mirror = MirrorSide(own, schema, self._folder)
        if self._server is None:
            return mirror
        if source.clear_keys.names:
            columns = source.clear_keys.names
            raise MirrorError(verify_errors.HIDDEN_KEY, table=schema.name, columns=columns)
        settings = self._pipeline.settings.snapshot
        return ReplicaSide(self._server, own, mirror, source, settings, self._patience)
