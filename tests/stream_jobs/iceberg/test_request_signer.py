"""Requests to catalogs of AWS are signed; who verifies them here knows the specification alone."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Any

import pytest

from local_stack.server import free_port
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_errors
from stream_jobs.iceberg.catalog_login import CatalogAccess, signer_of
from stream_jobs.iceberg.rest_catalog import CatalogAway, CatalogName, RestCatalog
from stream_jobs.iceberg.table_files import TableFiles
from stream_jobs.run.assembly import catalog_publisher
from stream_jobs.settings import IcebergSettings
from tests.foundation.errors.texts import shown
from tests.stream.sink.test_schema_registry import answering
from tests.stream_jobs.catalog_server import Proxy
from tests.stream_jobs.signature_verifier import SignatureVerifier, SignedRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVICE, REGION = "glue", "eu-central-1"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "s3ssion/token=="
# The table is none; all other answers are those of a catalog.
CONFIG: dict[str, Any] = {"defaults": {"prefix": "catalogs/123"}, "overrides": {}}
TABLE = CatalogName(("a b", "ü/c+d~e"), "100%_'t")


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account without credentials, and the file for them."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    file = tmp_path / "aws"
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return file


@pytest.fixture
def verifier() -> SignatureVerifier:
    return SignatureVerifier(SERVICE, REGION, {"AKIA1": (SECRET, "")})


@pytest.fixture
def proxy(verifier: SignatureVerifier) -> Iterator[Proxy]:
    with Proxy("http://127.0.0.1:1") as proxy:
        proxy.refuses = verifier.refusal
        proxy.own = lambda asked: (200, CONFIG) if "/v1/config" in asked else (404, {})
        yield proxy


def write_key(file: Path, key: str = "AKIA1", secret: str = SECRET, token: str = "") -> None:
    lines = ["[default]", f"aws_access_key_id = {key}", f"aws_secret_access_key = {secret}"]
    file.write_text("\n".join([*lines, *([f"aws_session_token = {token}"] if token else [])]))


def write_program(file: Path, program: str) -> None:
    """Let a program write the credentials."""
    script = file.with_name("credentials.py")
    script.write_text(program)
    file.write_text(f"[default]\ncredential_process = {sys.executable} {script}")


def catalog(proxy: Proxy, warehouse: str = "123") -> RestCatalog:
    return RestCatalog(CatalogAccess(proxy.url, warehouse, signer=signer_of(SERVICE, REGION)))


def refused(proxy: Proxy, catalog: RestCatalog) -> str:
    with pytest.raises(MirrorError) as caught:
        catalog.load(TABLE)
    said = f"{caught.value} {caught.value.__cause__!r} {catalog._access!r}"
    assert not any(secret in said for secret in (SECRET, TOKEN, "Canonical String"))
    return str(caught.value).replace(proxy.url, "URL")


# The examples of AWS: https://docs.aws.amazon.com/general/latest/gr/signature-v4-test-suite.html
@pytest.mark.parametrize(
    ("method", "target", "kind", "body", "signature"),
    [
        ("GET", "/", "", b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            "GET",
            "/?Param2=value2&Param1=value1",
            "",
            b"",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("POST", "/", "", b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "POST",
            "/",
            "application/x-www-form-urlencoded",
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_the_verifier_agrees_with_the_examples_of_aws(
    method: str, target: str, kind: str, body: bytes, signature: str
) -> None:
    headers = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}
    headers |= {"content-type": kind} if kind else {}
    scope = "20150830/us-east-1/service/aws4_request"
    request = SignedRequest(method, target, headers, body)
    assert request.signature(SECRET, scope, headers) == signature


def test_each_request_is_signed_with_its_path_its_query_and_its_body(
    proxy: Proxy, account: Path, verifier: SignatureVerifier
) -> None:
    write_key(account)
    asked = catalog(proxy, "arn:aws:s3tables:eu-central-1:123:bucket/a b+c~ü")
    assert asked.load(TABLE) is None
    asked.drop(TABLE)
    for work in (asked.verify, lambda: asked.commit([{"identifier": TABLE.identifier}])):
        with pytest.raises(MirrorError) as caught:
            work()
        assert caught.value.code is catalog_errors.SAID
    assert [line.partition(" ")[0] for line in proxy.asked] == [
        "GET",
        "GET",
        "DELETE",
        "GET",
        "POST",
    ]
    assert all("/v1/catalogs/123/" in line for line in proxy.asked[1:])
    assert verifier.admitted == ["AKIA1"] * 5


def test_a_busy_catalog_gets_another_signature_for_each_attempt(
    proxy: Proxy, account: Path, verifier: SignatureVerifier
) -> None:
    write_key(account)
    answers = iter([(503, {}), (200, CONFIG)])
    proxy.own = lambda _: next(answers, (404, {}))
    assert catalog(proxy).load(TABLE) is None
    assert verifier.admitted == ["AKIA1"] * 3


def test_a_redirect_does_not_take_the_token_elsewhere(account: Path) -> None:
    write_key(account, token=TOKEN)
    with answering(body=b'{"defaults": {}}') as other, answering() as server:
        server.status, server.location = 302, f"{other.url}/v1/config"
        RestCatalog(CatalogAccess(server.url, signer=signer_of(SERVICE, REGION))).verify()
        assert all(headers["X-Amz-Security-Token"] == TOKEN for _, headers, _ in server.requests)
        assert other.requests
        names = {name.lower() for _, headers, _ in other.requests for name in headers}
        assert not {"authorization", "x-amz-security-token"} & names


@pytest.mark.parametrize(
    ("accounts", "scope", "why"),
    [
        (
            {"AKIA1": ("another", TOKEN)},
            (SERVICE, REGION),
            "The request signature we calculated does not match the signature you provided.",
        ),
        (
            {"AKIA2": (SECRET, TOKEN)},
            (SERVICE, REGION),
            "The security token included in the request is invalid. (UnrecognizedClientException)",
        ),
        ({"AKIA1": (SECRET, TOKEN)}, ("s3tables", REGION), "Credential should be scoped to"),
        ({"AKIA1": (SECRET, TOKEN)}, (SERVICE, "eu-west-1"), "Credential should be scoped to"),
    ],
)
def test_a_signature_that_is_refused_is_told_without_a_secret(
    proxy: Proxy,
    account: Path,
    verifier: SignatureVerifier,
    accounts: dict[str, tuple[str, str]],
    scope: tuple[str, str],
    why: str,
) -> None:
    write_key(account, token=TOKEN)
    verifier.accounts, (verifier.service, verifier.region) = accounts, scope
    text = refused(proxy, catalog(proxy))
    path = "GET /v1/config?warehouse=123"
    assert text.startswith(f"[M826] the Iceberg catalog URL refuses the signature of {path}: {why}")
    assert "sigv4_region" in text
    # Another key may have come meanwhile, so it was tried twice.
    assert len(proxy.asked) == 2
    files = TableFiles(LocalStorage(str(account.parent)), f"file://{account.parent}")
    own = IcebergSettings(catalog=proxy.url, sigv4_service=SERVICE, sigv4_region=REGION)
    publisher = catalog_publisher(own, files)
    assert publisher is not None
    with pytest.raises(MirrorError) as caught:
        publisher.verify()
    assert str(caught.value).startswith("[M822] the job cannot use its Iceberg catalog: [M826] ")
    verifier.accounts, verifier.service, verifier.region = (
        {"AKIA1": (SECRET, TOKEN)},
        SERVICE,
        REGION,
    )
    proxy.own = lambda _: (200, CONFIG)
    publisher = catalog_publisher(own, files)
    assert publisher is not None
    publisher.verify()


@pytest.mark.parametrize("minutes", [-20, 20])
def test_a_wrong_clock_is_told_and_not_tried_again(
    proxy: Proxy, account: Path, verifier: SignatureVerifier, minutes: int
) -> None:
    write_key(account)
    verifier.ahead = dt.timedelta(minutes=minutes)
    word = "expired" if minutes > 0 else "not yet current"
    text = refused(proxy, catalog(proxy))
    assert text.startswith(
        "[M828] the Iceberg catalog URL refuses GET /v1/config?warehouse=123, as signed at a wrong "
        f"time: Signature {word}: "
    )
    assert len(proxy.asked) == 1


def test_a_session_that_has_ended_is_looked_for_once_more(
    proxy: Proxy, account: Path, verifier: SignatureVerifier
) -> None:
    verifier.accounts = {"ASIA1": (SECRET, TOKEN), "ASIA2": ("next", "t2")}
    write_key(account, "ASIA1", token=TOKEN)
    asked = catalog(proxy)
    assert asked.load(TABLE) is None
    verifier.expired = {TOKEN}
    assert refused(proxy, asked).startswith(
        "[M827] the job cannot sign GET /namespaces/a%20b%1F%C3%BC%2Fc%2Bd~e/tables/100%25_%27t "
        "for the Iceberg catalog URL with valid AWS credentials: The security token included in "
        "the request is expired (ExpiredTokenException); give them in its environment"
    )
    # As a program that writes the profile does.
    write_key(account, "ASIA2", "next", "t2")
    assert asked.load(TABLE) is None
    assert verifier.admitted == ["ASIA1", "ASIA1", "ASIA2"]


def test_credentials_that_end_are_renewed_before(
    proxy: Proxy, account: Path, verifier: SignatureVerifier
) -> None:
    verifier.accounts = {f"ASIA{number}": (SECRET, TOKEN) for number in (1, 2)}
    soon = (dt.datetime.now(dt.UTC) + dt.timedelta(minutes=2)).isoformat()
    later = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=2)).isoformat()
    count = account.with_name("count")
    write_program(
        account,
        f"import json, pathlib\ncount = pathlib.Path({str(count)!r})\n"
        "number = len(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text('x' * number)\n"
        f"ends = {soon!r} if number == 1 else {later!r}\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'ASIA{number}', 'Expiration': ends,"
        f" 'SecretAccessKey': {SECRET!r}, 'SessionToken': {TOKEN!r}}}))",
    )
    asked = catalog(proxy)
    for _ in range(2):
        assert asked.load(TABLE) is None
    assert verifier.admitted == ["ASIA2"] * 3
    assert count.read_text() == "xx"


def test_an_account_without_credentials_is_told(proxy: Proxy, account: Path) -> None:
    doing = "GET /v1/config?warehouse=123"
    text = refused(proxy, catalog(proxy))
    facts = {"doing": doing, "catalog": "URL"}
    assert text == shown(catalog_errors.CREDENTIALS, **facts, why="none are found")
    account.write_text("[profile other]")
    write_program(account, f"import sys\nsys.exit({SECRET!r})")
    said = "the program of credential_process fails; what it says may be a secret"
    assert refused(proxy, catalog(proxy)) == shown(catalog_errors.CREDENTIALS, **facts, why=said)
    assert proxy.asked == []


def test_a_server_of_credentials_that_is_away_may_come_back(
    proxy: Proxy, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = account.with_name("token")
    token.write_text("a jwt")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/mirror")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    asked = catalog(proxy)
    with pytest.raises(CatalogAway) as caught:
        asked.load(TABLE)
    assert caught.value.code is catalog_errors.CREDENTIALS
    assert "Could not connect to the endpoint URL" in str(caught.value)
    # It comes back with the next turn.
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE")
    write_key(account)
    assert asked.load(TABLE) is None
