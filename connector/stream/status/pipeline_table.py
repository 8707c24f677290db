"""The list of many pipelines for a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import visible
from connector.foundation.formatting import amount, clock, duration, number
from connector.stream.status.model import Level
from connector.stream.status.pipeline_list import ListedPipeline, PipelineList

_STYLES = {Level.GOOD: "green", Level.WARNING: "bold yellow", Level.CRITICAL: "bold red"}

# In fewer columns, nothing is left for names and reasons.
_WIDTH_OF_TABLE = 100


def render_list(pipelines: PipelineList, width: int) -> RenderableType:
    """Return what a person reads: how many are how, then each pipeline, the sick ones first.

    In fewer than 100 of `width` columns, a reason is below its pipeline.
    """
    body = _table(pipelines) if width >= _WIDTH_OF_TABLE else Group(*_blocks(pipelines))
    return Group(_headline(pipelines), Text(), body)


def _blocks(pipelines: PipelineList) -> Iterator[RenderableType]:
    for one in pipelines.pipelines:
        late = max(one.lag_seconds or 0.0, one.mirror_lag_seconds or 0.0)
        yield Text.assemble(
            (f"● {one.cause.state.words}", _STYLES[one.level]),
            f"  {visible(one.name)}",
            (f"  {duration(late)} late" if late else "", "dim"),
        )
        if one.level is not Level.GOOD:
            yield Padding(_why(one), (0, 0, 0, 2))


def _headline(pipelines: PipelineList) -> Text:
    line = Text(amount(len(pipelines.pipelines), "pipeline"), style="bold")
    for level, words in pipelines.counts():
        line.append("  ")
        line.append(f"● {words}", style=_STYLES[level])
    line.append(f"  {clock(pipelines.at, pipelines.at)} UTC")
    return line


def _table(pipelines: PipelineList) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("pipeline", overflow="fold")
    table.add_column("state", no_wrap=True)
    for title in ("lag", "mirrors", "records/s"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    for one in pipelines.pipelines:
        rate = one.records_per_second
        table.add_row(
            Text(visible(one.name)),
            Text(f"● {one.cause.state.words}", style=_STYLES[one.level]),
            _late(one.lag_seconds),
            _late(one.mirror_lag_seconds),
            "" if rate is None else number(rate),
            _why(one),
        )
    return table


def _late(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _why(one: ListedPipeline) -> Text:
    """Return why a pipeline is sick, and how many more reasons there are."""
    if one.level is Level.GOOD:
        return Text(visible(one.cause.reason), style="dim")
    code = "" if one.cause.code is None else f" [{visible(one.cause.code)}]"
    why = Text(f"{visible(one.cause.reason)}{code}")
    more = sum(each.level is not Level.GOOD for each in one.conditions) - 1
    if more:
        why.append(f"; and {amount(more, 'more reason')}", style="dim")
    return why
