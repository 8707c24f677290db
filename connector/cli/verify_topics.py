"""`verify --topics`: shows a proof while it runs, and its outcome."""

from argparse import Namespace

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from connector.cli.configuration import loaded
from connector.cli.exit_codes import EXIT_DEFINITE, errors, say
from connector.foundation.errors.message import visible, visible_json
from verification.topics.outcome import EpochOutcome, Example, Outcome, Place
from verification.topics.run import compare_topics

EXIT_DIFFERENT = 4
# Examples that are printed; the JSON report has more.
_SHOWN_MAX = 10


def verify_topics(arguments: Namespace) -> int:
    """Compare the topics with the log, print the outcome, and return its exit code.

    4: they differ. 3: a part of the range is not proven.

    Raises TransientError or DefiniteError.
    """
    settings = loaded(arguments.config)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[records]} records"),
        TimeRemainingColumn(),
    )
    # The report of a script must be the only thing on standard output.
    with Progress(
        *columns, console=errors(), transient=True, disable=not errors().is_terminal
    ) as display:
        task = display.add_task("log and topics", total=None, records=0)

        def show(done: int, total: int, outcome: Outcome) -> None:
            display.update(task, completed=done, total=total, records=outcome.expected)

        outcome = compare_topics(settings, arguments.first, arguments.until, show)
    if arguments.json:
        say(visible_json(outcome.as_json()))
    else:
        _print(outcome)
    if not outcome.is_equal:
        return EXIT_DIFFERENT
    return EXIT_DEFINITE if outcome.has_gap else 0


def _print(outcome: Outcome) -> None:
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for epoch in outcome.epochs:
        for line in _epoch(epoch):
            console.print(visible(line))
    console.print(
        f"{outcome.transactions} transactions, {outcome.expected} records expected, "
        f"{outcome.found} found once, in order and equal, in {outcome.seconds:.1f} s"
    )
    for kind, count in sorted(outcome.others.items()):
        console.print(f"{count} not compared with the log: {kind}")
    for topic, counts in sorted(outcome.topics.items()):
        for partition, since in sorted(counts.kept_since.items()):
            held = f"proven from {since} on" if since else "nothing is left to prove"
            console.print(visible(f"{topic}[{partition}] has lost older records: {held}"))
    shown = outcome.examples[:_SHOWN_MAX]
    for example in shown:
        console.print(visible(_line(example)))
    differences = outcome.differences
    if not differences:
        verdict = "equal, but a part of the range is not proven" if outcome.has_gap else "equal"
        console.print(verdict, style="bold yellow" if outcome.has_gap else "bold green")
        return
    if differences.total() > len(shown):
        console.print(f"and {differences.total() - len(shown)} more")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(differences.items()))
    console.print(f"different: {kinds}", style="bold red")


def _epoch(epoch: EpochOutcome) -> list[str]:
    name = f"epoch {epoch.number}"
    if epoch.source:
        name += f" ({epoch.source})"
    if epoch.start is None or epoch.end is None:
        return [f"{name} not proven: {epoch.unproven}"]
    lines = [f"{name} from {_place(epoch.start)}", f"{name} to   {_place(epoch.end)}"]
    if epoch.unproven:
        lines.append(f"{name} not proven before that: {epoch.unproven}")
    return lines


def _line(example: Example) -> str:
    where = example.topic
    if example.partition is not None:
        where += f"[{example.partition}]"
    if example.offset is not None:
        where += f"@{example.offset}"
    parts = [f"{example.kind}: {where}"]
    if example.seq:
        parts.append(f"cdc.seq {example.seq}")
    if example.transaction:
        parts.append(f"transaction {example.transaction}")
    if example.what:
        parts.append(example.what)
    return ", ".join(parts)


def _place(place: Place) -> str:
    position = f"{place.file}:{place.position}" if place.file else ""
    return ", ".join(part for part in (position, place.gtid_set or "") if part)
