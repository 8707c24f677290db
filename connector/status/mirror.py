"""What the Spark job and `verify --forever` say of the mirrors, by their figures.

They are other processes, perhaps of other machines, and have no part of this program in common with
it but the names of their figures. So they are asked as Prometheus asks them.
"""

from __future__ import annotations

from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from connector.status.facts import MirrorFacts, MirrorTable
from connector.system.background import Background

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.settings.sections import MetricsSettings

_PREFIX = "binlog_connector_"
_PATH = "/metrics"
_ANSWER_SECONDS = 2.0
_PAUSE_SECONDS = 5.0
# Of ten thousand tables.
_BYTES_MAX = 64 << 20

# Figures of one process: by name, and by table or "" for the process.
Found = dict[str, dict[str, float]]


def ask_mirror(settings: MetricsSettings) -> MirrorFacts | None:
    """Return what both processes say now; None if neither is configured."""
    if settings.mirror is None and settings.verify is None:
        return None
    job, job_note = _ask(settings.mirror)
    verify, verify_note = _ask(settings.verify)
    return MirrorFacts(
        job_address=settings.mirror,
        job_note=job_note or _not_up(job, "mirror_up", "its stream is not open"),
        verify_address=settings.verify,
        verify_note=verify_note
        or _not_up(verify, "verify_up", "source or Kafka does not answer it"),
        set_aside=_whole(_one(job, "mirror_tables_set_aside")),
        last_batch_seconds=_one(job, "mirror_last_batch_age_seconds"),
        running_batch_seconds=_one(job, "mirror_running_batch_seconds"),
        tables=_tables(job, verify),
    )


class MirrorWatch(Background):
    """Asks every few seconds in a thread, until it is closed."""

    def __init__(self, settings: MetricsSettings) -> None:
        """Start the thread, if there is something to ask."""
        super().__init__("mirror-watch")
        self._settings = settings
        self._facts: MirrorFacts | None = None
        if settings.mirror is not None or settings.verify is not None:
            self.start()

    @property
    def facts(self) -> MirrorFacts | None:
        """What was said last; None before the first answer, and if nothing is configured."""
        return self._facts

    def _run(self) -> None:
        while True:
            self._facts = ask_mirror(self._settings)
            if self._closed.wait(_PAUSE_SECONDS):
                return


def _ask(address: str | None) -> tuple[Found, str]:
    """Return the figures at an address, and why there are none."""
    if address is None:
        return {}, ""
    host, _, port = address.rpartition(":")
    connection = HTTPConnection(host.strip("[]"), int(port), timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", _PATH)
        answer = connection.getresponse()
        text = answer.read(_BYTES_MAX + 1)
        if answer.status != HTTPStatus.OK or len(text) > _BYTES_MAX:
            return {}, "another program answers"
        found = _figures(text.decode("utf-8"))
    except (OSError, HTTPException) as error:
        return {}, f"it does not answer: {error}"
    except ValueError:
        return {}, "another program answers"
    finally:
        connection.close()
    return found, "" if found else "another program answers"


def _figures(text: str) -> Found:
    """Return the figures of our names; raises ValueError for a text in another form."""
    found: Found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.startswith(_PREFIX):
                continue
            labels = sample.labels
            table = f"{labels['database']}.{labels['table']}" if "database" in labels else ""
            found.setdefault(sample.name.removeprefix(_PREFIX), {})[table] = float(sample.value)
    return found


def _one(found: Found, name: str) -> float | None:
    return found.get(name, {}).get("")


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _not_up(found: Found, name: str, note: str) -> str:
    return note if _one(found, name) == 0 else ""


def _tables(job: Found, verify: Found) -> list[MirrorTable]:
    def column(found: Found, name: str) -> dict[str, float]:
        return {table: value for table, value in found.get(name, {}).items() if table}

    lags, rows = column(job, "mirror_lag_seconds"), column(job, "mirror_rows")
    files, versions = column(job, "mirror_files"), column(job, "mirror_version")
    commits = column(job, "mirror_last_commit_timestamp_seconds")
    ages, differences = column(verify, "verified_age_seconds"), column(verify, "differences")
    names = _names(lags, rows, files, versions, commits, ages, differences)
    tables = [
        MirrorTable(
            name,
            lag_seconds=lags.get(name),
            rows=_whole(rows.get(name)),
            files=_whole(files.get(name)),
            version=_whole(versions.get(name)),
            last_commit=commits.get(name),
            verified_seconds=ages.get(name),
            differences=_whole(differences.get(name)),
        )
        for name in names
    ]
    return sorted(tables, key=lambda one: (-(one.differences or 0), -(one.lag_seconds or 0.0)))


def _names(*columns: Iterable[str]) -> list[str]:
    return sorted({name for column in columns for name in column})
