"""Who wants the demo or the product installs less than who develops it, of the same versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NAME = re.compile(r"[A-Za-z0-9_-]+")
# Servers in containers are for tests.
OF_TESTS = {"containers"}


def locked(file: str) -> dict[str, set[str]]:
    """Return the names of a file of requirements with their versions and hashes."""
    text = (ROOT / file).read_text("utf-8")
    entries = re.findall(r"^([a-z0-9-]+)==((?:.*\\\n)*.*)", text, re.MULTILINE)
    found: dict[str, set[str]] = {}
    for name, rest in entries:
        version, *_ = rest.split()
        found.setdefault(name, set()).update({version, *re.findall(r"sha256:\w+", rest)})
    return found


def names(requirements: list[str]) -> set[str]:
    found = (NAME.match(each) for each in requirements)
    return {name[0].lower() for name in found if name is not None} - {"binlog-connector"}


def test_the_product_has_the_same_versions_as_the_tests() -> None:
    product, every = locked("requirements-product.lock"), locked("requirements.lock")
    assert product.keys() < every.keys()
    assert [name for name in product if product[name] - every[name]] == []


def test_the_product_has_its_extras_and_nothing_that_is_for_tests_alone() -> None:
    project = PROJECT["project"]
    wanted = names(project["dependencies"])
    for extra, requirements in project["optional-dependencies"].items():
        if extra not in OF_TESTS:
            wanted |= names(requirements)
    product = locked("requirements-product.lock").keys()
    assert wanted <= product
    others = [each for each in PROJECT["dependency-groups"]["dev"] if isinstance(each, str)]
    assert names(others).isdisjoint(product)
