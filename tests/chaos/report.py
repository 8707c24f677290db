"""Outcomes become a table in Markdown: fault, rounds, and how long recovering took."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from tests.chaos.verdict import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.chaos.run import Outcome


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Return the report of all runs."""
    return "\n".join(line for outcome in outcomes for line in _lines(outcome))


def _lines(outcome: Outcome) -> list[str]:
    counts: Counter[str] = Counter()
    for verdict in outcome.verdicts:
        counts.update(verdict.counts)
    transactions = sum(verdict.transactions for verdict in outcome.verdicts)
    records = sum(verdict.records for verdict in outcome.verdicts)
    summary = (
        f"Seed {outcome.seed}: {outcome.faults} faults in {outcome.seconds / 60:.1f} minutes, "
        f"{transactions:,} transactions, {records:,} records, {outcome.checkpoints} checkpoints."
    )
    place = ", the log in a folder" if outcome.folder else ""
    lines = [f"## {outcome.flavour}{place}", "", summary, ""]
    if outcome.failure:
        lines += ["**FAILED**", "", "```", outcome.failure, "```", ""]
    else:
        lines += [", ".join(f"{kind} {counts[kind]}" for kind in KINDS) + ".", ""]
    lines += [
        "| fault | rounds | recovery, median | max |",
        "|---|---:|---:|---:|",
    ]
    for name, rounds in sorted(outcome.rounds.items()):
        measured = [seconds for seconds in rounds if seconds is not None]
        middle, most = "", ""
        if measured:
            middle, most = f"{median(measured):.2f} s", f"{max(measured):.2f} s"
        lines.append(f"| {name} | {len(rounds)} | {middle} | {most} |")
    everything = [s for rounds in outcome.rounds.values() for s in rounds if s is not None]
    if everything:
        lines.append(
            f"| **all** | {outcome.faults} | {median(everything):.2f} s | {max(everything):.2f} s |"
        )
    if outcome.finished_by_hand:
        lines.append(
            f"\n{outcome.finished_by_hand} XA transactions came back prepared when a killed server "
            "was started, and were ended as its log says."
        )
    lines += [f"\n{name} was left out: {why}" for name, why in outcome.left_out.items()]
    return [*lines, ""]
