"""The user's options for the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.choice import Product


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Options of `binlog-connector demo`."""

    source: Product = "mysql"
    duration_seconds: float = 40.0  # of the workload
    rate: float = 50.0  # transactions a second
    keep: bool = False  # leave everything running after the verdict, until Ctrl-C
    directory: Path | None = None  # of all data and logs; a temporary one if None
    mysqld: Path | None = None  # a mysqld that the user has installed
    address: str | None = None  # [USER[:PASSWORD]@]HOST[:PORT] of a server that the user runs
