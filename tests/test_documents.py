"""The documents name files, commands and settings that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from connector.settings.sections import Settings

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SECTIONS = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if hasattr(field.annotation, "model_fields")
}


@pytest.fixture(params=PAGES, ids=lambda page: page.name)
def page(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_target_of_make_exists(page: Path) -> None:
    rules = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)(?=[`\s])", _code(page)):
        assert re.search(rf"(?m)^{target}:", rules), target


def test_every_setting_that_is_named_exists(page: Path) -> None:
    """A name such as `kafka.partitions`, of a section of configs/connector.toml."""
    names = re.findall(r"`([a-z_]+)((?:\.[a-z_]+)+)(?= = |`)", page.read_text("utf-8"))
    for section, keys in names:
        if section in SECTIONS:
            assert _exists(section + keys), section + keys


def test_every_module_that_the_architecture_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/**/*.py")}
    names = set(re.findall(r"`([a-z_/0-9]+\.py)`", text))
    assert len(names) > 50
    missing = [
        name
        for name in sorted(names - {"setup.py"})
        if not any(file.endswith(f"/{name}") or file == name for file in files)
    ]
    assert missing == []


def _code(page: Path) -> str:
    """Return what a page has in code: in lines of their own, and between backticks."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"(?s)```.*?\n(.*?)```", text)
    return "\n".join([*blocks, *re.findall(r"`[^`\n]+`", text)])


def _exists(name: str) -> bool:
    section: object = Settings
    for key in name.split("."):
        fields = getattr(section, "model_fields", {})
        if key not in fields:
            return False
        section = fields[key].annotation
    return True
