"""Downloads of published files into the cache, verified, with their progress on standard error.

A file is fetched over HTTP(S) into `NAME.part`, and after a break the download resumes there
(Range, RFC 9110 §14). It is compared with its SHA-256, and only then renamed to its name. A file
that has its name is never fetched again. Certificates: OpenSSL's variables (SSL_CERT_FILE,
SSL_CERT_DIR), and the variables of other tools that name bundles. Proxies: the usual variables.

The progress is a bar on a terminal, and lines in a pipe.
"""

import functools
import hashlib
import http.client
import os
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

import tenacity
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from connector.foundation.errors.message import Message
from local_stack import stack_errors
from local_stack.cache import Cache
from local_stack.stack_errors import LocalStackError

PLAIN_LINE_EVERY_SECONDS = 10.0
MEGABYTE = 1_000_000


class Meter(Protocol):
    """Counts bytes as they arrive; callable from several threads."""

    def __call__(self, size: int, /) -> None:
        """Add `size` bytes."""


@contextmanager
def meter(title: str, total: int) -> Iterator[Meter]:
    """Show the progress of `title`, of `total` bytes, while the block runs."""
    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(console) as progress:
            task = progress.add_task(title, total=total)
            yield lambda size: progress.advance(task, size)
        return
    lines = _PlainLines(title, total)
    yield lines
    lines.finish()


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("fetching {task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class _PlainLines:
    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._begin = self._shown_at = time.monotonic()
        self._lock = threading.Lock()
        _write(f"fetching {title}: {total / MEGABYTE:.1f} MB")

    def __call__(self, size: int, /) -> None:
        with self._lock:
            self._done += size
            now = time.monotonic()
            if now - self._shown_at < PLAIN_LINE_EVERY_SECONDS:
                return
            self._shown_at = now
        share = 100 * self._done // max(self._total, 1)
        _write(f"fetching {self._title}: {share} %")

    def finish(self) -> None:
        _write(f"fetched {self._title} in {time.monotonic() - self._begin:.0f} s")


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


PARALLEL_DOWNLOADS = 6
ATTEMPTS = 5
TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 256 * 1024
BUNDLE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A published file, with its size and digest."""

    url: str
    name: str  # its path in the cache
    size: int  # bytes
    sha256: str  # lower-case hexadecimal


class NotPublished(LocalStackError):
    """The repository answers that it does not have the file."""


class _TransferError(Exception):
    """The transfer broke; another attempt may succeed."""

    def __init__(self, why: Message | str) -> None:
        """State `why`: a code of ours, or the text of a network error."""
        super().__init__(why)
        self.why = why


def fetch(title: str, artifacts: Sequence[Artifact], cache: Cache) -> list[Path]:
    """Return the files of `artifacts`, in order; missing ones are fetched in parallel.

    `title` names all of them in the progress display. Raises NotPublished if a repository does not
    have a file, and LocalStackError if it cannot be reached or the bytes are wrong.
    """
    missing = [artifact for artifact in artifacts if not cache.file(artifact.name).exists()]
    if missing:
        total = sum(artifact.size for artifact in missing)
        given_up = threading.Event()
        with meter(title, total) as show, ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
            futures = [
                pool.submit(_fetch_one, artifact, cache, show, given_up) for artifact in missing
            ]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                # After a failure or Ctrl-C, all end; their parts are kept for the next attempt.
                given_up.set()
                pool.shutdown(cancel_futures=True)
                raise
    return [cache.file(artifact.name) for artifact in artifacts]


def read_text(url: str) -> str:
    """Return the text published at `url`; raises NotPublished or LocalStackError."""
    try:
        return _attempts(threading.Event())(_read_text, url)
    except _TransferError as error:
        raise _unreachable(url, error) from error


def _read_text(url: str) -> str:
    with _network(_open, url, {}) as response:
        text: bytes = _network(response.read)
    return text.decode("utf-8")


def _fetch_one(artifact: Artifact, cache: Cache, show: Meter, given_up: threading.Event) -> None:
    final = cache.file(artifact.name)
    with cache.lock(f"files/{artifact.name}"):
        if final.exists():
            show(artifact.size)
            return
        final.parent.mkdir(parents=True, exist_ok=True)
        part = final.with_name(f"{final.name}.part")
        transfer = _Transfer(artifact, part, show, given_up)
        try:
            _attempts(given_up)(transfer.run)
        except _TransferError as error:
            raise _unreachable(artifact.url, error) from error
        except OSError as error:
            raise LocalStackError(stack_errors.PART, file=part, said=error.strerror) from error
        part.rename(final)


class _Transfer:
    """The download of one file: the bytes that were shown as done, and those in the part file."""

    def __init__(
        self, artifact: Artifact, part: Path, show: Meter, given_up: threading.Event
    ) -> None:
        self._artifact = artifact
        self._part = part
        self._show = show
        self._given_up = given_up
        self._shown_at = 0

    def run(self) -> None:
        """Fetch the rest of the file, and compare the whole."""
        digest = hashlib.sha256()
        begin = self._read_part(digest)
        self._progress(begin)
        if begin < self._artifact.size:
            begin = self._receive(begin, digest)
        actual = digest.hexdigest()
        if actual == self._artifact.sha256:
            return
        self._part.unlink()
        if begin:
            # The first bytes are from another version of the file: start again.
            raise _TransferError(Message(stack_errors.PARTS_DIFFER, {}))
        raise LocalStackError(
            stack_errors.DIGEST,
            url=self._artifact.url,
            found=actual,
            wanted=self._artifact.sha256,
        )

    def _read_part(self, digest: Any) -> int:
        size = 0
        with suppress(FileNotFoundError), self._part.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
        return size

    def _receive(self, begin: int, digest: Any) -> int:
        """Append the rest; return its start, 0 if the server sent the whole file."""
        headers = {"Range": f"bytes={begin}-"} if begin else {}
        done = begin
        with _network(_open, self._artifact.url, headers) as response:
            if begin and response.status != HTTPStatus.PARTIAL_CONTENT:
                self._part.unlink()
                raise _TransferError(Message(stack_errors.NOT_RESUMED, {}))
            with self._part.open("ab") as file:
                while chunk := _network(response.read, CHUNK_BYTES):
                    file.write(chunk)
                    digest.update(chunk)
                    done += len(chunk)
                    self._progress(done)
                    if self._given_up.is_set():
                        raise LocalStackError(stack_errors.GIVEN_UP, url=self._artifact.url)
        if done < self._artifact.size:
            raise _TransferError(
                Message(stack_errors.CUT, {"done": done, "size": self._artifact.size})
            )
        return begin

    def _progress(self, done: int) -> None:
        self._show(done - self._shown_at)
        self._shown_at = done


def _attempts(given_up: threading.Event) -> tenacity.Retrying:
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_TransferError),
        stop=tenacity.stop_after_attempt(ATTEMPTS) | tenacity.stop_when_event_set(given_up),
        wait=tenacity.wait_exponential(multiplier=0.5, max=10),
        sleep=tenacity.sleep_using_event(given_up),
        reraise=True,
    )


def _unreachable(url: str, error: _TransferError) -> LocalStackError:
    return LocalStackError(stack_errors.UNREACHABLE, url=url, why=error.why)


def _network(call: Callable[..., Any], *arguments: object) -> Any:
    """Call a function in which only the network may fail, not the disk."""
    try:
        return call(*arguments)
    except urllib.error.URLError as error:
        raise _TransferError(str(error.reason)) from error
    except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise _TransferError(str(error) or type(error).__name__) from error


def _open(url: str, headers: dict[str, str]) -> Any:
    """Return the response; raises a definite error if the server refuses."""
    if not url.startswith(("https://", "http://")):
        raise LocalStackError(stack_errors.NO_URL, url=url)
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - see above
    try:
        return _opener().open(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            raise NotPublished(stack_errors.NOT_PUBLISHED, url=url, status=error.code) from error
        if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in (
            HTTPStatus.REQUEST_TIMEOUT,
            HTTPStatus.TOO_MANY_REQUESTS,
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        ):
            raise LocalStackError(
                stack_errors.REFUSED, url=url, status=error.code, said=error.reason
            ) from error
        raise


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    """Return a client for HTTP and HTTPS only; made once, because reading a bundle is slow."""
    context = ssl.create_default_context()
    for variable in BUNDLE_VARIABLES:
        if bundle := os.environ.get(variable):
            try:
                context.load_verify_locations(cafile=bundle)
            except OSError as error:
                raise LocalStackError(
                    stack_errors.BUNDLE, variable=variable, file=bundle, said=error
                ) from error
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
