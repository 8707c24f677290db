"""The errors of the Spark job: kinds, and catalogues of their codes."""

from connector.foundation.errors import DefiniteError
from connector.foundation.errors.code import ErrorCode


class MirrorError(DefiniteError):
    """The Spark job cannot apply a batch; nothing of it is marked as applied."""


class SchemaUnfollowed(MirrorError):
    """A table changed in a way that its mirror cannot follow, unless it is empty."""


class CommitConflict(MirrorError):
    """Another writer has committed the version that was to be written."""

    def __init__(self, code: ErrorCode, version: int, **facts: object) -> None:
        """Name the version that exists."""
        super().__init__(code, version=version, **facts)
        self.version = version


class StopRequested(Exception):
    """A step of the job was to begin, or waits for another process, and the job is to stop."""


class ShardOvertaken(CommitConflict):
    """Another shard of the same mirror has committed what this commit does not know."""
