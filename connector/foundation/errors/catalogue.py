"""All codes by group, for `explain`, the page of errors and the tests.

A catalogue is a module `NOUN_errors.py` beside the code that raises its codes. Code that raises
errors imports the catalogue of its room, not this module.
"""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from connector.foundation.errors.code import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

# The origin of an error by the letter of its code, in the order of the page.
GROUPS = {
    "C": "Configuration and arguments",
    "S": "Source",
    "L": "Bytes of a log",
    "T": "Tables and their changes",
    "K": "Kafka",
    "R": "Commands about a pipeline",
    "M": "Mirror",
    "V": "Comparison of tables with their mirrors",
    "P": "Private servers",
}
_PACKAGES = ("connector", "stream_jobs", "verification", "local_stack")


def modules() -> Iterator[ModuleType]:
    """Yield the catalogues of the packages that are installed."""
    for package in _PACKAGES:
        found = find_spec(package)
        for folder in found.submodule_search_locations or () if found else ():
            for path in sorted(Path(folder).rglob("*_errors.py")):
                parts = path.relative_to(folder).with_suffix("").parts
                name = ".".join((package, *parts))
                yield sys.modules.get(name) or _loaded(name, path)


def _loaded(name: str, path: Path) -> ModuleType:
    """Return a catalogue without its package, which may import far more."""
    module = ModuleType(name)
    SourceFileLoader(name, str(path)).exec_module(module)
    return module


def codes() -> dict[str, ErrorCode]:
    """Return every code of the catalogues by its number, in the order of the page."""
    letters = list(GROUPS)
    found = {
        value.code: value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, ErrorCode) and value.code
    }
    return dict(sorted(found.items(), key=lambda item: (letters.index(item[0][0]), item[0])))
