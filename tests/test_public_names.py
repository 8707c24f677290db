"""What users import and start goes on to exist under the names of README and docs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.selection import PROJECT

OF_LOGS = ("BinlogReader", "RowChange", "Transaction", "open_binlog", "open_binlogs")
ERRORS = (
    "ConfigError",
    "ConnectorError",
    "EventError",
    "LogRefused",
    "LogTruncated",
    "SourceRefused",
    "SourceUnavailable",
)
PUBLIC = {
    "connector.binlog": OF_LOGS,
    "connector.binlog.event": ("EventBody",),
    "connector.errors": ERRORS,
    "connector.lake": ("Lake", "mirror"),
    "connector.reader": (*OF_LOGS, "open_server"),
    "connector.reader.spark": ("register",),
    "stream_jobs.cuts": ("Cut", "cut_at", "latest_cut", "read_cuts"),
    "stream_jobs.cuts.reader": ("mirror_at",),
    "stream_jobs.cuts.spark": ("mirror_at",),
}
PROGRAMS = {
    "binlog-connector": ("connector.cli:main", "connector"),
    "binlog-connector-mirror": ("stream_jobs.__main__:main", "stream_jobs"),
}
# The generated pages name settings and codes, and no modules.
PAGES = [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")]
IMPORT = re.compile(r"^from ((?:connector|stream_jobs)[\w.]*) import (.+)$", re.MULTILINE)


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_module_has_the_names_that_users_import(module: str) -> None:
    loaded = import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(loaded, name)] == []


def test_the_documents_import_public_names_alone() -> None:
    imported: defaultdict[str, set[str]] = defaultdict(set)
    for page in PAGES:
        for module, names in IMPORT.findall(page.read_text("utf-8")):
            imported[module] |= {name.strip() for name in names.split(",")}
    assert {"connector.reader", "stream_jobs.cuts.spark"} <= imported.keys()
    others = {module: names - {*PUBLIC.get(module, ())} for module, names in imported.items()}
    assert {module: names for module, names in others.items() if names} == {}


def test_the_package_installs_the_programs_of_the_documents() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {name: target for name, (target, _) in PROGRAMS.items()}
    assert all(callable(resolve_name(target)) for target, _ in PROGRAMS.values())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_and_its_module_give_the_same_help(program: str) -> None:
    _, module = PROGRAMS[program]
    script = [str(Path(sys.executable).with_name(program))]
    texts = [
        subprocess.check_output([*command, "--help"], cwd=PROJECT, text=True).splitlines()
        for command in (script, [sys.executable, "-m", module])
    ]
    # The first line says what was typed.
    own, of_module = ([line for line in text if "usage:" not in line.lower()] for text in texts)
    assert own == of_module
    assert any("run" in line for line in own)
