from __future__ import annotations

import re
import subprocess
import sys

import pytest

from connector.foundation.errors.catalogue import codes


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "connector", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("given", ["L103", "l103", "[L103]"])
def test_a_code_is_explained_by_text_cause_fix_end_and_example(given: str) -> None:
    said = explain(given)
    assert said.returncode == 0
    assert said.stdout == (
        "L103  Bytes of a log\n\n"
        "Text\n"
        "  <file>:<position>: the file ends inside an event: need <needed> bytes, but <found> are "
        "left\n\n"
        "Cause\n"
        "  The server died while it wrote the file, or the file was copied while it was written."
        "\n\n"
        "Fix\n"
        "  Every event before <position> is complete\n\n"
        "Then\n"
        "  The command ends with exit code 3. Without the fix, a restart does not help.\n\n"
        "Example\n"
        "  [L103] binlog.000042:1187: the file ends inside an event: need 19 bytes, but 7 are left"
        "; every event before 1187 is complete\n"
    )


def test_without_a_code_all_are_listed() -> None:
    said = explain()
    assert said.returncode == 0
    assert {line.split()[0] for line in said.stdout.splitlines() if line} >= codes().keys()


def test_a_code_that_does_not_exist_is_answered_by_the_nearest_ones() -> None:
    said = explain("L10")
    assert said.returncode == 2
    assert said.stderr.endswith(
        "there is no error code 'L10'; did you mean L180, L130, L105? Run `binlog-connector "
        "explain` for a list of all codes\n"
    )
    said = explain("nonsense")
    assert said.returncode == 2
    assert said.stderr.endswith(
        "there is no error code 'nonsense'; run `binlog-connector explain` for a list of all "
        "codes\n"
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["access", "denied"], "S222"),
        (["ERROR 1045 (28000): Access denied for user 'cdc'@'db' (using password: YES)"], "S222"),
        (["Could not find first log file name in binary log index file"], "S502"),
        (["no space left"], "M502"),
        (["[mirror] failed: [M502] /data: No space left on device"], "M502"),
        (["replication", "slave", "missing"], "S222"),
    ],
)  # fmt: skip
def test_words_of_an_error_find_its_codes(words: list[str], code: str) -> None:
    said = explain(*words)
    assert said.returncode == 0
    assert code in {line.split()[0] for line in said.stdout.splitlines() if line}


def test_a_number_that_was_replaced_is_explained_by_the_code_that_took_its_place() -> None:
    said = explain("L435")
    assert said.returncode == 0
    first, _, page = said.stdout.partition("\n\n")
    assert first == "L435 was replaced by L182: a time has a minute or a second above 59"
    assert page == explain("L182").stdout
    assert "\n  a time has a minute or a second above 59\n" in page
    line = "[L435] binlog.000042:1187: cannot decode WRITE_ROWS_EVENT: a time has a minute above 59"
    assert explain(line).stdout == page


def test_a_number_of_a_text_around_others_says_to_look_at_the_code_before_it() -> None:
    said = explain("L102")
    assert said.returncode == 0
    assert said.stdout == (
        "L102 was a part of the texts of other codes: <file>:<position>: cannot decode <event>: "
        "<why>\nLook at the code in brackets before the text.\n"
    )


def test_what_ends_by_a_second_signal_says_one_exit_code() -> None:
    said = explain("R801").stdout
    assert re.findall(r"exit code (\d+)", said) == ["130"]
