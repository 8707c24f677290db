"""The parser as a library of its own: a wheel of it, in an environment that has nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from venv import EnvBuilder

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGING = PROJECT / "packaging" / "binlog"
METADATA = tomllib.loads((PACKAGING / "pyproject.toml").read_text("utf-8"))["project"]
FOLDER = PROJECT / "tests" / "golden" / "files" / "mysql-8.0.31"
# Values of all types, and transactions that are compressed.
LOGS = [FOLDER / "types.000001", FOLDER / "compression.000001"]
READ = """
import sys
from connector.binlog import open_binlogs

def rows(logs):
    with open_binlogs(logs) as log:
        for change in log.row_changes():
            print(change)

def batches(logs):
    with open_binlogs(logs) as log:
        for item in log.to_arrow(dates_as_text=True):
            print(item.table, item.batch.schema, item.batch.to_pylist())

rows(sys.argv[1:])
batches(sys.argv[1:])
"""
# No module of the parser asks for more than the wheel brings, or its requirements.
FILES = """
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
import connector.binlog, connector.errors
for module in walk_packages(connector.binlog.__path__, "connector.binlog."):
    import_module(module.name)
folder = Path(connector.__file__).parent
print(folder, *sorted(path.name for path in folder.iterdir()))
"""


def requirements() -> list[str]:
    optional = METADATA["optional-dependencies"].values()
    return [*METADATA["dependencies"], *(item for extra in optional for item in extra)]


def environment_with(names: list[str], folder: Path) -> tuple[Path, Path]:
    """Make an environment that has these distributions, of those installed here, and no pip.

    Return its Python and its folder of packages.
    """
    EnvBuilder(with_pip=False).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in names:
        installed = distribution(name)
        tops = {Path(file).parts[0] for file in installed.files or () if ".." not in str(file)}
        for top in tops - {"__pycache__"}:
            (packages / top).symlink_to(Path(str(installed.locate_file(top))))
    return folder / "bin" / "python", packages


def run(*command: str | Path, cwd: Path) -> str:
    # Neither the sources of the project nor the way in which the tests run it.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=kept | {"CONNECTOR_COMPILED": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_parser_asks_for_packages_as_the_whole_product_does() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    assert set(requirements()) <= {*project["dependencies"], *optional["arrow"]}


def test_a_wheel_of_the_parser_alone_reads_a_log_to_objects_and_to_arrow(tmp_path: Path) -> None:
    names = [re.split(r"[><=]", requirement)[0] for requirement in requirements()]
    if any(find_spec(name) is None for name in ("pip", "setuptools")):
        pytest.skip("pip and setuptools are not installed, which build and install the wheel")
    try:
        python, packages = environment_with(names, tmp_path / "environment")
    except PackageNotFoundError as error:
        pytest.skip(f"the parser needs a package that is not installed: {error.name}")
    run(sys.executable, PACKAGING / "build_wheel.py", tmp_path / "dist", cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").iterdir()
    # pip refuses where the wheel needs more than there is.
    pip = ("pip", "--python", python, "--disable-pip-version-check")
    run(sys.executable, "-m", *pip, "install", "--no-index", f"{wheel}[arrow]", cwd=tmp_path)
    files = "__init__.py __pycache__ binlog errors.py foundation py.typed"
    assert run(python, "-c", FILES, cwd=tmp_path) == f"{packages / 'connector'} {files}\n"
    output = run(python, "-c", READ, *LOGS, cwd=tmp_path)
    assert "RowChange(database='golden', table='integers', op='insert'" in output
    assert output == run(sys.executable, "-c", READ, *LOGS, cwd=PROJECT)
