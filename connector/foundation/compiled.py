"""Which modules are compiled, and whether they run compiled or interpreted.

The modules of the hot path are typed Python that mypyc makes into extension modules when the
package is built (`setup.py`). Each lies beside the source that it was made of, and gives the same
results. `CONNECTOR_COMPILED` in the environment chooses which of the two Python imports:

=========== ======================================================================================
`auto`      the extension modules where they were built, else the sources (the default)
`require`   the extension modules, or an error at import that says what is missing
`off`       the sources: for a debugger, for coverage, and to compare the two
=========== ======================================================================================

Building the package reads the same variable. `setup.py` runs this file, so that it imports nothing
of the connector.

https://mypyc.readthedocs.io/
"""

import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from typing import Final, Literal

VARIABLE: Final = "CONNECTOR_COMPILED"
PACKAGE: Final = Path(__file__).parents[1]
# The extension module that holds the code of all others: calls between them are calls of C.
NATIVE_MODULE: Final = "connector.native__mypyc"

# Patterns of files below PACKAGE.
COMPILED: Final = (
    "binlog/**/*.py",
    "foundation/kafka_records.py",
    "foundation/record_batch.py",
    "foundation/record_reader.py",
    "kafka/broker_connection.py",
    "kafka/encoded_batch.py",
    "kafka/producer.py",
    "kafka/transaction_client.py",
    "kafka/transaction_requests.py",
    "replication/dump.py",
    "replication/protocol/event_stream.py",
    "replication/protocol/responses.py",
    "replication/protocol/result_set.py",
    "replication/server/shared_socket.py",
    "stream/changes/*.py",
    "stream/progress/*.py",
    "stream/envelope/**/*.py",
    "stream/quarantine/guard.py",
    "stream/quarantine/fence_setter.py",
    "stream/run/delivery_parts.py",
    "stream/run/delivery_stream.py",
    "stream/run/pipeline.py",
    "stream/sink/kafka_sink.py",
    "logs/dump/events_format.py",
    "logs/dump/envelope_format.py",
    "logs/dump/text/*.py",
    "logs/dump/json/cells.py",
    "logs/dump/json/event_lines.py",
    "logs/dump/json/format.py",
    "logs/dump/json/group_lines.py",
    "logs/dump/json/table_writer.py",
    "logs/flashback/*.py",
    "logs/log_counts.py",
    "logs/output.py",
    "logs/statistics.py",
)
NOT_COMPILED: Final = (
    "**/__init__.py",
    "**/*_errors.py",
    # Made once for a log.
    "binlog/files/byte_source.py",
    "binlog/files/packed_files.py",
    "binlog/files/binlog_reader.py",
    "binlog/transactions/transaction_selection.py",
)

_CHOICES: Final = ("auto", "require", "off")


def sources() -> list[Path]:
    """Return the sources of the modules that are compiled, in the order of their paths."""
    return [PACKAGE / name for name in _source_names(_folders())]


def choice() -> str:
    """Return what the environment asks for: `auto`, `require` or `off`.

    Raises ImportError for anything else.
    """
    chosen = os.environ.get(VARIABLE, "auto")
    if chosen not in _CHOICES:
        reason = f"{VARIABLE} is {chosen!r}; it can be {', '.join(_CHOICES[:-1])} or {_CHOICES[-1]}"
        raise ImportError(reason)
    return chosen


def apply_choice() -> None:
    """Make the imports that follow do as `CONNECTOR_COMPILED` says.

    Raises ImportError for an unknown choice, and for `require` when an extension module is missing.
    """
    chosen = choice()
    if chosen == "require" and (reason := why_interpreted()):
        message = (
            f"{VARIABLE} is 'require', but {reason}; install the package again where there is a C "
            f"compiler, in a clone of the repository by `make setup`"
        )
        raise ImportError(message)
    if chosen == "off":
        # After the finders of extension modules, Python would never ask this one.
        sys.path_hooks.insert(0, _find_sources_alone)
        for path in [path for path in sys.path_importer_cache if _is_ours(path)]:
            del sys.path_importer_cache[path]


@cache
def mode() -> Literal["compiled", "interpreted"]:
    """Return how the modules of the hot path run in this process.

    Each report of the status tells it, so the folders are listed once.
    """
    return "interpreted" if why_interpreted() else "compiled"


def description() -> str:
    """Return `compiled`, or `interpreted` with the reason, for people."""
    reason = why_interpreted()
    return f"interpreted: {reason}" if reason else "compiled"


def why_interpreted() -> str | None:
    """Return why the modules of the hot path run interpreted, or None where they run compiled."""
    if choice() == "off":
        return f"{VARIABLE} is 'off'"
    folders = _folders()
    expected = _source_names(folders)
    missing = [name for name in expected if not _has_extension(name, folders)]
    if not missing:
        return None
    if len(missing) == len(expected):
        return f"no module was compiled for {sys.implementation.cache_tag}"
    names = ", ".join(missing)
    return f"these modules were not compiled for {sys.implementation.cache_tag}: {names}"


def _folders() -> dict[str, set[str]]:
    """Return the names of the files in each folder of the package.

    They are listed once, because a process that requires extension modules looks at each start: a
    glob for each pattern would take four times as long.
    """
    root = str(PACKAGE)
    return {folder[len(root) + 1 :]: set(names) for folder, _, names in os.walk(root)}


def _source_names(folders: dict[str, set[str]]) -> list[str]:
    return sorted(_matching(COMPILED, folders) - _matching(NOT_COMPILED, folders))


def _matching(patterns: Iterable[str], folders: dict[str, set[str]]) -> set[str]:
    """Return the files of patterns; `**` is a folder at any depth, and `*` starts any name."""
    found: set[str] = set()
    for pattern in patterns:
        place, _, wanted = pattern.rpartition("/")
        above = place.removesuffix("**")
        if place == above:
            searched = [place]
        else:
            searched = [folder for folder in folders if f"{folder}/".startswith(above)]
        for folder in searched:
            for name in folders.get(folder, ()):
                if name == wanted or (wanted.startswith("*") and name.endswith(wanted[1:])):
                    found.add(f"{folder}/{name}" if folder else name)
    return found


def _has_extension(source: str, folders: dict[str, set[str]]) -> bool:
    folder, _, name = source.removesuffix(".py").rpartition("/")
    return any(name + suffix in folders[folder] for suffix in EXTENSION_SUFFIXES)


def _find_sources_alone(path: str) -> FileFinder:
    if not _is_ours(path):
        reason = "not a folder of the connector"
        raise ImportError(reason, path=path)
    return FileFinder(path, (SourceFileLoader, SOURCE_SUFFIXES))


def _is_ours(path: str) -> bool:
    return Path(path).is_relative_to(PACKAGE)
