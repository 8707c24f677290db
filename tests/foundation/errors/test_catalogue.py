"""The catalogue of errors holds together, and product code gives each code its facts."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from connector.foundation.errors.catalogue import EXAMPLES, codes, example, retired
from connector.foundation.errors.code import End, ErrorCode
from connector.foundation.errors.message import Message, Words
from connector.foundation.settings.sections import Settings
from tests.foundation.errors.catalogue import CODES, GROUPS, ROOT, names_of, uses
from tests.foundation.errors.strings import strings_of

if TYPE_CHECKING:
    from collections.abc import Iterator


NUMBERS = Path(__file__).parent / "numbers.txt"
NUMBER = re.compile(r"[CSLTKRMVP][1-9][0-9]{2}")
# Fewer fixed letters than this could stand in any string by chance.
LETTERS_MIN = 8

# They walk all sources, which takes seconds: one worker does it once.
one_worker = pytest.mark.xdist_group("uses of codes")


def test_no_two_codes_have_the_same_number() -> None:
    numbers = [code.code for code in CODES.values() if code.code and code.group is None]
    assert sorted(set(numbers)) == sorted(numbers)


def test_each_number_that_was_ever_used_is_in_use_or_retired_and_no_other_is() -> None:
    """A number goes into the file with its code, and never comes out again."""
    gone = [number for code in CODES.values() for number in code.was.split()]
    assert sorted(set(gone)) == sorted(gone)
    assert not codes().keys() & set(gone)
    assert sorted([*codes(), *gone]) == sorted(NUMBERS.read_text("utf-8").split())


def test_no_page_but_the_one_of_codes_names_a_retired_number() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        f"{page.relative_to(ROOT)}: {number}"
        for page in pages
        if page.name not in {"CHANGELOG.md", "errors.md"}
        for number in re.findall(rf"\b{NUMBER.pattern}\b", page.read_text("utf-8"))
        if number in retired()
    }
    assert named == set()


def test_what_has_no_number_is_a_part_of_a_text_and_ends_nothing() -> None:
    plain = ErrorCode("", "")
    wrong = [
        name
        for name, code in CODES.items()
        if not code.code and (code.end, code.scope, code.cause) != (plain.end, plain.scope, "")
    ]
    assert not wrong, wrong


def test_a_reason_has_the_number_of_its_group_and_no_place_for_another_reason() -> None:
    wrong = [
        name
        for name, code in CODES.items()
        if code.group is not None and (code.code != code.group.code or "reason" in code.facts)
    ]
    assert not wrong, wrong


def test_a_number_is_the_letter_of_a_group_and_three_digits() -> None:
    odd = [number for number in codes() if not NUMBER.fullmatch(number)]
    assert not odd, odd


def test_an_example_has_a_value_for_each_fact() -> None:
    wrong = [
        name
        for name, code in CODES.items()
        if code.code and code.group is None and name not in GROUPS
        if code.example.keys() - code.facts or code.facts - {*EXAMPLES, *code.example}
    ]
    assert not wrong, wrong
    for name, code in CODES.items():
        if code.code and code.group is None:
            for words in Words:
                assert Message(code, example(code), words).text, name


def test_a_cause_is_of_whole_sentences_without_facts() -> None:
    sentences = re.compile(r"[A-Z-][^{}]*[.]")
    wrong = [
        f"{name}: {code.cause}"
        for name, code in CODES.items()
        if code.code and not sentences.fullmatch(code.cause)
    ]
    assert not wrong, "\n".join(wrong)


# What the words of a code must not say, as its end says something else.
CONTRADICTIONS = {
    End.CONFIGURATION: r"tries again|goes on by itself",
    End.DEFINITE: r"tries again|by itself|the next (run|attempt)|the attempt is repeated",
    End.INTERRUPTED: r"cannot",
    End.RETRIED: r"start (it|the process|the pipeline) again|cannot go on",
    End.LOGGED: r"start (it|the process|the pipeline|the job) again|ends the (run|stream|job)",
}
EXIT_CODE = re.compile(r"exit code (?:is )?(\d+)", re.IGNORECASE)


def test_no_code_contradicts_its_end() -> None:
    wrong = []
    for name, code in CODES.items():
        said = " ".join((code.what, code.fix, code.cause, code.url_fix or "", code.fence_fix or ""))
        if any(number != code.end.value for number in EXIT_CODE.findall(said)):
            wrong.append(f"{name}: another exit code than that of {code.end}")
        contradiction = CONTRADICTIONS.get(code.end)
        if contradiction is not None and (found := re.search(contradiction, said, re.IGNORECASE)):
            wrong.append(f"{name}, which is {code.end}: {found[0]}")
    assert not wrong, "\n".join(wrong)


def test_a_frame_frames_a_reason() -> None:
    wrong = [name for name, code in CODES.items() if code.frame and "why" not in code.facts]
    assert not wrong, wrong


def test_the_settings_that_a_text_names_exist() -> None:
    known = set(settings(Settings))
    wrong = {name: code.settings - known for name, code in CODES.items() if code.settings - known}
    assert not wrong, wrong


def settings(model: type[BaseModel], group: str = "") -> Iterator[str]:
    """Yield the names of settings and of their groups."""
    for name, field in model.model_fields.items():
        yield f"{group}{name}"
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from settings(kind, f"{group}{name}.")


@one_worker
def test_a_code_is_given_its_facts() -> None:
    wrong = [
        f"{use.location}: {use.name} needs {sorted(use.code.facts)}, not {sorted(use.facts)}"
        for use in uses()
        if use.facts is not None and use.facts != use.code.facts
    ]
    assert not wrong, "\n".join(wrong)


@one_worker
def test_each_code_is_used() -> None:
    used = {use.name for use in uses()}
    assert not CODES.keys() - used - GROUPS, sorted(CODES.keys() - used - GROUPS)


def test_each_code_is_provoked() -> None:
    """A test names the constant or the number of a code, or has its text with values in it."""
    named: set[str] = set()
    strings: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        nodes = list(ast.walk(tree))
        known = names_of(nodes)
        found = list(strings_of(tree, nodes))
        strings.update(string for string in found if " " in string)
        named.update(string for string in found if NUMBER.fullmatch(string))
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                named.add(f"{known.get(node.value.id)}.{node.attr}")
            elif isinstance(node, ast.Name):
                named.add(known.get(node.id, ""))
    whole = "\n".join(sorted(strings))
    missing = [
        name
        for name, code in CODES.items()
        # What a frame shows is the code of the error inside of it.
        if not code.frame
        and name not in named | GROUPS
        and (code.group is not None or code.code not in named)
        and not is_in(code, whole)
    ]
    assert not missing, missing


def is_in(code: ErrorCode, strings: str) -> bool:
    """Return whether one of the lines of `strings` has the text of a code without its advice."""
    parts = [(literal, name is not None) for literal, name, _, _ in Formatter().parse(code.what)]
    fixed = "".join(literal for literal, _ in parts)
    if sum(map(str.isalpha, fixed)) < LETTERS_MIN:
        return False
    pattern = "".join(re.escape(literal) + (".+" if filled else "") for literal, filled in parts)
    # A value at the beginning would be tried at each letter, to the end of its line.
    if pattern.startswith(".+"):
        pattern = pattern.replace(".+", ".", 1)
    return re.search(pattern, strings) is not None
