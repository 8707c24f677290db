"""The status for a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import visible
from connector.foundation.formatting import amount, clock, duration, number, size
from connector.foundation.table_view import FIRST_TABLES, TableView
from connector.stream.status import model
from connector.stream.status.model import Level

_STYLES = {Level.GOOD: "bold green", Level.WARNING: "bold yellow", Level.CRITICAL: "bold red"}
_EVENT_STYLES = {"info": "", "warning": "yellow", "error": "bold red"}
_EVENTS_MAX = 12
_BAR = 24
_SPARKS = " ▁▂▃▄▅▆▇█"
_SPARKS_MAX = 60
_GTID_CHARACTERS_MAX = 400


def render_status(facts: model.PipelineStatus, view: TableView = FIRST_TABLES) -> RenderableType:
    """Return what a person reads, with the tables of `view`."""
    parts: list[RenderableType] = [_headline(facts), *map(_condition, facts.conditions)]
    parts += [Text(), _grid(_lines(facts))]
    if facts.tables:
        parts += [Text(), _tables(facts, view)]
    if facts.mirror is not None and facts.mirror.tables:
        parts += [Text(), _mirrors(facts.mirror.tables, facts.at, view)]
    if facts.events:
        parts += [Text(), _events(facts)]
    return Group(*parts)


def _headline(facts: model.PipelineStatus) -> Text:
    process = facts.process
    parts = [visible(facts.pipeline)]
    if process is not None:
        parts.append(f"process {process.pid} on {visible(process.host)}")
        if process.started_at is not None:
            parts.append(f"running for {duration(facts.at - process.started_at)}")
    return Text("  ".join([*parts, f"{clock(facts.at, facts.at)} UTC"]), style="bold")


def _condition(condition: model.Condition) -> Text:
    code = "" if condition.code is None else f" [{condition.code}]"
    return Text.assemble(
        (f"● {condition.state.words}", _STYLES[condition.level]),
        f"  {visible(condition.reason)}{code}",
    )


def _grid(lines: Iterator[tuple[str, RenderableType]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for title, value in lines:
        grid.add_row(title, value)
    return grid


def _lines(facts: model.PipelineStatus) -> Iterator[tuple[str, RenderableType]]:
    lag, purge, throughput, position = facts.lag, facts.purge, facts.throughput, facts.position
    if lag is None:
        refused = any(host.can_continue is False for host in facts.hosts)
        why = "no server can continue the stream" if refused else "the source has not answered"
        yield "lag", Text(f"unknown: {why}", style="yellow")
    else:
        yield "lag", _lag(lag)
    if facts.end_to_end_seconds is not None:
        yield "of the mirrors", Text(f"{duration(facts.end_to_end_seconds)}, from the source")
    if throughput is not None:
        yield from _throughput(throughput)
    if facts.reading is not None:
        yield "copies", _reading(facts.reading)
    if purge is not None:
        yield "time to purge", _purge(purge.seconds, purge.part)
    if position is not None:
        yield from _position(position, facts.at)
    for host in facts.hosts:
        yield "server", _host(host)
    if facts.mirror is not None and facts.mirror.job_runs and facts.mirror.job_failure is not None:
        yield "Spark job", _failed_before(facts.mirror.job_failure, facts.at)


def _lag(lag: model.LagStatus) -> Text:
    left = [duration(lag.seconds)]
    if lag.transactions is not None:
        left.append(amount(lag.transactions, "transaction"))
    if lag.bytes is not None:
        left.append(size(lag.bytes))
    if lag.seconds and lag.catch_up_seconds is not None:
        left.append(f"caught up in about {duration(lag.catch_up_seconds)}")
    return Text(", ".join(left))


def _reading(pace: model.ReadPace) -> Text:
    reads = f"{pace.reads:.2g} reads of the source at a time"
    return Text(f"{reads}: {visible(pace.held_by)} [{pace.code}]" if pace.code else reads)


def _position(position: model.Position, now: float) -> Iterator[tuple[str, Text]]:
    if position.committed_at is not None:
        ago = duration(max(0.0, now - position.committed_at))
        yield "last commit", Text(f"{clock(position.committed_at, now)} UTC, {ago} ago")
    yield "position", Text(f"{visible(position.file)}:{position.position}")
    if position.gtid_set:
        gtids = position.gtid_set
        more = "…" if len(gtids) > _GTID_CHARACTERS_MAX else ""
        yield "GTID set", Text(gtids[:_GTID_CHARACTERS_MAX] + more)


def _failed_before(failure: model.JobFailure, now: float) -> Text:
    at = clock(failure.at, now)
    return Text(f"the run before failed at {at} UTC: {visible(failure.error)} [{failure.code}]")


def _throughput(throughput: model.Throughput) -> Iterator[tuple[str, Text]]:
    now = throughput.now
    yield (
        "throughput",
        Text(
            f"{number(now.records)} records/s, {number(now.transactions)} transactions/s, "
            f"{size(now.bytes)}/s"
        ),
    )
    points = [point.records for point in throughput.hour]
    if points:
        yield "last hour", Text(f"{_sparks(points)}  at most {number(max(points))} records/s")


def _sparks(points: list[float]) -> str:
    width = max(1, -(-len(points) // _SPARKS_MAX))
    means = [
        sum(points[at : at + width]) / len(points[at : at + width])
        for at in range(0, len(points), width)
    ]
    top = max(means) or 1.0
    return "".join(_SPARKS[round(mean / top * (len(_SPARKS) - 1))] for mean in means)


def _purge(seconds: float | None, part: float) -> Text:
    if seconds is None:
        return Text("never: the source keeps its logs for ever")
    level = Level.CRITICAL if part < 1 / 4 else Level.WARNING if part < 1 / 2 else Level.GOOD
    return Text.assemble(_bar(part, _STYLES[level]), f" {duration(seconds)}")


def _bar(part: float, style: str) -> Text:
    filled = round(part * _BAR)
    return Text.assemble(("━" * filled, style), ("━" * (_BAR - filled), "dim"))


def _host(host: model.Host) -> Text:
    code = "" if host.code is None else f" [{host.code}]"
    if host.note:
        return Text(f"{visible(host.address)}: {visible(host.note)}{code}", style="red")
    use = "in use" if host.in_use else "has what follows" if host.can_continue else "not asked"
    return Text(f"{visible(host.address)}: {use}")


def _table(name: str, *numbers: str) -> Table:
    """Return a table with columns of names and of numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(name, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _counted(table: Table, what: str, count: int, view: TableView) -> RenderableType:
    """Return a list, and how many there are if it does not show all."""
    hint = view.hint(count)
    return Group(table, Text(f"{count:,} {what}; {hint}", style="dim")) if hint else table


def _tables(facts: model.PipelineStatus, view: TableView) -> RenderableType:
    table = _table("table", "records", "size")
    table.add_column("last change", no_wrap=True)
    noted = any(one.copy or one.kept_back for one in facts.tables)
    if noted:
        table.add_column("copy and quarantine", overflow="fold")
    for one in facts.tables[: view.limit]:
        last = "" if one.last_change is None else clock(one.last_change, facts.at)
        notes = [_notes(one, facts.at)] if noted else []
        name = Text(visible(one.name))
        table.add_row(name, number(one.records), size(one.bytes), last, *notes)
    return _counted(table, "tables", len(facts.tables), view)


def _mirrors(mirrors: list[model.MirrorTable], now: float, view: TableView) -> RenderableType:
    table = _table("mirror", "lag", "rows", "version")
    table.add_column("last commit", no_wrap=True)
    table.add_column("compared", overflow="fold")
    for one in mirrors[: view.limit]:
        table.add_row(
            Text(visible(one.name)),
            "" if one.lag_seconds is None else duration(one.lag_seconds),
            "" if one.rows is None else number(one.rows),
            "" if one.version is None else str(one.version),
            "" if one.last_commit is None else clock(one.last_commit, now),
            _compared(one, now),
        )
    return _counted(table, "mirrors", len(mirrors), view)


def _compared(one: model.MirrorTable, now: float) -> Text:
    if one.set_aside is not None:
        return Text(f"set aside [{one.set_aside}]", style="red")
    if one.differences is None or one.verified_seconds is None:
        return Text("not yet", style="dim")
    ago = f"{duration(one.verified_seconds)} ago"
    if one.differences:
        return Text(f"{amount(one.differences, 'row')} differed, {ago}", style="red")
    if one.equal_through is None:
        return Text(f"equal, {ago}")
    equal = Text(f"equal through {clock(one.equal_through, now)}")
    if one.equal_through_transactions:
        equal.append(f" ({visible(one.equal_through_transactions)})", style="dim")
    return equal


def _notes(table: model.TableStatus, now: float) -> Text:
    notes = Text()
    copy, held = table.copy, table.kept_back
    if copy is not None and copy.phase == "waiting":
        notes.append("waits to be copied", style="dim")
        if copy.since is not None and not copy.error:
            notes.append(f": foreign keys have changed rows at {clock(copy.since, now)}")
    elif copy is not None and copy.phase == "copying":
        notes.append_text(_bar(copy.part, "cyan"))
        notes.append(f" {number(copy.rows)} of about {number(copy.estimated_rows)} rows")
        if copy.eta_seconds is not None:
            notes.append(f", {duration(copy.eta_seconds)} left")
    elif copy is not None and copy.phase == "failed":
        notes.append(f"copy failed: {visible(copy.error)}", style="red")
    if copy is not None and copy.phase != "failed" and copy.since is not None and copy.error:
        notes.append(f"\nsince {clock(copy.since, now)}: {visible(copy.error)}", style="yellow")
    if held is not None:
        what = "the whole table" if held.whole else amount(held.keys, "key")
        notes.append("\n" if notes else "")
        notes.append(
            f"quarantine: {amount(held.rows, 'change')} of {what} since {clock(held.since, now)}: "
            f"{visible(held.reason)}",
            style="red",
        )
    return notes


def _events(facts: model.PipelineStatus) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("event", no_wrap=True)
    table.add_column("", overflow="fold")
    for event in facts.events[:_EVENTS_MAX]:
        table.add_row(clock(event.at, facts.at), _event(event, facts.at))
    return table


def _event(event: model.ProcessEvent, now: float) -> Text:
    code = "" if event.code is None else f" [{event.code}]"
    text = Text.assemble((f"{visible(event.what)}{code}", _EVENT_STYLES.get(event.level, "")))
    if event.times > 1 and event.last_at is not None:
        text.append(f" {event.times} times, last {clock(event.last_at, now)}", style="dim")
    for name, value in event.details.items():
        text.append("  ")
        if name != "error":
            text.append(f"{visible(name)} ", style="dim")
        text.append(visible(value))
    return text
