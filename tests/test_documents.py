"""The documents name files, commands and settings that exist, in standard words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.cli.commands import command_of
from connector.foundation.compiled import COMPILED
from connector.foundation.ecs import NAMES
from connector.foundation.settings.sections import Settings
from stream_jobs.settings import Settings as JobSettings
from tests.application import parser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# Each package has a page for those who change it.
PACKAGES = [
    *sorted(path.parent for path in ROOT.glob("connector/*/__init__.py")),
    *(ROOT / name for name in ("stream_jobs", "verification", "local_stack")),
]
READMES = [package / "README.md" for package in PACKAGES]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *READMES])
# Written by `make`, from settings, the catalogue of errors, the golden files, and runs on servers.
GENERATED = {"configuration.md", "coverage.md", "errors.md", "schema-changes.md"}
WRITTEN = [
    *(page for page in PAGES if page.name not in GENERATED),
    *sorted(ROOT.glob("configs/*.toml")),
    *sorted(ROOT.glob("configs/mysql/*")),
]
# Words that readers stumble over, with the standard ones.
ODD_WORDS = {
    r"at hand": "current",
    r"whoever": "a noun, such as: the user, an account",
    r"anew": "again",
    r"told apart": "distinguished",
    r"in the manner of": "like",
    r"what is there": "a noun, such as: the rows, the topics",
    r"behind (?:it|them|that|this|these|those|which)": "after",
    r"where (?:there is|there are|there were|none|nothing|nobody)": "if",
    r"mend(?:s|ed|ing)?": "fix",
}
# More of them, for docstrings and comments of the rooms below.
ODD_WORDS_OF_CODE = ODD_WORDS | {
    # How far a stream is behind its source is the usual word.
    r"(?<!far )behind": "after",
    r"(?<!takes )(?:a|the|one|which|no such) places?": "the server, position, index or sequence",
    r"(?:be|is|are|was|were) carried|(?:can|could|cannot) carry": "publish",
    r"who (?:has|is|asks|reads|writes)": "a noun, such as: the caller, a session",
}
CONNECTOR = sorted(path.parent.name for path in ROOT.glob("connector/*/__init__.py"))
SECTIONS = {
    name
    for settings in (Settings, JobSettings)
    for name, field in settings.model_fields.items()
    if hasattr(field.annotation, "model_fields")
}


@pytest.fixture(params=PAGES, ids=_name)
def page(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*)#([^)]*)\)", page.read_text("utf-8"))
    pages = {link: page.parent / link if link else page for link, _ in links}
    headings = {link: _headings(at) for link, at in pages.items() if at.suffix == ".md"}
    assert [f"{link}#{name}" for link, name in links if name not in headings.get(link, name)] == []


def test_every_target_of_make_exists(page: Path) -> None:
    rules = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)(?=[`\s])", _code(page)):
        assert re.search(rf"(?m)^{target}:", rules), target


def test_every_command_and_option_that_is_shown_exists(page: Path) -> None:
    shown = re.findall(r"(?m)(?<![\w./-])binlog-connector +([a-z][a-z-]*(?![-:\w]).*)", _code(page))
    for line in (line for line in shown if "|" not in line.partition(" #")[0]):
        words = line.partition(" #")[0].replace("`", " ").split()
        names, command, words = command_of(words)
        assert not command.commands, line
        known = parser(*names).options().keys()
        named = {re.split("[=:]", word)[0] for word in words if re.match("--?[a-z]", word)}
        assert named <= known, line


def test_every_setting_that_is_named_exists(page: Path) -> None:
    """A name such as `kafka.partitions`, of a section of the connector or of the Spark job."""
    names = re.findall(r"`([a-z_]+)((?:\.[a-z_]+)+)(?= = |`)", page.read_text("utf-8"))
    for section, keys in names:
        # Lines of the log have names such as `log.level`, too, and modules such as `log.py`.
        is_other = section + keys in NAMES.values() or keys.endswith((".py", ".html"))
        if section in SECTIONS and not is_other:
            assert _exists(section + keys), section + keys


def test_every_path_that_the_architecture_names_exists() -> None:
    """A path begins at the repository, or below connector/."""
    pages = [_architecture(), *(page.read_text("utf-8") for page in ROOT.glob("docs/design/*.md"))]
    names = set(re.findall(r"`([a-z_/0-9-]+(?:\.(?:py|md|toml|yml)|/))`", "\n".join(pages)))
    assert len(names) > 50
    missing = [
        name
        for name in sorted(names)
        if not (ROOT / name).exists() and not (ROOT / "connector" / name).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES, ids=_name)
def test_the_readme_of_a_package_names_each_of_its_modules(package: Path) -> None:
    """All but the catalogues of errors, whose names tell what they are."""
    modules = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.name != "__init__.py" and not path.name.endswith("_errors.py")
    }
    assert modules - _files_of_readme(package).keys() == set()


@pytest.mark.parametrize("package", PACKAGES, ids=_name)
def test_every_path_that_a_readme_names_exists(package: Path) -> None:
    files = _files_of_readme(package)
    assert files
    assert [name for name, there in files.items() if not there] == []
    text = (package / "README.md").read_text("utf-8")
    folders = re.findall(r"`((?:tests|docs|connector|configs)/[a-z_/]+)`", text)
    assert [name for name in folders if not (ROOT / name).is_dir()] == []


@pytest.mark.parametrize("package", PACKAGES, ids=_name)
def test_every_function_and_class_that_a_readme_names_exists(package: Path) -> None:
    text = (package / "README.md").read_text("utf-8")
    text = re.sub(r"(?s)```.*?```", "", text)
    named = re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)(?:\([^`]*\))?`", text)
    files = (".py", ".md", ".toml", ".html")
    words = {word for name in named if not name.endswith(files) for word in name.split(".")}
    assert words - _words_of_code() == set()


def test_the_readme_of_a_package_names_its_compiled_modules() -> None:
    """A folder stands for all modules in it."""
    wanted: dict[str, set[str]] = {}
    for pattern in COMPILED:
        package, _, own = pattern.partition("/")
        if own != "**/*.py":
            wanted.setdefault(package, set()).add(re.sub(r"(?:\*\*/)?\*\.py$", "", own))
    assert "stream" in wanted
    for package, names in wanted.items():
        text = (ROOT / "connector" / package / "README.md").read_text("utf-8")
        paragraph = text.partition("**Compiled**")[2].partition("\n\n")[0]
        assert set(re.findall(r"`([^`]+)`", paragraph)) == names, package


def test_the_architecture_fits_on_a_few_pages() -> None:
    assert len(_architecture().encode()) <= 20_000


def test_the_architecture_leads_to_the_readme_of_every_package() -> None:
    links = set(re.findall(r"\]\(([a-z_/]+/README\.md)\)", _architecture()))
    assert links == {_name(page) for page in READMES}


def test_the_glossary_has_at_most_twenty_words() -> None:
    table = _architecture().partition("## Glossary")[2].partition("\n## ")[0]
    words = re.findall(r"(?m)^\| ([a-z ]+) \|", table)
    assert "epoch" in words
    assert len(words[1:]) <= 20


@pytest.mark.parametrize("written", WRITTEN, ids=_name)
def test_documents_have_standard_words(written: Path) -> None:
    assert _odd(written.read_text("utf-8"), ODD_WORDS) == {}


@pytest.mark.parametrize("package", CONNECTOR)
def test_docstrings_and_comments_have_standard_words(package: str) -> None:
    modules = sorted((ROOT / "connector" / package).rglob("*.py"))
    assert modules
    found = {
        f"{module.relative_to(ROOT)}: {odd}": standard
        for module in modules
        for text in _explanations(module.read_text("utf-8"))
        for odd, standard in _odd(text, ODD_WORDS_OF_CODE).items()
    }
    assert found == {}


@pytest.mark.parametrize("package", [*PACKAGES, ROOT / "tests", ROOT / "benchmarks"], ids=_name)
def test_every_module_that_docstrings_and_comments_name_exists(package: Path) -> None:
    """A path begins at a folder in which the module lies, or at the repository."""
    own = [path for path in package.rglob("*.py") if path != Path(__file__)]
    missing = {
        f"{_name(path)}: {name}"
        for path in own
        if ".py`" in (source := path.read_text("utf-8"))
        for text in _explanations(source)
        for name in re.findall(r"`([a-z_][\w/]*\.py)`", text)
        if not any((folder / name).exists() for folder in _folders_of(path))
    }
    assert missing == set()


def _folders_of(module: Path) -> list[Path]:
    """Return the folders in which a module lies, up to the repository."""
    return [folder for folder in module.parents if folder.is_relative_to(ROOT)]


def _odd(text: str, words: dict[str, str]) -> dict[str, str]:
    """Return the odd words in a text, each with the standard one."""
    line = " ".join(text.split())
    return {
        match[0]: standard
        for odd, standard in words.items()
        for match in re.finditer(rf"(?i)\b(?:{odd})\b", line)
    }


def _explanations(source: str) -> Iterator[str]:
    """Yield the docstrings of a module, and its comments; lines of one comment come as one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""
    comment, last_line = "", -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last_line + 1:
                yield comment
                comment = ""
            comment += token.string.lstrip("#")
            last_line = token.start[0]
    yield comment


def _files_of_readme(package: Path) -> dict[str, bool]:
    """Return the files that a README names, as paths in its package, and whether they exist.

    A name below a heading such as `### changes: …` is one of that folder.
    """
    files: dict[str, bool] = {}
    room = package
    for line in (package / "README.md").read_text("utf-8").splitlines():
        if line.startswith("#"):
            heading = re.match(r"### ([a-z_]+):", line)
            room = package / heading[1] if heading else package
        for name in re.findall(r"`([\w./-]+\.(?:py|md|toml|yml|html))`", line):
            path = next((at / name for at in (room, package, ROOT) if (at / name).exists()), None)
            is_own = path is not None and path.is_relative_to(package)
            files[path.relative_to(package).as_posix() if path and is_own else name] = bool(path)
    return files


@cache
def _words_of_code() -> frozenset[str]:
    """Return all words of the sources, of tests, and of configuration files."""
    folders = ("connector", "stream_jobs", "verification", "local_stack", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    files += [ROOT / "pyproject.toml", *ROOT.glob("configs/*.toml")]
    return frozenset(word for path in files for word in re.findall(r"\w+", path.read_text("utf-8")))


@cache
def _headings(page: Path) -> frozenset[str]:
    """Return the headings of a page in the form that links have."""
    text = re.sub(r"(?s)```.*?```", "", page.read_text("utf-8"))
    found = [
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", each) for each in re.findall(r"(?m)^#+ (.*)", text)
    ]
    return frozenset(re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in found)


def _architecture() -> str:
    return (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def _code(page: Path) -> str:
    """Return what a page has in code: in lines of their own, and between backticks."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"(?s)```.*?\n(.*?)```", text)
    return "\n".join([*blocks, *re.findall(r"`[^`\n]+`", text)])


def _exists(name: str) -> bool:
    return any(_is_key(settings, name) for settings in (Settings, JobSettings))


def _is_key(settings: object, name: str) -> bool:
    section = settings
    for key in name.split("."):
        fields = getattr(section, "model_fields", {})
        if key not in fields:
            return False
        section = fields[key].annotation
    return True
