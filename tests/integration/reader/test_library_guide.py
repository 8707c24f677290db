from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.library_guide import examples, shop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server


def test_the_examples_of_the_guide_print_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {}
    with shop(tmp_path) as url:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SOURCE_URL", url)
        for example in examples():
            # It needs a session, and runs beside the tests that have one.
            if example.chapter != "Spark":
                assert example.run(names) == example.output, example.code
