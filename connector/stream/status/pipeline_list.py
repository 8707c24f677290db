"""Many pipelines in one list, the sick ones first.

Each running process is asked over its `metrics.listen`; Kafka and the sources are not asked. So the
list comes at once, however many of them are away, and who makes it needs no password. A process
that does not answer is sick, and so is a file that `run` would refuse.
"""

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from connector.foundation.errors import ConfigError
from connector.foundation.settings.configuration import load_settings, pipeline_name
from connector.stream.status.model import Condition, Level, PipelineStatus, State
from connector.stream.status.status_client import NoAnswer, fetch_status

# Processes that are asked at the same time: each may let us wait for seconds.
_ASKED_TOGETHER = 64
_LEVELS = list(Level)
_WORDS = {Level.CRITICAL: "critical", Level.WARNING: "warning", Level.GOOD: "well"}
# A page of another machine cannot be shown at such an address.
_EVERYWHERE = ("0.0.0.0:", "[::]:")  # nobody listens here


@dataclass(frozen=True, slots=True)
class ListedPipeline:
    """One pipeline; the fields of its figures are None if its process does not answer."""

    file: str
    name: str  # that of the file if it names no pipeline
    conditions: list[Condition]  # at least one; the first is the state
    address: str | None = None  # of the process, host:port
    lag_seconds: float | None = None
    # How late the latest mirror is to the source.
    mirror_lag_seconds: float | None = None
    records_per_second: float | None = None
    to_purge_seconds: float | None = None
    tables: int | None = None  # that had rows since the process began
    is_refused: bool = False  # whether `run` would refuse the file

    @property
    def state(self) -> Condition:
        """The state in one word, with its reason."""
        return self.conditions[0]

    @property
    def cause(self) -> Condition:
        """What is worst of it: the first condition of the worst level."""
        return next(one for one in self.conditions if one.level is self.level)

    @property
    def level(self) -> Level:
        """The worst level of all conditions."""
        return max((one.level for one in self.conditions), key=_LEVELS.index)

    @property
    def page(self) -> str | None:
        """The address of its own page; None if the file does not say where it is."""
        if self.address is None or self.address.startswith(_EVERYWHERE):
            return None
        return f"http://{self.address}/"


@dataclass(frozen=True, slots=True)
class PipelineList:
    """All pipelines at one moment, in seconds since the epoch; the sick ones come first."""

    at: float
    pipelines: list[ListedPipeline] = field(default_factory=list)

    @property
    def worst(self) -> Level:
        """The level of the first one; an empty list is well."""
        return self.pipelines[0].level if self.pipelines else Level.GOOD

    def counts(self) -> list[tuple[Level, str]]:
        """Return how many have each level in words, the worst first; no level that none has."""
        found = Counter(one.level for one in self.pipelines)
        return [
            (level, f"{found[level]} {_WORDS[level]}")
            for level in reversed(_LEVELS)
            if found[level]
        ]


def list_pipelines(files: Sequence[Path]) -> PipelineList:
    """Ask the processes of all configurations, many at a time."""
    workers = max(1, min(_ASKED_TOGETHER, len(files)))
    with ThreadPoolExecutor(workers, thread_name_prefix="status") as asked:
        pipelines = list(asked.map(_look, files))
    return PipelineList(time.time(), by_urgency(_without_namesakes(pipelines)))


def by_urgency(pipelines: Sequence[ListedPipeline]) -> list[ListedPipeline]:
    """Return the sick ones first; of one level, the one that is latest."""
    return sorted(pipelines, key=_urgency)


def _urgency(one: ListedPipeline) -> tuple[int, float, str]:
    late = max(one.lag_seconds or 0.0, one.mirror_lag_seconds or 0.0)
    return -_LEVELS.index(one.level), -late, one.name


def to_json(pipelines: PipelineList) -> bytes:
    """Return the list as JSON."""
    return TypeAdapter(PipelineList).dump_json(pipelines)


def of_facts(file: Path, address: str | None, facts: PipelineStatus) -> ListedPipeline:
    """Return what the process of a pipeline says of itself, in short."""
    purge, throughput = facts.purge, facts.throughput
    return ListedPipeline(
        str(file),
        facts.pipeline,
        facts.conditions,
        address,
        lag_seconds=None if facts.lag is None else facts.lag.seconds,
        mirror_lag_seconds=facts.end_to_end_seconds,
        records_per_second=None if throughput is None else throughput.now.records,
        to_purge_seconds=None if purge is None else purge.seconds,
        tables=len(facts.tables),
    )


def _look(file: Path) -> ListedPipeline:
    try:
        settings = load_settings(file)
    except ConfigError as error:
        name = pipeline_name(file) or file.stem
        # Each wrong key has a line of its own there.
        why = " ".join(error.text.split())
        refused = Condition(State.UNKNOWN, Level.CRITICAL, why, error.code.code)
        return ListedPipeline(str(file), name, [refused], is_refused=True)
    address = settings.metrics.listen
    answer = fetch_status(settings)
    if isinstance(answer, NoAnswer):
        silent = Condition(answer.state, Level.CRITICAL, answer.reason)
        return ListedPipeline(str(file), settings.name, [silent], address)
    return of_facts(file, address, answer)


def _without_namesakes(pipelines: Sequence[ListedPipeline]) -> list[ListedPipeline]:
    """Say of pipelines with one name that they take over from each other."""
    times = Counter(one.name for one in pipelines)
    return [one if times[one.name] == 1 else _namesake(one, pipelines) for one in pipelines]


def _namesake(one: ListedPipeline, pipelines: Sequence[ListedPipeline]) -> ListedPipeline:
    other = next(each.file for each in pipelines if each.name == one.name and each is not one)
    said = f"{Path(other).name} has the same name; two processes would take over from each other"
    twice = Condition(State.UNKNOWN, Level.CRITICAL, said)
    return replace(one, conditions=[twice, *one.conditions])
