"""The page with every key is current, and complete."""

from __future__ import annotations

import re

import pytest

from tests.foundation.settings.key_types import default_of, limits_of, type_of
from tests.foundation.settings.page import PAGE, PROGRAMS, ROOT, page
from tests.foundation.settings.reference_file import meanings
from tests.foundation.settings.test_sections import keys_of


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "`make configuration-page` writes it"


@pytest.mark.parametrize("name", [name for _, _, name in PROGRAMS])
def test_every_key_of_a_file_is_explained(name: str) -> None:
    said = meanings(ROOT / "configs" / name)
    keys = next(keys_of(settings) for _, settings, file in PROGRAMS if file == name)
    # Those of a list of sections have texts of their own.
    assert [key for key in keys if not said.get(key)] == []


def test_every_key_has_its_heading_and_variable() -> None:
    text = page()
    for _, settings, _ in PROGRAMS:
        for key in keys_of(settings).keys() - {"tables"}:
            variable = settings.variable(key)
            assert re.search(rf"#### `{key}`\n\n(.+\n)+`{variable}`\n\n\S", text), key


def test_types_limits_and_defaults_are_in_words() -> None:
    (_, settings, _), (_, of_job, _) = PROGRAMS
    keys, job_keys = keys_of(settings), keys_of(of_job)

    def words(key: str) -> tuple[str, str, str | None]:
        field = keys[key]
        return type_of(field), limits_of(field), default_of(field)

    assert words("source.port") == ("integer", "1 to 65,535", "`3306`")
    assert words("source.password") == ("text, kept secret", "", '`""`')
    assert words("source.server_id") == ("integer", "1 to 4,294,967,295", None)
    assert words("source.connect_timeout_seconds")[1] == "more than 0, at most 3,600"
    assert words("metrics.listen") == ("address, `HOST:PORT`", "", "none")
    assert words("log.format")[0] == 'one of `"console"`, `"json"`'
    assert limits_of(job_keys["mirror.hash_salt"]) == "length at least 16"
