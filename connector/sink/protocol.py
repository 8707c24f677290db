"""What the pipeline needs of a place that records are written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from connector.envelope.progress import Progress
    from connector.envelope.record import Record


class Sink(Protocol):
    """Records become visible together, at `commit`, or not at all.

    Any error out of `publish` or `commit` ends the sink: close it and open a new one.
    """

    def publish(self, record: Record) -> None:
        """Take a record into the open transaction, opening one where there is none."""

    def commit(self, progress: Progress) -> None:
        """Make everything since the last commit visible, together with `progress`."""

    def close(self) -> None:
        """Abort what has not been committed and let go of the connection."""
