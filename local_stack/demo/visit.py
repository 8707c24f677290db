"""How to look at a running stack: one command for each part."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.demo.configuration import TOPIC_PREFIX
from local_stack.demo.shop import DATABASE

if TYPE_CHECKING:
    from local_stack.demo.stage import Stage

PYSPARK = """\
#!/bin/sh
# Opens a pyspark shell in which the mirrors can be read.
export JAVA_HOME={java_home} PYSPARK_PYTHON={python}
exec {pyspark} --jars {jars} \\
  --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \\
  --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog \\
  --conf spark.databricks.delta.snapshotPartitions=2 --conf spark.sql.shuffle.partitions=2 \\
  --conf spark.sql.session.timeZone=UTC --conf spark.ui.enabled=false "$@"
"""


def write_pyspark(stage: Stage) -> Path:
    """Write a script that opens a pyspark shell with the right runtime and jars."""
    script = stage.directory.path / "pyspark"
    text = PYSPARK.format(
        java_home=shlex.quote(str(stage.java.parent.parent)),
        python=shlex.quote(sys.executable),
        pyspark=shlex.quote(str(Path(sys.executable).with_name("pyspark"))),
        jars=shlex.quote(",".join(map(str, stage.jars))),
    )
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return script


def console_consumer(bootstrap: str, topic: str) -> list[str]:
    """Return a command that prints the records of a topic, from its beginning."""
    # The default format fails at the first record without a value.
    command = [sys.executable, "-m", "kafka.consumer", "--format", "full"]
    command += ["-b", bootstrap, "-t", topic]
    return [*command, "-C", "isolation_level=read_committed", "-C", "auto_offset_reset=earliest"]


def invitation(stage: Stage) -> list[tuple[str, str]]:
    """Return the parts of the stack, each with its command."""
    source, broker = stage.source, stage.broker.endpoint
    mysql = ["mysql", "--host", source.host, "--port", str(source.port), "--user", source.user]
    if stage.source_is_private:
        mysql.append(f"--password={source.password}")
    consumer = console_consumer(broker.bootstrap, f"{TOPIC_PREFIX}.{DATABASE}.orders")
    mirror = stage.directory.mirror_of("orders")
    verify = [sys.executable, "-m", "connector", "verify", str(stage.directory.connector_config)]
    verify += ["--mirror", str(stage.directory.stream_job_config)]
    return [
        ("the source, and to change it", shlex.join([*mysql, DATABASE])),
        ("a topic, by a console consumer", shlex.join(consumer)),
        ("the mirror, by a pyspark shell", shlex.quote(str(write_pyspark(stage)))),
        ("and in that shell", f'spark.read.format("delta").load("{mirror}").show()'),
        ("source and mirror, compared again", shlex.join(verify)),
        ("configurations and logs", f"ls {shlex.quote(str(stage.directory.path))}"),
    ]
