"""Several pipelines in one process: their files, and which two cannot run together."""

from __future__ import annotations

import io
import urllib.request
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from local_stack.server import free_port
from stream_jobs.errors import setting_errors, shard_errors
from stream_jobs.run.metrics import TableMetrics
from stream_jobs.run.pipeline_settings import configuration_files, load_pipelines, session_settings
from stream_jobs.run.process import SharedOutput, open_pipeline, run_files
from tests.stream_jobs.told import told

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

SHOP, CRM = "shop", "crm"


def configuration(folder: Path, name: str, **changed: str) -> Path:
    """Write the configuration of a pipeline, with keys changed."""
    keys = {
        "topic_prefix": name,
        "path": f"{folder}/mirrors/{name}",
        "checkpoint": f"{folder}/checkpoints/{name}",
        "listen": f"127.0.0.1:{9000 + len(name)}",
        "log_level": "ERROR",
        "file": name,
        "shared": "",
    } | changed
    file = folder / f"{keys['file']}.toml"
    file.write_text(
        f"""
name = "{name}"
[kafka]
bootstrap_servers = ["127.0.0.1:1"]
topic_prefix = "{keys["topic_prefix"]}"
[mirror]
path = "{keys["path"]}"
checkpoint = "{keys["checkpoint"]}"
{keys["shared"] and "shared = true"}
[metrics]
listen = "{keys["listen"]}"
[log]
format = "json"
[spark]
log_level = "{keys["log_level"]}"
[[tables]]
match = ["*.*"]
name = "shop.{{table}}"
shard = {{column = "region", value = "{name}"}}
""",
        encoding="utf-8",
    )
    return file


def test_no_variable_is_named_for_a_key_of_an_entry(tmp_path: Path) -> None:
    """A variable gives a list as a whole, so that one of its keys has none."""
    file = configuration(tmp_path, SHOP)
    file.write_text(file.read_text(encoding="utf-8").replace('column = "region", ', ""))
    with pytest.raises(ConfigError) as caught:
        load_pipelines([file])
    assert caught.value.text == (
        f"{file}: tables.0.shard.column is required; give it there, or set STREAM_JOB_TABLES"
    )


def test_a_pattern_of_shards_is_shown_as_it_is_written(tmp_path: Path) -> None:
    file = configuration(tmp_path, SHOP)
    written = file.read_text(encoding="utf-8").replace('value = "shop"', r"pattern = 's_(\d+)\..+'")
    file.write_text(written)
    with pytest.raises(ConfigError) as caught:
        load_pipelines([file])
    assert r"tables.0.shard.pattern: 's_(\d+)\..+' is not a regular" in caught.value.text
    facts = {"pattern": r"s_(?P<shard>\d+)\..+", "table": "s_eu.t"}
    assert r"'s_(?P<shard>\d+)\..+'" in Message(shard_errors.NO_SHARD, facts).text


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        (setting_errors.SAME_PIPELINE_NAME, {"name": "shop", "topic_prefix": "crm", "file": "b"}),
        (setting_errors.SAME_PREFIX, {"topic_prefix": "shop"}),
        (setting_errors.MIRRORS_OVERLAP, {"path": "{folder}/mirrors/shop"}),
        (setting_errors.MIRRORS_OVERLAP, {"path": "file://{folder}/mirrors/shop/inside"}),
        (setting_errors.MIRRORS_OVERLAP, {"path": "{folder}/mirrors/"}),
        (setting_errors.CHECKPOINTS_OVERLAP, {"checkpoint": "{folder}/checkpoints/shop"}),
        (setting_errors.SAME_LISTEN, {"listen": "127.0.0.1:9004"}),
        (setting_errors.OTHER_SPARK, {"log_level": "INFO"}),
    ],
)
def test_two_pipelines_in_each_others_way_are_refused_before_anything_is_written(
    tmp_path: Path, code: ErrorCode, changed: dict[str, str]
) -> None:
    keys = {key: value.format(folder=tmp_path) for key, value in changed.items()}
    first = configuration(tmp_path, SHOP)
    second = configuration(tmp_path, keys.pop("name", CRM), **keys)
    with pytest.raises(ConfigError) as caught:
        load_pipelines([first, second])
    assert caught.value.code == code
    out = io.StringIO()
    assert run_files([tmp_path], out) == 2
    assert told(out.getvalue())["code"] == code.code
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".toml", ".toml"]


def test_two_pipelines_may_share_one_mirror_if_both_say_so(tmp_path: Path) -> None:
    shop = configuration(tmp_path, SHOP, path=f"{tmp_path}/mirror", shared="yes")
    crm = configuration(tmp_path, CRM, path=f"{tmp_path}/mirror/", shared="yes")
    assert [each.name for each in load_pipelines([shop, crm])] == [SHOP, CRM]
    for path, shared in (("mirror", ""), ("mirror/inside", "yes")):
        crm = configuration(tmp_path, CRM, path=f"{tmp_path}/{path}", shared=shared)
        with pytest.raises(ConfigError) as caught:
            load_pipelines([shop, crm])
        assert caught.value.code is setting_errors.MIRRORS_OVERLAP


def test_a_folder_stands_for_its_files_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration_files([tmp_path])
    assert caught.value.code == setting_errors.NO_PIPELINES
    files = [configuration(tmp_path, name) for name in (SHOP, CRM)]
    settings = load_pipelines(configuration_files([tmp_path, *files]))
    assert [each.name for each in settings] == [CRM, SHOP]
    assert session_settings(settings).spark.settings["spark.scheduler.mode"] == "FAIR"


def test_lines_of_all_are_whole_and_begin_with_the_name() -> None:
    out = io.StringIO()
    shared = SharedOutput(out)
    one, other = shared.of("shop: "), shared.of("")
    print("a", end="", file=one)
    print('{"b": 1}', file=other)
    print("c", file=one)
    print("d\ne", file=one)
    assert out.getvalue() == '{"b": 1}\nshop: ac\nshop: d\nshop: e\n'


def test_the_limit_of_metrics_is_that_of_each_file(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    file = configuration(tmp_path, SHOP, listen=address)
    with ExitStack() as served:
        limited = file.read_text("utf-8").replace("[metrics]", "[metrics]\ntables_max = 2")
        file.write_text(limited, encoding="utf-8")
        (settings,) = load_pipelines([file])
        pipeline = open_pipeline(settings, SharedOutput(io.StringIO()), served)
        pipeline.metrics.tables = {
            f"shop.d.t{number}": TableMetrics("d", f"t{number}") for number in range(5)
        }
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    assert text.count("_mirror_written_bytes_total{") == 3
    assert 'table="(other)"' in text
