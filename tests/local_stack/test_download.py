"""A download is verified, resumed, retried, and done once."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors.message import Message
from local_stack import stack_errors
from local_stack.download import Artifact, NotPublished, _fetch_one, _opener, fetch, read_text
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode
    from local_stack.cache import Cache
    from tests.local_stack.conftest import Repository

CONTENT = bytes(range(256)) * 4000


def publish(repository: Repository, name: str = "file.jar", content: bytes = CONTENT) -> Artifact:
    repository.files[f"/{name}"] = content
    digest = hashlib.sha256(content).hexdigest()
    return Artifact(f"{repository.url}/{name}", f"maven/{name}", len(content), digest)


def test_a_file_is_fetched_into_the_cache(repository: Repository, cache: Cache) -> None:
    (path,) = fetch("a file", [publish(repository)], cache)
    assert path == cache.directory / "files/maven/file.jar"
    assert path.read_bytes() == CONTENT


def test_files_come_back_in_the_order_of_their_artifacts(
    repository: Repository, cache: Cache
) -> None:
    artifacts = [publish(repository, f"{n}.jar", bytes([n]) * (1000 - n)) for n in range(20)]
    paths = fetch("files", artifacts, cache)
    assert [path.read_bytes()[0] for path in paths] == list(range(20))


def test_a_file_that_is_there_is_not_asked_for_again(repository: Repository, cache: Cache) -> None:
    artifact = publish(repository)
    fetch("a file", [artifact], cache)
    fetch("a file", [artifact], cache)
    assert repository.requests == [("/file.jar", None)]


def test_two_threads_fetch_a_file_once(repository: Repository, cache: Cache) -> None:
    artifact = publish(repository)
    threads = [threading.Thread(target=fetch, args=("a file", [artifact], cache)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert repository.requests == [("/file.jar", None)]


def test_a_transfer_that_was_cut_goes_on_where_it_ended(
    repository: Repository, cache: Cache
) -> None:
    repository.troubles = ["cut"]
    (path,) = fetch("a file", [publish(repository)], cache)
    assert path.read_bytes() == CONTENT
    assert repository.requests == [("/file.jar", None), ("/file.jar", "bytes=512000-")]


def test_what_an_earlier_run_left_is_resumed(repository: Repository, cache: Cache) -> None:
    artifact = publish(repository)
    part = cache.file("maven/file.jar.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    (path,) = fetch("a file", [artifact], cache)
    assert path.read_bytes() == CONTENT
    assert repository.requests == [("/file.jar", "bytes=1000-")]
    assert not part.exists()


@pytest.mark.parametrize("resumes", [True, False])
def test_a_part_of_another_file_is_thrown_away(
    repository: Repository, cache: Cache, resumes: bool
) -> None:
    repository.resumes = resumes
    artifact = publish(repository)
    part = cache.file("maven/file.jar.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"another file")
    (path,) = fetch("a file", [artifact], cache)
    assert path.read_bytes() == CONTENT
    assert repository.requests == [("/file.jar", "bytes=12-"), ("/file.jar", None)]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_transient_answer_is_tried_again(
    repository: Repository, cache: Cache, status: int
) -> None:
    repository.troubles = [status]
    (path,) = fetch("a file", [publish(repository)], cache)
    assert path.read_bytes() == CONTENT


def test_other_bytes_than_expected_are_not_used(repository: Repository, cache: Cache) -> None:
    artifact = publish(repository)
    other = CONTENT[:-1] + b"?"
    repository.files["/file.jar"] = other
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [artifact], cache)
    assert caught.value.text == (
        f"{repository.url}/file.jar: the file has SHA-256 {hashlib.sha256(other).hexdigest()}, "
        f"but {artifact.sha256} was expected; it was not used; choose another repository"
    )
    assert list(cache.file("maven").iterdir()) == []


def test_a_file_that_is_not_published_is_not_tried_again(
    repository: Repository, cache: Cache
) -> None:
    artifact = publish(repository)
    repository.files.clear()
    with pytest.raises(NotPublished) as caught:
        fetch("a file", [artifact], cache)
    assert caught.value.text == (
        f"{repository.url}/file.jar: the repository does not have it (HTTP 404); choose a "
        "repository that is complete"
    )
    assert len(repository.requests) == 1


def test_a_refusal_is_not_tried_again(repository: Repository, cache: Cache) -> None:
    repository.troubles = [403]
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [publish(repository)], cache)
    assert caught.value.text == (
        f"{repository.url}/file.jar: the repository refuses it: HTTP 403 Forbidden; check that "
        "this machine may fetch from there"
    )


def test_a_transfer_that_is_cut_again_and_again_says_how_far_it_came(
    repository: Repository, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_stack.download.ATTEMPTS", 1)
    repository.troubles = ["cut"]
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [publish(repository)], cache)
    assert caught.value.text == (
        f"{repository.url}/file.jar: cannot be fetched: the connection ended after 512000 of "
        "1024000 bytes; check the network (proxy and certificate variables are honoured) and try "
        "again"
    )


@pytest.mark.parametrize(
    ("resumes", "code", "said"),
    [
        (True, stack_errors.PARTS_DIFFER, "the parts do not fit together"),
        (False, stack_errors.NOT_RESUMED, "the server cannot resume"),
    ],
)
def test_a_part_of_another_file_is_told_if_there_is_no_other_attempt(
    repository: Repository,
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
    resumes: bool,
    code: ErrorCode,
    said: str,
) -> None:
    monkeypatch.setattr("local_stack.download.ATTEMPTS", 1)
    repository.resumes = resumes
    artifact = publish(repository)
    part = cache.file("maven/file.jar.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"another file")
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [artifact], cache)
    why = caught.value.message.facts["why"]
    assert isinstance(why, Message)
    assert why.code is code
    assert caught.value.text == (
        f"{repository.url}/file.jar: cannot be fetched: {said}; check the network (proxy and "
        "certificate variables are honoured) and try again"
    )


def test_a_part_that_cannot_be_written_is_named(repository: Repository, cache: Cache) -> None:
    part = cache.file("maven/file.jar.part")
    part.mkdir(parents=True)
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [publish(repository)], cache)
    assert caught.value.text == (
        f"{part}: cannot be written: Is a directory; make room in the cache"
    )


def test_other_downloads_of_a_set_end_with_the_first_that_fails(
    repository: Repository, cache: Cache
) -> None:
    artifact = publish(repository)
    given_up = threading.Event()
    given_up.set()
    with pytest.raises(LocalStackError) as caught:
        _fetch_one(artifact, cache, lambda _: None, given_up)
    assert caught.value.text == (
        f"{artifact.url}: not fetched, because another download of the same set failed; fix that "
        "one first"
    )


def test_a_bundle_of_certificates_that_is_missing_is_named(
    repository: Repository, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/bundle.pem")
    _opener.cache_clear()
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [publish(repository)], cache)
    assert caught.value.text == (
        "REQUESTS_CA_BUNDLE names /nowhere/bundle.pem, which is no certificate bundle: [Errno 2] "
        "No such file or directory; name a PEM file that this user may read"
    )


def test_no_network_is_said_after_some_attempts(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_stack.download.ATTEMPTS", 2)
    # Port 1 of 127.0.0.1: nobody listens there.
    artifact = Artifact("http://127.0.0.1:1/file.jar", "file.jar", 1, "0" * 64)
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [artifact], cache)
    assert caught.value.text == (
        "http://127.0.0.1:1/file.jar: cannot be fetched: [Errno 111] Connection refused; "
        "check the network (proxy and certificate variables are honoured) and try again"
    )


def test_a_url_of_another_kind_is_refused(cache: Cache) -> None:
    artifact = Artifact("file:///etc/hostname", "file.jar", 1, "0" * 64)
    with pytest.raises(LocalStackError) as caught:
        fetch("a file", [artifact], cache)
    assert caught.value.text == (
        "file:///etc/hostname: not an address of a repository; give one that begins with https:// "
        "or http://"
    )


def test_a_text_is_read_and_tried_again(repository: Repository) -> None:
    repository.files["/InRelease"] = b"Suite: sid\n"
    repository.troubles = [503]
    assert read_text(f"{repository.url}/InRelease") == "Suite: sid\n"


def test_in_a_pipe_the_progress_is_plain_lines(
    repository: Repository, cache: Cache, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch("a file", [publish(repository)], cache)
    said = capsys.readouterr().err
    assert re.fullmatch(r"fetching a file: 1.0 MB\nfetched a file in \d+ s\n", said), said


def test_on_a_terminal_the_progress_is_a_bar(
    repository: Repository,
    cache: Cache,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    fetch("a file", [publish(repository)], cache)
    shown = capsys.readouterr().err
    assert "fetching a file" in shown
    assert "1.0/1.0 MB" in shown
