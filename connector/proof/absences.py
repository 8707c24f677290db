"""Why an expected record is not in its topic, or that it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.contract import HEADER_TXN
from connector.proof.outcome import COMPACTED, EXPIRED, QUARANTINED, UNNAMED
from connector.records.record import decode_headers

if TYPE_CHECKING:
    from connector.proof.findings import Findings
    from connector.proof.kept_back import KeptBack
    from connector.proof.lane import Lane
    from connector.proof.outcome import Outcome


class Absences:
    """Counts records that are not there, by their reason."""

    def __init__(
        self,
        outcome: Outcome,
        findings: Findings,
        kept_back: KeptBack,
        compacted: frozenset[str],
    ) -> None:
        """Write to `outcome` and `findings`; topics in `compacted` may have lost any record."""
        self._outcome = outcome
        self._findings = findings
        self._kept_back = kept_back
        self._compacted = compacted
        # Topics of tables whose columns the log does not name.
        self.unnamed: set[str] = set()
        # Whether rows of the current transaction are in quarantine.
        self.partial = False

    def unpublishable(self, topic: str, sequence: bytes) -> None:
        """Expect a row in quarantine."""
        self.partial = True
        self._outcome.of(topic).expected += 1
        if self._kept_back.has(sequence, topic):
            self._outcome.of(topic).others[QUARANTINED] += 1
        else:
            what = "it cannot be published, nor is it in quarantine"
            self._findings.lacks(topic, None, sequence, "", what)

    def leave_out(self, topic: str, kind: str, count: int) -> None:
        """Count changes of which nobody can say which records they have."""
        self._outcome.of(topic).others[kind] += count

    def explain(
        self, topic: str, lane: Lane | None, sequence: bytes, headers: bytes, *, is_tombstone: bool
    ) -> None:
        """Say why an expected record is not there, or that it is missing."""
        others = self._outcome.of(topic).others
        if lane is not None and lane.has_lost(sequence):
            others[EXPIRED] += 1
        elif topic in self._compacted:
            others[COMPACTED] += 1
        elif self._kept_back.has(sequence, topic):
            self.partial = True
            others[QUARANTINED] += 1
        elif topic in self.unnamed:
            self.partial = True
            others[UNNAMED] += 1
        else:
            transaction = dict(decode_headers(headers)).get(HEADER_TXN, b"").decode()
            what = "the topic is missing" if lane is None else "a tombstone" * is_tombstone
            example = self._findings.lacks(topic, lane, sequence, transaction, what)
            self._findings.awaits(example, is_tombstone=is_tombstone)
