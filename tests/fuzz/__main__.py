"""Fuzzing that is guided by coverage: `python -m tests.fuzz TARGET [--seconds N]`, or `make fuzz`.

The corpus, inputs that each reach something new, is kept as one zip file a target in
`tests/fuzz/corpus` and replayed by the suite. A finding stops the run and is left in
`tests/fuzz/findings`; mended, it goes into the corpus.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

from tests.fuzz.inputs import keep_inputs, kept_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable

with atheris.instrument_imports(include=["connector", "stream_jobs"]):
    from tests.fuzz.targets import TARGETS, seeds

FINDINGS = Path(__file__).parent / "findings"

INPUT_BYTES_MAX = 16 * 1024
KEPT_BYTES_MAX = 512 * 1024
MEMORY_MB_MAX = 1024
SECONDS_MAX_PER_INPUT = 10


def main() -> int:
    """Fuzz one target, or all of them one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=["all", *TARGETS])
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--into", type=Path, help="worker: run libFuzzer in this folder")
    arguments = parser.parse_args()
    if arguments.into is not None:
        return _fuzz(arguments.target, arguments.seconds, arguments.into)
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            code = _run(name, arguments.seconds, Path(folder))
        if code:
            return code
    return 0


def _run(name: str, seconds: int, folder: Path) -> int:
    """Fuzz from the kept inputs and the seeds on, and keep what reaches something new."""
    from_files = {_digest(data): data for data in seeds(name)}
    kept = {_digest(data): data for data in kept_inputs(name)}
    for digest, data in (from_files | kept).items():
        (folder / digest).write_bytes(data)
    print(f"{name}: {len(kept)} inputs kept so far, {len(from_files)} from files", flush=True)
    # libFuzzer ends its process, so each target has one of its own.
    command = [sys.executable, "-m", "tests.fuzz", name, f"--seconds={seconds}"]
    code = subprocess.run([*command, f"--into={folder}"], check=False).returncode
    reached = {path.name: path.read_bytes() for path in folder.iterdir()}
    inputs = _smallest(data for key, data in reached.items() if key not in from_files)
    keep_inputs(name, inputs.items())
    print(f"{name}: {len(inputs)} inputs kept", flush=True)
    return code


def _smallest(inputs: Iterable[bytes]) -> dict[str, bytes]:
    """Return as many inputs as may be kept, by digest."""
    chosen: dict[str, bytes] = {}
    left = KEPT_BYTES_MAX
    for data in sorted(inputs, key=len):
        left -= len(data)
        if left < 0:
            break
        chosen[_digest(data)] = data
    return chosen


def _fuzz(name: str, seconds: int, corpus: Path) -> int:
    FINDINGS.mkdir(exist_ok=True)
    flags = [
        f"-max_total_time={seconds}",
        f"-max_len={INPUT_BYTES_MAX}",
        f"-rss_limit_mb={MEMORY_MB_MAX}",
        f"-timeout={SECONDS_MAX_PER_INPUT}",
        f"-artifact_prefix={FINDINGS}/{name}-",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *flags], TARGETS[name])
    atheris.Fuzz()
    return 0


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
