"""The status of the mirrors, from the metrics of the Spark job and of `verify --forever`.

They are other processes, perhaps of other machines, and have no part of this program in common with
it but the names of their metrics. So they are scraped as Prometheus scrapes them.
"""

from datetime import datetime
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Annotated, NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel, BeforeValidator, ValidationError

from connector.foundation.operating_system import Background
from connector.foundation.settings.sections import MetricsSettings
from connector.stream.status.model import JobFailure, MirrorStatus, MirrorTable

_PREFIX = "binlog_connector_"
_FIGURES = "/metrics"
_STATUS = "/status.json"
_ANSWER_SECONDS = 2.0
_PAUSE_SECONDS = 5.0
# Of ten thousand tables.
_BYTES_MAX = 64 << 20
# The label of what the job says of all tables that have no metrics of their own.
_OTHER = "(other)"
# Of a GTID set, so much of its end is shown.
_CHARACTERS = 60

# Figures of one process: by name, and by table or "" for the process.
MetricValues = dict[str, dict[str, float]]


class Scrape(NamedTuple):
    """What a process says by its figures."""

    values: MetricValues
    # The labels `code`, by the names of the figures and by tables.
    codes: dict[str, dict[str, str]]
    note: str = ""  # why it says nothing


class _Failure(BaseModel):
    """As `/status.json` of the job has it."""

    at: Annotated[float, BeforeValidator(lambda text: datetime.fromisoformat(text).timestamp())]
    code: str
    error: str


class _Interruption(BaseModel):
    code: str
    error: str


class _JobStatus(BaseModel):
    # Why its stream was lost, until it is open again.
    interrupted_by: _Interruption | None = None
    last_failure: _Failure | None = None


class _Moment(BaseModel):
    transactions: str


class _VerifyStatus(BaseModel):
    # By `database.table`.
    equal_through: dict[str, _Moment] = {}


def fetch_mirror_status(
    settings: MetricsSettings, before: MirrorStatus | None = None
) -> MirrorStatus | None:
    """Return what both processes say now; None if neither is configured.

    A job that does not answer has failed as it said `before`, if it has said so.
    """
    if settings.mirror is None and settings.verify is None:
        return None
    job, verify = _ask(settings.mirror), _ask(settings.verify)
    # What a job that ran has said was why the run before it had failed.
    known = None if before is None or before.job_runs else before.job_failure
    job_values = job.values
    status = _job_status(settings.mirror, job_values)
    return MirrorStatus(
        job_address=settings.mirror,
        job_note=job.note or _not_up(job_values, "mirror_up", _not_open(status)),
        verify_address=settings.verify,
        verify_note=verify.note
        or _not_up(verify.values, "verify_up", "source or Kafka does not answer it"),
        set_aside=_whole(_one(job_values, "mirror_tables_set_aside")),
        last_batch_seconds=_one(job_values, "mirror_last_batch_age_seconds"),
        running_batch_seconds=_one(job_values, "mirror_running_batch_seconds"),
        tables=_tables(job, verify.values, _verify_status(settings.verify, verify.values)),
        job_failure=known if job.note else _failure(status),
        job_runs=_one(job_values, "mirror_up") == 1,
        catch_up_seconds=_one(job_values, "mirror_catch_up_seconds"),
    )


class MirrorWatch(Background):
    """Asks every few seconds in a thread, until it is closed."""

    def __init__(self, settings: MetricsSettings) -> None:
        super().__init__("mirror-watch")
        self._settings = settings
        # What was said last; None before the first answer.
        self.facts: MirrorStatus | None = None
        self.start()

    def _run(self) -> None:
        while True:
            self.facts = fetch_mirror_status(self._settings, self.facts)
            if self._closed.wait(_PAUSE_SECONDS):
                return


def _ask(address: str | None) -> Scrape:
    """Return the figures at an address, or why there are none."""
    if address is None:
        return Scrape({}, {})
    try:
        text = _answer(address, _FIGURES)
        scrape = None if text is None else _figures(text)
    except (OSError, HTTPException) as error:
        return Scrape({}, {}, f"it does not answer: {error}")
    except ValueError:
        scrape = None
    if scrape is None or not scrape.values:
        return Scrape({}, {}, "another program answers")
    return scrape


def _answer(address: str, path: str) -> str | None:
    """Return what a process answers; None if it is no answer of ours.

    Raises OSError or HTTPException if it does not answer, and ValueError for another encoding.
    """
    host, _, port = address.rpartition(":")
    connection = HTTPConnection(host.strip("[]"), int(port), timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read(_BYTES_MAX + 1)
    finally:
        connection.close()
    return text.decode() if answer.status == HTTPStatus.OK and len(text) <= _BYTES_MAX else None


def _figures(text: str) -> Scrape:
    """Return the figures of our names; raises ValueError for a text in another form."""
    values: MetricValues = {}
    codes: dict[str, dict[str, str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.startswith(_PREFIX):
                continue
            name, labels = sample.name.removeprefix(_PREFIX), sample.labels
            table = f"{labels['database']}.{labels['table']}" if "database" in labels else ""
            if labels.get("table") == _OTHER:
                table = _OTHER
            values.setdefault(name, {})[table] = float(sample.value)
            if "code" in labels:
                codes.setdefault(name, {})[table] = labels["code"]
    return Scrape(values, codes)


def _job_status(address: str | None, values: MetricValues) -> _JobStatus:
    """Ask a job that has failed, whose run before has, or whose stream is not open, for the reason.

    Others have nothing to say.
    """
    has_failed = _one(values, "mirror_last_failure_timestamp_seconds") is not None
    if address is None or not (has_failed or _one(values, "mirror_up") == 0):
        return _JobStatus()
    try:
        text = _answer(address, _STATUS)
        return _JobStatus() if text is None else _JobStatus.model_validate_json(text)
    except (OSError, HTTPException, ValidationError):
        # It has ended since it was asked for its figures: the next look says so.
        return _JobStatus()


def _verify_status(address: str | None, values: MetricValues) -> _VerifyStatus:
    """Ask a comparison that has found equal tables for the transactions that these have."""
    if address is None or "equal_through_timestamp_seconds" not in values:
        return _VerifyStatus()
    try:
        text = _answer(address, _STATUS)
        return _VerifyStatus() if text is None else _VerifyStatus.model_validate_json(text)
    except (OSError, HTTPException, ValueError):
        # It has ended since it was asked for its figures: the next look says so.
        return _VerifyStatus()


def _transactions(status: _VerifyStatus, table: str) -> str:
    moment = status.equal_through.get(table)
    known = "" if moment is None else moment.transactions
    return known if len(known) <= _CHARACTERS else f"…{known[-_CHARACTERS:]}"


def _not_open(status: _JobStatus) -> str:
    why = status.interrupted_by
    note = "its stream is not open"
    return note if why is None else f"{note}: [{why.code}] {why.error}"


def _failure(status: _JobStatus) -> JobFailure | None:
    """Return why the job, or its run before, has failed; what it waits for now comes first."""
    failure = status.last_failure
    if failure is None or status.interrupted_by is not None:
        return None
    return JobFailure(failure.at, failure.code, failure.error)


def _one(values: MetricValues, name: str) -> float | None:
    return values.get(name, {}).get("")


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _not_up(values: MetricValues, name: str, note: str) -> str:
    return note if _one(values, name) == 0 else ""


def _tables(job_scrape: Scrape, verify: MetricValues, proven: _VerifyStatus) -> list[MirrorTable]:
    job, aside = job_scrape.values, job_scrape.codes.get("mirror_set_aside", {})

    def column(values: MetricValues, name: str) -> dict[str, float]:
        return {table: value for table, value in values.get(name, {}).items() if table}

    lags, rows = column(job, "mirror_lag_seconds"), column(job, "mirror_rows")
    files, versions = column(job, "mirror_files"), column(job, "mirror_version")
    commits = column(job, "mirror_last_commit_timestamp_seconds")
    ages, differences = column(verify, "verified_age_seconds"), column(verify, "differences")
    through = column(verify, "equal_through_timestamp_seconds")
    names = sorted({*lags, *rows, *files, *versions, *commits, *ages, *differences, *aside})
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
            set_aside=aside.get(name),
            equal_through=through.get(name),
            equal_through_transactions=_transactions(proven, name),
        )
        for name in names
    ]
    return sorted(tables, key=_urgency)


def _urgency(table: MirrorTable) -> tuple[bool, int, float]:
    return table.set_aside is None, -(table.differences or 0), -(table.lag_seconds or 0.0)
