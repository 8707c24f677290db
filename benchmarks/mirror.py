"""Delta tables that follow topics: our job, and the plain recipe with MERGE, in one run.

*Hot.* One large table with many changes, see `mirror_hot`.
*Many.* 100 small tables, all in each batch, see `mirror_many`.
*Live.* Ours alone: start, idle, latency, see `mirror_live`.
*Updates.* Ours alone: few changes of a large table, see `mirror_updates`.
*Cluster.* Ours alone: one worker and two, see `mirror_cluster`.

The recipe runs with Spark's defaults, and with settings that make small merges cheap. Seconds are
those of batches, without the start of Spark; CPU and memory are those of all processes.

A part that fails is left out, and the others are measured.
"""

from __future__ import annotations

import os
import shutil
import time
import traceback
from typing import TYPE_CHECKING, Any

from benchmarks.home import here_and_now
from benchmarks.mirror_cluster import CLUSTER_SCALE, measure_cluster
from benchmarks.mirror_hot import HotTopic, measure_hot
from benchmarks.mirror_live import measure_mirror_live
from benchmarks.mirror_many import TABLES, measure_many
from benchmarks.mirror_updates import measure_updates
from benchmarks.process import say
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS
from local_stack import KafkaBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Literal

    from benchmarks.home import Home

PARTS = ("hot", "many", "live", "updates", "cluster")
# A state of the live job is held for so many times the seconds of a live connector.
_LIVE_TIMES = 3


def measure_mirror(
    home: Home, seconds: float, compiled: Literal["require", "off"], parts: Collection[str]
) -> dict[str, Any]:
    """Return the figures of `parts`, the last ones of the others, and what has `failed`.

    The figures are kept after each part.
    """
    folder = home.folder("broker")
    shutil.rmtree(folder)
    work = home.folder("mirror")
    shutil.rmtree(work)
    work.mkdir()
    settings = BROKER_SETTINGS | {"message.max.bytes": str(4 * 1024 * 1024)}
    broker = KafkaBroker(folder, settings=settings, memory=BROKER_MEMORY, cache=home.cache)
    os.environ["CONNECTOR_COMPILED"] = compiled
    last = home.load("mirror") or {}
    found: dict[str, Any] = {part: last[part] for part in PARTS if part in last}
    found |= {"compiled": compiled == "require", "failed": dict(last.get("failed", {}))}
    with broker:
        bootstrap = broker.endpoint.bootstrap
        hot = HotTopic(bootstrap, home.scale)
        large = HotTopic(bootstrap, home.scale * CLUSTER_SCALE, "large")
        tables = max(2, int(TABLES * min(1.0, home.scale * 10)))
        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "hot": lambda: measure_hot(work, hot),
            "many": lambda: measure_many(work, bootstrap, tables),
            "live": lambda: measure_mirror_live(
                home, work, broker, seconds * _LIVE_TIMES, compiled
            ),
            "updates": lambda: measure_updates(work, bootstrap, home.scale),
            "cluster": lambda: measure_cluster(work, large, broker.pid),
        }
        for part in PARTS:
            if part in parts:
                _measure(part, measures[part], found)
                home.store("mirror", found)
    shutil.rmtree(folder)
    shutil.rmtree(work)
    return found


def _measure(part: str, measure: Callable[[], dict[str, Any]], found: dict[str, Any]) -> None:
    """Put the figures of a part into `found`, or why there are none."""
    # Figures of an earlier run must not be taken for those of this one.
    found.pop(part, None)
    found["failed"].pop(part, None)
    began = time.monotonic()
    try:
        figures = measure()
        found[part] = {**here_and_now(), "compiled": found["compiled"], **figures}
    except Exception as error:  # noqa: BLE001 - the other parts are measured, whatever it is
        traceback.print_exc()
        found["failed"][part] = f"{type(error).__name__}: {error}"
    say(f"mirror, {part}: took {time.monotonic() - began:.0f} s")
