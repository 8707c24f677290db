"""All codes by group, for `explain`, the page of errors and the tests.

Code that raises errors imports the constants of its group, not this module.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

import connector.foundation.errors as room
from connector.foundation.errors.code import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

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


def modules() -> Iterator[ModuleType]:
    """Yield the modules of the catalogue, in the order of their names."""
    for found in pkgutil.iter_modules(room.__path__):
        yield import_module(f"{room.__name__}.{found.name}")


def codes() -> dict[str, ErrorCode]:
    """Return every code of the catalogue by its number, in the order of the page."""
    letters = list(GROUPS)
    found = {
        value.code: value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, ErrorCode) and value.code
    }
    return dict(sorted(found.items(), key=lambda item: (letters.index(item[0][0]), item[0])))
