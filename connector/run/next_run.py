"""What the runs of a pipeline so far mean for the next one.

::

    rows came that were rolled back ──▶ read the same again, without these rows
    a peer was lost                 ──▶ go on from committed progress, as if nothing was
    Kafka aborted a transaction     ──▶ the same, with each transaction before it committed alone
    a server refuses its log        ──▶ go on with another server
    a change cannot be carried      ──▶ commit what came before it one by one, until it comes again
"""

from __future__ import annotations


class NextRun:
    """Changed by the end of each run; a new pipeline is opened by what it says."""

    def __init__(self) -> None:
        """Expect the first run."""
        # So many source transactions are committed one by one.
        self.single_transactions = 0
        self._rolled_back: set[str] = set()
        self._outlasted: str | None = None
        self._refused = False

    @property
    def rolled_back(self) -> frozenset[str]:
        """The ids of transactions whose rows are left out."""
        return frozenset(self._rolled_back)

    def leave_out_rows(self, transaction_id: str) -> None:
        """Follow a run that has delivered rows of a transaction which was rolled back."""
        self._rolled_back.add(transaction_id)

    def start_over(self) -> None:
        """Follow a run that lost a peer, or was refused its log."""
        self.single_transactions = 0
        self._refused = False
        self._rolled_back.clear()

    def spare_others(self, transaction_id: str, waiting: int) -> bool:
        """Follow a run whose transaction took longer than Kafka allows, with `waiting` before it.

        Return whether it may have another chance: false if it had one.
        """
        if transaction_id == self._outlasted:
            return False
        self.start_over()
        self._outlasted = transaction_id
        # Alone, the next time: what came before it is not to wait for it.
        self.single_transactions = waiting
        return True

    def save_complete(self, waiting: int) -> bool:
        """Follow a run that met what cannot be carried, with `waiting` transactions before it.

        Return whether there is something to save: false if it comes again, which is the end.
        """
        if self._refused or not waiting:
            return False
        self._refused = True
        self.single_transactions = waiting
        return True
