"""The programs that read binlog files, as commands."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchmarks.builds import SOURCES, Builds, Missing
from benchmarks.process import say
from local_stack.java import java_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from local_stack.cache import Cache

# What a program makes of each row, which is how far its figures can be compared.
Depth = Literal["events", "values", "arrow", "json"]
# python-mysql-replication would need minutes for a whole file.
LIMIT_MB = 40
# Passes of a virtual machine's process; all but the first are warm.
_WARM_PASSES = 4


@dataclass(frozen=True, slots=True)
class Decoder:
    """One program and one mode of it."""

    name: str
    depth: Depth
    command: tuple[str, ...]  # with FILE instead of the path
    prints_counts: bool = True
    warm: bool = False  # whether passes 2.. of the process count, not the process
    environment: Mapping[str, str] | None = None
    everywhere: bool = False  # also on text and fleet, not only on oltp and bulk

    def on(self, file: Path) -> list[str]:
        """Return the command for `file`."""
        return [str(file) if word == "FILE" else word for word in self.command]


def our_decoders(compiled: Literal["require", "off"]) -> list[Decoder]:
    """Return our modes."""
    modes: tuple[tuple[str, Depth], ...] = (
        ("parse", "events"),
        ("bodies", "events"),
        ("values", "values"),
        ("arrow", "arrow"),
        ("envelope", "json"),
    )
    return [
        Decoder(
            f"binlog-connector {mode}",
            depth,
            (sys.executable, "-m", "benchmarks.ours", "FILE", mode, "1"),
            environment={"CONNECTOR_COMPILED": compiled},
            everywhere=True,
        )
        for mode, depth in modes
    ]


def rival_decoders(cache: Cache) -> list[Decoder]:
    """Return those of the rivals that can be built here; tells of the others."""
    builds = Builds(cache)
    found: list[Decoder] = []
    makers: tuple[Callable[[], list[Decoder]], ...] = (
        lambda: _rust(builds),
        lambda: _go(builds),
        lambda: _java(builds, cache),
        lambda: _mysqlbinlog(builds),
        lambda: _python(builds),
    )
    for make in makers:
        try:
            found += make()
        except Missing as missing:
            say(f"skipped {missing}")
    return found


def _rust(builds: Builds) -> list[Decoder]:
    plain, mimalloc = str(builds.rust()), str(builds.rust("mimalloc"))
    name = "Rust mysql_common"
    return [
        Decoder(f"{name} events", "events", (plain, "FILE", "events", "1")),
        Decoder(f"{name} decode", "values", (plain, "FILE", "decode", "1")),
        Decoder(f"{name} json", "json", (plain, "FILE", "json", "1"), everywhere=True),
        Decoder(f"{name} json, mimalloc", "json", (mimalloc, "FILE", "json", "1")),
    ]


def _go(builds: Builds) -> list[Decoder]:
    program = str(builds.go() / "decode")
    return [
        Decoder("go-mysql decode", "values", (program, "FILE", "decode", "1")),
        Decoder("go-mysql json", "json", (program, "FILE", "json", "1"), everywhere=True),
        Decoder("go-mysql encoding/json", "json", (program, "FILE", "stdjson", "1")),
    ]


def _java(builds: Builds, cache: Cache) -> list[Decoder]:
    path = builds.java()
    java = (str(java_runtime(cache)), "-Xmx2g", "-cp", path, "DecodeFile", "FILE")
    name, warm = "mysql-binlog-connector-java", str(_WARM_PASSES)
    return [
        Decoder(f"{name} json, cold", "json", (*java, "json", "1")),
        Decoder(f"{name} decode, warm", "values", (*java, "decode", warm), warm=True),
        Decoder(f"{name} json, warm", "json", (*java, "json", warm), warm=True, everywhere=True),
    ]


def _mysqlbinlog(builds: Builds) -> list[Decoder]:
    command = (*builds.mysqlbinlog(), "--no-defaults", "-v", "--base64-output=decode-rows", "FILE")
    return [Decoder("mysqlbinlog -v", "values", command, prints_counts=False)]


def _python(builds: Builds) -> list[Decoder]:
    command = (str(builds.python()), str(SOURCES / "pmr.py"), "FILE")
    name = "python-mysql-replication"
    return [
        Decoder(f"{name} decode", "values", (*command, "decode", "1", str(LIMIT_MB))),
        Decoder(f"{name} json", "json", (*command, "json", "1", str(LIMIT_MB))),
    ]
