"""From file, on one core: every decoder on every file, each run a process of its own.

Runs go round robin, so that whatever the machine does besides hits all alike. Of a virtual
machine, the process with a single pass is cold, and passes 2.. of a process with four are warm;
everything else is measured with the start of its process. The decoders count what they have read,
and all must have read the same.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.decoders import Decoder, our_decoders, rival_decoders
from benchmarks.process import run_to_end, say
from benchmarks.workload.tables import FLEET_FOLLOWED

if TYPE_CHECKING:
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home

RIVAL_FILES = ("oltp", "bulk")
ALL_FILES = (*RIVAL_FILES, "text", "fleet")
# Both are compared in megabytes of the file, not in rows.
UNFILTERED, FILTERED = "binlog-connector envelope", "binlog-connector envelope, 1 % followed"


@dataclass(slots=True)
class Measured:
    """What the runs of one decoder on one file have cost."""

    changes: int = 0
    bytes: int = 0
    json_bytes: int = 0
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the figures of the report."""
        best = min(self.wall_s)
        return {
            "wall_s": [best, statistics.median(self.wall_s)],
            "cpu_s": [min(self.cpu_s), statistics.median(self.cpu_s)],
            "peak_mb": max(self.peak_mb),
            "rows_per_s": self.changes / best,
            "mb_per_s": self.bytes / best / 1e6,
            "cpu_s_per_million": min(self.cpu_s) / self.changes * 1e6,
            "json_bytes": self.json_bytes,
            "runs": len(self.wall_s),
        }


def measure_decoders(
    home: Home, data: dict[str, DataFile], runs: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of all decoders, by file; raises RunFailed."""
    decoders = [*our_decoders(compiled), *rival_decoders(home.cache)]
    files = {}
    for name in ALL_FILES:
        chosen = [each for each in decoders if name in RIVAL_FILES or each.everywhere]
        if name == "fleet":
            chosen = _filtered(decoders)
        files[name] = _measure_file(data[name], chosen, runs)
    return {"files": files, "compiled": compiled == "require"}


def _filtered(decoders: list[Decoder]) -> list[Decoder]:
    (whole,) = (each for each in decoders if each.name == UNFILTERED)
    followed = (*whole.command, FLEET_FOLLOWED)
    return [whole, Decoder(FILTERED, whole.depth, followed, environment=whole.environment)]


def _measure_file(data: DataFile, decoders: list[Decoder], runs: int) -> dict[str, Any]:
    # Into the page cache, so that nobody pays for the disk.
    subprocess.run(["cat", str(data.path)], stdout=subprocess.DEVNULL, check=True)
    measured = {decoder.name: Measured() for decoder in decoders}
    read: dict[str, list[str]] = {}
    for number in range(runs):
        for decoder in decoders:
            say(f"{data.workload}, run {number + 1}: {decoder.name}")
            _run_once(decoder, data, measured[decoder.name], read)
    if any(decoder.name == UNFILTERED for decoder in decoders):
        say(f"{data.workload}: reading our records back")
        _run_once(_read_back(decoders), data, Measured(), read)
    return {
        "mb": data.megabytes,
        "changes": data.counts.changes,
        "read": read,
        "decoders": {
            decoder.name: {"depth": decoder.depth, **measured[decoder.name].document()}
            for decoder in decoders
        },
    }


def _read_back(decoders: list[Decoder]) -> Decoder:
    """Return the mode that reads every record of ours back, which is not measured."""
    (ours,) = (each for each in decoders if each.name == UNFILTERED)
    command = tuple("records" if word == "envelope" else word for word in ours.command)
    return Decoder(UNFILTERED, ours.depth, command, environment=ours.environment)


def _run_once(
    decoder: Decoder, data: DataFile, measured: Measured, read: dict[str, list[str]]
) -> None:
    run = run_to_end(
        decoder.on(data.path),
        environment=decoder.environment,
        discard_output=not decoder.prints_counts,
    )
    measured.changes, measured.bytes = data.counts.changes, data.bytes
    measured.peak_mb.append(run.peak_mb)
    passes: list[dict[str, Any]] = [json.loads(line) for line in run.lines]
    for each in passes:
        measured.json_bytes = each.get("json_bytes", 0)
        if limit := each.get("limited"):
            # It stopped in the middle: what it has read counts.
            measured.bytes = limit
            measured.changes = sum(each[kind] for kind in ("ins", "upd", "del"))
        elif "pk_sum" in each and decoder.depth != "events":
            kinds = ("ins", "upd", "del", "cells", "pk_sum")
            seen = ", ".join(f"{kind} {each.get(kind, 0)}" for kind in kinds)
            names = read.setdefault(seen, [])
            if decoder.name not in names:
                names.append(decoder.name)
    if decoder.warm:
        measured.wall_s += [each["wall_s"] for each in passes[1:]]
        measured.cpu_s += [each["cpu_s"] for each in passes[1:]]
    else:
        measured.wall_s.append(run.wall_s)
        measured.cpu_s.append(run.cpu_s)


def check_counts(document: dict[str, Any] | None) -> list[str]:
    """Return what speaks against the figures: decoders that have not read the same."""
    files = {} if document is None else document["files"]
    return [
        f"{name}: the decoders disagree: {file['read']}"
        for name, file in files.items()
        if len(file["read"]) > 1
    ]
