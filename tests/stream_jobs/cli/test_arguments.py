"""The arguments of `binlog-connector-mirror`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from stream_jobs.run import arguments
from stream_jobs.run.arguments import parsed


def test_a_configuration_file_alone_means_run() -> None:
    for given in (["job.toml"], ["run", "job.toml"]):
        found = parsed(given)
        assert (found.command, found.configs) == ("run", [Path("job.toml")])


def test_a_record_is_a_partition_and_an_offset() -> None:
    given = ["resume", "job.toml", "shop.orders", "--skip-record", "1:4711", "--skip-record=0:7"]
    found = parsed(given)
    assert (found.tables, found.skip_record) == (["shop.orders"], [(1, 4711), (0, 7)])


@pytest.mark.parametrize(
    "given",
    [
        "resume job.toml shop.a shop.b --rebuild",
        "resume job.toml --rebuild shop.a shop.b",
        "resume --rebuild job.toml shop.a shop.b",
        "resume job.toml shop.a --rebuild shop.b",
    ],
)
def test_options_stand_anywhere(given: str) -> None:
    found = parsed(given.split())
    assert (found.config, found.tables, found.rebuild) == (
        Path("job.toml"),
        ["shop.a", "shop.b"],
        True,
    )


WRONG = [
    ("", "the following arguments are required: COMMAND"),
    ("resume job.toml --rebiuld shop.a", "no such option: --rebiuld; did you mean --rebuild?"),
    ("status job.toml shop.a", "unrecognized arguments: shop.a"),
    ("resume job.toml", "name the tables, or use --all"),
    ("resume job.toml shop.a --all", "name the tables, or use --all"),
    ("resume job.toml --all --skip-record 1:2", "--skip-record needs exactly one table"),
    (
        "resume job.toml shop.a --skip-record 12",
        "argument --skip-record: '12' is not PARTITION:OFFSET, such as 1:4711",
    ),
    (
        "drop-shards job.toml ''",
        "argument PREFIX: '' is not a kafka.topic_prefix: use letters, digits, _ and -",
    ),
    (
        "drop-shards job.toml ../us --yes",
        "argument PREFIX: '../us' is not a kafka.topic_prefix: use letters, digits, _ and -",
    ),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_wrong_arguments_are_told_and_the_exit_code_is_2(
    capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    with pytest.raises(SystemExit) as end:
        parsed(shlex.split(given))
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {said}\n")


@pytest.mark.parametrize("command", ["status", "cuts", "replica", "resume", "drop-shards"])
def test_every_example_of_the_help_can_be_used(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit):
        parsed([command, "-h"])
    shown = capsys.readouterr().out
    examples = re.findall(r"^ +binlog-connector-mirror (.*)$", shown, re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:
        assert parsed(example.split()).command == command


def test_the_help_of_the_program_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parsed(["--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^  (\w[\w-]*)  ", shown, re.MULTILINE) == list(arguments.COMMANDS)
    assert len(re.findall(r"^ +binlog-connector-mirror ", shown, re.MULTILINE)) == 6


def test_the_script_for_spark_submit_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(["--script"])
    assert caught.value.code == 0
    script = Path(capsys.readouterr().out.removesuffix("\n"))
    assert (script.parent.name, script.name, script.is_file()) == (
        "stream_jobs",
        "__main__.py",
        True,
    )
