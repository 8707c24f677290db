"""The mirror can be taken out alone: its README names all that it imports of the connector."""

from __future__ import annotations

import ast
import re

from tests.selection import PROJECT

README = PROJECT / "stream_jobs" / "README.md"
FOUNDATION = "connector/foundation/"


def imported_files() -> dict[str, str]:
    """Return the files of the connector that the mirror imports, each with an importing one."""
    found = {}
    for path in sorted((PROJECT / "stream_jobs").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith("connector."):
                    found[file_of(name)] = path.relative_to(PROJECT).as_posix()
    return found


def file_of(name: str) -> str:
    """Return the file of a module, or of the module that has this name."""
    path = PROJECT.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file.relative_to(PROJECT).as_posix()
    return file_of(name.rpartition(".")[0])


def is_in(file: str, place: str) -> bool:
    return file.startswith(place) if place.endswith("/") else file == place


def test_the_readme_names_what_the_mirror_imports_beside_the_foundation() -> None:
    places = re.findall(r"`(connector/[\w/]+(?:\.py|/))`", README.read_text("utf-8"))
    imported = imported_files()
    unnamed = {
        file: path
        for file, path in imported.items()
        if not any(is_in(file, place) for place in [*places, FOUNDATION])
    }
    assert unnamed == {}
    assert [place for place in places if not any(is_in(file, place) for file in imported)] == []
