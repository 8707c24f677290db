"""`python -m tests.chaos.mirror`: faults, schema changes, and mirrors that must be equal."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from local_stack import MariadbServer, MysqlServer
from tests.chaos.mirror.modes import MODES
from tests.chaos.mirror.run import report, run


def main() -> int:
    """Run, and return the exit code: 1 if a mirror differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.mirror", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--flavour", choices=["mysql", "mariadb"], default="mysql")
    parser.add_argument(
        "--modes", nargs="+", choices=MODES, default=[*MODES], help="they share the tables"
    )
    parser.add_argument("--keep", action="store_true", help="keep logs and data in any case")
    parser.add_argument(
        "--bug",
        action="store_true",
        help="let the job drop each 10,000th update, until verify names one",
    )
    parser.add_argument(
        "--upgrade-from",
        type=Path,
        metavar="PYTHON",
        help="begin with the build that this interpreter imports, and upgrade after half of the "
        "time",
    )
    arguments = parser.parse_args()
    # The servers end with us, also if somebody asks us to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    directory = Path(tempfile.mkdtemp(prefix="mirror-chaos-"))
    folder = directory / "source"
    # Killed after DROP COLUMN, the InnoDB of the MySQL 8.0 that we carry may fail to recover.
    server = (
        MysqlServer(folder, version="9") if arguments.flavour == "mysql" else MariadbServer(folder)
    )
    print(f"{arguments.flavour}: seed {arguments.seed}, in {directory}", flush=True)
    outcome = run(
        server,
        directory,
        seed=arguments.seed,
        minutes=arguments.minutes,
        tables=arguments.tables,
        modes=arguments.modes,
        has_bug=arguments.bug,
        older=arguments.upgrade_from,
        tell=lambda line: print(line, flush=True),
    )
    print(report(outcome))
    if not (outcome.failure or arguments.keep):
        shutil.rmtree(directory)
    return 1 if outcome.failure else 0


if __name__ == "__main__":
    sys.exit(main())
