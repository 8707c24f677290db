"""`python -m tests.chaos`: faults on real servers, and a verdict. See docs/chaos.md."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.replication import FLAVOURS
from tests.chaos.report import markdown
from tests.chaos.run import run


def main() -> int:
    """Run, and return the exit code: 1 when the promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=300, help="of each flavour (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--flavour", choices=[*FLAVOURS, "both"], default="both")
    parser.add_argument("--folder", action="store_true", help="a log in a folder, no broker")
    parser.add_argument("--only", default="", help="kinds of faults: parts of names, by |")
    parser.add_argument("--without", default="", help="kinds that are left out, likewise")
    parser.add_argument("--report", type=Path, default=Path("build/chaos.md"))
    parser.add_argument("--directory", type=Path, help="of servers and logs (a new one in /tmp)")
    parser.add_argument("--keep", action="store_true", help="keep the directory in any case")
    arguments = parser.parse_args()
    # Servers and mounts end with us, also when we are asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="chaos-"))
    flavours = list(FLAVOURS) if arguments.flavour == "both" else [arguments.flavour]
    outcomes = []
    for name in flavours:
        print(f"{name}: seed {arguments.seed}, {arguments.faults} faults, in {directory / name}")
        folder = directory / name
        folder.mkdir(parents=True)
        outcome = run(
            FLAVOURS[name](),
            folder,
            seed=arguments.seed,
            faults=arguments.faults,
            folder=arguments.folder,
            only=arguments.only,
            without=arguments.without,
            tell=print,
        )
        outcomes.append(outcome)
        if outcome.failure:
            print(outcome.failure)
    text = markdown(outcomes)
    arguments.report.parent.mkdir(parents=True, exist_ok=True)
    arguments.report.write_text(text)
    print(text)
    failed = any(outcome.failure for outcome in outcomes)
    if not (failed or arguments.keep):
        shutil.rmtree(directory)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
