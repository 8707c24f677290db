"""The retry state: how the next run of a pipeline continues after earlier runs.

::

    rows were rolled back later     ──▶ read the same again, without these rows
    a peer was lost                 ──▶ continue from committed progress
    Kafka aborted a transaction     ──▶ continue, and commit each transaction before it alone
    a server refuses its log        ──▶ continue with another server
    a change cannot be published    ──▶ commit the transactions before it one by one, then stop
"""


class RetryState:
    """What the next pipeline needs to know; the end of each run changes it."""

    def __init__(self) -> None:
        # The number of source transactions that are committed one by one.
        self.single_transactions = 0
        self._rolled_back: set[str] = set()
        self._outlasted: str | None = None
        self._refused = False

    @property
    def rolled_back(self) -> frozenset[str]:
        """Ids of transactions whose rows are left out."""
        return frozenset(self._rolled_back)

    def leave_out_rows(self, transaction_id: str) -> None:
        """A run has delivered rows of this transaction, which was rolled back."""
        self._rolled_back.add(transaction_id)

    def start_over(self) -> None:
        """A run has lost a peer, or a server refused its log."""
        self.single_transactions = 0
        self._refused = False
        self._rolled_back.clear()

    def spare_others(self, transaction_id: str, waiting: int) -> bool:
        """A transaction took longer than Kafka allows, with `waiting` transactions before it.

        Returns whether to try it once more: False if it took too long before.
        """
        if transaction_id == self._outlasted:
            return False
        self.start_over()
        self._outlasted = transaction_id
        # Commit it alone next time, so that the transactions before it do not wait for it.
        self.single_transactions = waiting
        return True

    def save_complete(self, waiting: int) -> bool:
        """A run met a change that cannot be published, with `waiting` transactions before it.

        Returns whether these can still be committed: False if the same change came again, which
        ends the pipeline.
        """
        if self._refused or not waiting:
            return False
        self._refused = True
        self.single_transactions = waiting
        return True
