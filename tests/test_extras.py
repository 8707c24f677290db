"""Without the packages of an extra, what needs them names the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from connector.foundation.settings import settings_errors
from tests.foundation.errors.texts import shown
from tests.stream_jobs.told import told

ROOT = Path(__file__).parents[1]
# As where these packages are not installed.
WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {
            "botocore", "deltalake", "opentelemetry", "py4j", "pyarrow", "pyspark"
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
"""


def without_extras(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_spark_job_names_its_extra(tmp_path: Path) -> None:
    config = tmp_path / "job.toml"
    program = (
        f"sys.argv = ['stream_jobs', {str(config)!r}]\n"
        "from stream_jobs.__main__ import main\nsys.exit(main())"
    )
    said = (
        "the job needs more packages (No module named 'pyspark'); pip install "
        "'binlog-connector[spark]'"
    )
    done = without_extras(program)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: [C198] {said}\n"
    config.write_text('[log]\nformat = "json"\n')
    done = without_extras(program)
    assert (done.returncode, done.stderr) == (2, "")
    assert told(done.stdout) == {"event": "failed", "error": said, "code": "C198"}


NO_ARROW = "No module named 'pyarrow'"
NO_DELTA = "No module named 'deltalake'"


def test_the_demo_names_its_extra() -> None:
    done = without_extras(
        "sys.argv = ['binlog-connector', 'demo']\nfrom connector.cli import main\nmain()"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {shown(settings_errors.DEMO_EXTRA, said=NO_DELTA)}\n"


def test_the_comparison_names_its_extra() -> None:
    done = without_extras(
        "sys.argv = ['binlog-connector', 'verify', 'x.toml', '--mirror', 'y.toml']\n"
        "from connector.cli import main\nmain()"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {shown(settings_errors.VERIFY_EXTRA, said=NO_ARROW)}\n"


TO_COLLECTOR = """
name = "shop"
[source]
server_id = 5800
[kafka]
bootstrap_servers = ["127.0.0.1:1"]
topic_prefix = "shop"
[metrics]
otlp = "http://127.0.0.1:4318"
"""


def test_figures_for_a_collector_name_their_extra(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(TO_COLLECTOR)
    done = without_extras(
        f"sys.argv = ['binlog-connector', 'run', {str(config)!r}]\n"
        "from connector.cli import main\nmain()"
    )
    said = "No module named 'opentelemetry'"
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"error: {shown(settings_errors.OTLP_EXTRA, said=said)}"


TO_ARROW = """
from connector.reader import open_binlog
from tests.binlog.files.log_files import three_transactions
open_binlog(three_transactions().data).to_arrow()
"""
TO_AWS = """
from stream_jobs.iceberg.catalog_login import signer_of
signer_of("glue", "eu-central-1")
"""
NO_BOTOCORE = "No module named 'botocore'"
REFUSED = "connector.foundation.errors.kinds.ConfigError"
NEEDS = "ImportError: mysql_binlog needs PySpark (No module named 'pyspark'): pip install"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import connector.reader.spark", f"{NEEDS} 'binlog-connector[spark]'"),
        (
            TO_ARROW,
            f"{REFUSED}: {shown(settings_errors.NO_PYARROW)}",
        ),
        (TO_AWS, f"{REFUSED}: {shown(settings_errors.SIGV4_EXTRA, said=NO_BOTOCORE)}"),
    ],
)
def test_the_library_names_its_extras(program: str, said: str) -> None:
    done = without_extras(program)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, said)
