"""All codes by group, for `explain`, the page of errors and the tests.

A catalogue is a module `NOUN_errors.py` beside the code that raises its codes. Code that raises
errors imports the catalogue of its room, not this module.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

from connector.foundation.errors.code import ErrorCode

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
# What stands for a fact in an example, unless its code has another value.
EXAMPLES: Final[Mapping[str, object]] = {
    "account": "'cdc'@'%'",
    "address": "db.example:3306",
    "column": "note",
    "count": 2,
    "database": "erp",
    "doing": "write to topic shop.erp.orders",
    "file": "binlog.000042",
    "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:78-90",
    "host": "spark-1",
    "how": "SET PERSIST binlog_format = 'ROW'",
    "log_position": "binlog.000042:1187",
    "name": "erp.orders",
    "number": 1236,
    "offset": 4711,
    "offsets": "connect-offsets",
    "partition": 1,
    "path": "/data/mirror",
    "pid": 4711,
    "pipeline": "shop",
    "position": 1187,
    "prefix": "shop",
    "problems": (
        "source db1:3306: cannot connect: Connection refused",
        "source db2:3306: cannot connect: Connection refused",
    ),
    "program": "/usr/sbin/mysqld",
    "reference": "binlog-connector config",
    "said": "No such file or directory",
    "seconds": 60.0,
    "server": "source db1:3306",
    "servers": "kafka-1:9092",
    "source": "db1:3306",
    "table": "erp.orders",
    "topic": "shop.erp.orders",
    "transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
    "url": "http://registry:8081",
    "value": "OFF",
    "wanted": "ON",
    "why": "No such file or directory",
}
_PACKAGES = ("connector", "stream_jobs", "verification", "local_stack")


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return the catalogues of the packages that are installed."""
    return tuple(_modules())


def _modules() -> Iterator[ModuleType]:
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
    found = {code.code: code for code in _all() if code.code and code.group is None}
    return dict(sorted(found.items(), key=lambda item: (letters.index(item[0][0]), item[0])))


def reasons(group: ErrorCode) -> list[ErrorCode]:
    """Return the reasons of a group, in the order of its catalogue."""
    return [code for code in _all() if code.group is not None and code.code == group.code]


def texts(code: ErrorCode) -> list[str]:
    """Return the templates of the text of a code, one for each reason."""
    return [reason.what for reason in reasons(code)] or [code.what]


def example(code: ErrorCode) -> dict[str, object]:
    """Return a value for each fact of the templates; a group has names for the words of reasons."""
    known = {**EXAMPLES, **code.example}
    return {name: known.get(name, name) for name in code.facts}


def retired() -> dict[str, ErrorCode]:
    """Return what replaced each number that is not used any more: a code, or a part of texts."""
    found = {number: code for code in _all() for number in code.was.split()}
    return dict(sorted(found.items()))


def _all() -> Iterator[ErrorCode]:
    """Yield codes, reasons, frames and clauses."""
    for module in modules():
        yield from (each for each in vars(module).values() if isinstance(each, ErrorCode))
