"""The client of REST catalogs: logins, refusals, and answers that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog.rest import RestCatalog as PyCatalog

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_errors
from stream_jobs.iceberg.catalog_login import CatalogAccess, CatalogLogin, signer_of
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.rest_catalog import CatalogAway, CatalogName, RestCatalog
from stream_jobs.iceberg.table_files import TableFiles
from tests.stream.sink.test_schema_registry import answering
from tests.stream_jobs.catalog_server import KEY, SECRET, WAREHOUSE, Proxy, serve_catalog

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tests.stream_jobs.catalog_server import CatalogServer

NAME = CatalogName(("shop",), "orders")
LOGIN = CatalogLogin(client_id=KEY, client_secret=SECRET, scope="catalog")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogServer]:
    yield from serve_catalog(tmp_path_factory.mktemp("catalog"))


@pytest.fixture
def proxy(server: CatalogServer) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


def asked(url: str, login: CatalogLogin = LOGIN, warehouse: str = WAREHOUSE) -> str:
    """Return the error of a request."""
    with pytest.raises(MirrorError) as caught:
        RestCatalog(CatalogAccess(url, warehouse, login)).verify()
    return str(caught.value)


def test_a_wrong_login_is_told(server: CatalogServer) -> None:
    wrong = CatalogLogin(client_id=KEY, client_secret="wrong")
    assert asked(server.url, wrong) == (
        f"[M816] the Iceberg catalog {server.url} refuses the login for POST {server.url}"
        "/v1/oauth/tokens: Invalid client credentials (invalid_client); give a valid token (token, "
        "token_file, token_command) or login (client_id, client_secret) in [iceberg]"
    )
    assert asked(server.url, CatalogLogin(token="wrong")) == (
        f"[M816] the Iceberg catalog {server.url} refuses the login for GET "
        "/namespaces: Bearer token is invalid or expired (NotAuthorizedException); give a valid "
        "token (token, token_file, token_command) or login (client_id, client_secret) in [iceberg]"
    )


def test_an_account_without_rights_is_told_what_it_lacks(server: CatalogServer) -> None:
    assert asked(server.url, CatalogLogin()) == (
        f"[M817] the Iceberg catalog {server.url} does not permit GET /namespaces: Access Denied. "
        "(ForbiddenException); grant this right to the account of the job: it creates namespaces, "
        "and creates, changes and drops its tables"
    )


def test_a_catalog_that_verifies_signatures_itself_admits_the_right_ones_alone(
    server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    signer = signer_of("s3tables", "us-east-1")
    catalog = RestCatalog(CatalogAccess(server.url, WAREHOUSE, signer=signer))
    fields = [{"id": 1, "name": "id", "required": False, "type": "long"}]
    name = CatalogName(("signed", "twice"), "orders")
    schema = {"type": "struct", "schema-id": 0, "fields": fields}
    assert catalog.stage(name, {"schema": schema}) is not None
    assert catalog.load(name) is None
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert signer is not None
    signer.renew()
    with pytest.raises(MirrorError) as caught:
        catalog.load(name)
    assert caught.value.code is catalog_errors.SIGNATURE


def test_an_unknown_warehouse_is_told(server: CatalogServer) -> None:
    text = asked(server.url, warehouse="nope")
    assert text.startswith(
        f"[M818] the Iceberg catalog {server.url} refuses GET /namespaces: table bucket nope not "
        "found"
    )


def test_a_table_of_an_unknown_namespace_is_none(server: CatalogServer) -> None:
    assert RestCatalog(CatalogAccess(server.url, WAREHOUSE, LOGIN)).load(NAME) is None


def test_a_token_in_a_file_is_read_once_more_when_it_is_refused(
    server: CatalogServer, proxy: Proxy, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(server.token() + "\n")
    catalog = RestCatalog(CatalogAccess(proxy.url, WAREHOUSE, CatalogLogin(token_file=file)))
    catalog.verify()
    # The catalog does not know it any more, until the file has another one.
    expired = {"error": {"message": "token has expired", "type": "NotAuthorizedException"}}
    answers = iter([(401, expired)])
    proxy.own = lambda _: next(answers, None)
    catalog.verify()
    file.write_text("wrong")
    answers = iter([(401, expired)])
    with pytest.raises(MirrorError) as caught:
        catalog.verify()
    assert caught.value.code is catalog_errors.LOGIN
    file.unlink()
    assert "iceberg.token_file" in asked(proxy.url, CatalogLogin(token_file=file))


def test_a_token_that_permits_nothing_any_more_is_read_once_more(
    server: CatalogServer, proxy: Proxy, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    proxy.token = server.token()
    # By the token: what it permits, which depends on the catalog.
    denied = {"error": {"message": "no privilege", "type": "ForbiddenException"}}
    ended: set[str] = set()
    proxy.refuses = lambda request, _: (
        (403, denied) if request.headers["Authorization"] in ended else None
    )
    catalog = RestCatalog(CatalogAccess(proxy.url, WAREHOUSE, CatalogLogin(token_file=file)))
    catalog.verify()
    ended.add("Bearer first")
    file.write_text("second")
    catalog.verify()
    # The same one is no better, so nothing is asked twice.
    ended.add("Bearer second")
    before = len(proxy.asked)
    with pytest.raises(MirrorError) as caught:
        catalog.verify()
    assert caught.value.code is catalog_errors.RIGHTS
    assert len(proxy.asked) == before + 1


def test_a_command_is_not_called_for_each_thing_that_is_not_permitted(
    server: CatalogServer, proxy: Proxy, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    command = ("sh", "-c", f"echo >> {calls}; echo {server.token()}")
    catalog = RestCatalog(CatalogAccess(proxy.url, WAREHOUSE, CatalogLogin(token_command=command)))
    catalog.verify()
    proxy.own = lambda _: (403, {})
    for _ in range(5):
        with pytest.raises(MirrorError):
            catalog.verify()
    assert calls.read_text() == "\n\n"


def test_a_command_writes_the_token_and_a_failure_hides_what_it_said(
    server: CatalogServer,
) -> None:
    command = ("sh", "-c", f"echo {server.token()}")
    RestCatalog(CatalogAccess(server.url, WAREHOUSE, CatalogLogin(token_command=command))).verify()
    text = asked(server.url, CatalogLogin(token_command=("sh", "-c", "echo s3cret; exit 7")))
    assert text.startswith("[M816]")
    assert "iceberg.token_command: sh ended with exit code 7" in text
    assert "s3cret" not in text


def test_a_secret_in_a_file_is_read(server: CatalogServer, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    login = CatalogLogin(client_id=KEY, client_secret_file=file)
    RestCatalog(CatalogAccess(server.url, WAREHOUSE, login)).verify()
    file.unlink()
    assert "iceberg.client_secret_file" in asked(server.url, login)


def test_a_redirect_does_not_take_the_token_elsewhere() -> None:
    with answering(body=b'{"defaults": {}}') as other, answering() as server:
        server.status, server.location = 302, f"{other.url}/v1/config"
        RestCatalog(CatalogAccess(server.url, WAREHOUSE, CatalogLogin(token="secret"))).verify()
        assert all(headers["Authorization"] == "Bearer secret" for _, headers, _ in server.requests)
        assert other.requests
        assert not any("Authorization" in headers for _, headers, _ in other.requests)


def test_a_request_that_a_busy_catalog_has_not_begun_is_sent_again(proxy: Proxy) -> None:
    answers: Iterator[tuple[int, Any]] = iter([(503, {}), (429, {})])
    proxy.own = lambda asked: next(answers, None) if "namespaces" in asked else None
    RestCatalog(CatalogAccess(proxy.url, WAREHOUSE, LOGIN)).verify()
    proxy.own = lambda asked: (503, {}) if "namespaces" in asked else None
    text = asked(proxy.url)
    assert text.startswith(
        f"[M815] the Iceberg catalog {proxy.url} does not answer GET /namespaces: HTTP 503; check "
        "whether the catalog runs"
    )


@pytest.mark.parametrize("answer", [(200, []), (200, {"pages": 7})])
def test_a_server_that_is_no_catalog_is_told(proxy: Proxy, answer: tuple[int, Any]) -> None:
    proxy.own = lambda asked: answer if "config" in asked else None
    assert asked(proxy.url).startswith(
        f"[M818] the Iceberg catalog {proxy.url} refuses GET /v1/config?warehouse=warehouse: the "
        "answer is not that of an Iceberg REST catalog"
    )


FORBIDDEN = {"error": {"message": "no right", "type": "ForbiddenException"}}


def start(
    url: str,
    folder: Path,
    login: CatalogLogin = LOGIN,
    databases: Collection[str] = (),
    namespace: str = "{database}",
) -> None:
    """Try the catalog as the start of a job does."""
    files = TableFiles(LocalStorage(str(folder)), f"file://{folder}")
    catalog = RestCatalog(CatalogAccess(url, WAREHOUSE, login))
    tables = [(database, "orders") for database in databases]
    publisher = CatalogPublisher(catalog, files, namespace, replaces_foreign=False)
    assert publisher.verify(tables, threads=2) is None


def refused_start(url: str, folder: Path, *databases: str) -> str:
    with pytest.raises(MirrorError) as caught:
        start(url, folder, databases=databases)
    assert caught.value.code.group is catalog_errors.UNUSABLE
    return str(caught.value)


def test_the_start_of_a_job_tries_the_catalog_and_outlasts_one_that_is_away(
    proxy: Proxy, tmp_path: Path
) -> None:
    start(proxy.url, tmp_path)
    with pytest.raises(MirrorError) as caught:
        start(proxy.url, tmp_path, CatalogLogin())
    assert str(caught.value) == (
        "[M822] the job cannot use its Iceberg catalog: [M817] the Iceberg catalog "
        f"{proxy.url} does not permit GET /namespaces: Access Denied. (ForbiddenException); "
        "correct [iceberg] in the configuration, or the rights of the account; without "
        "iceberg.catalog, the Iceberg tables are found by their paths alone"
    )
    assert caught.value.code is catalog_errors.REFUSED_ALL
    proxy.reaches = lambda _: False
    start(proxy.url, tmp_path, databases=["shop"])
    with pytest.raises(CatalogAway):
        RestCatalog(CatalogAccess(proxy.url, WAREHOUSE, LOGIN)).verify()


def test_the_start_of_a_job_stages_a_table_and_leaves_nothing_but_its_namespace(
    server: CatalogServer, proxy: Proxy, tmp_path: Path
) -> None:
    start(proxy.url, tmp_path, databases=["staged"])
    start(proxy.url, tmp_path, namespace="staged.literal")
    found = [asked for asked in proxy.asked if asked.endswith("/tables")]
    # The first request finds that there is no namespace.
    path = f"POST /v1/{WAREHOUSE}/namespaces/staged"
    assert found == [f"{path}/tables"] * 2 + [f"{path}%1Fliteral/tables"] * 2
    assert not proxy.commits()
    catalog = PyCatalog("test", uri=server.url, warehouse=WAREHOUSE, token=server.token())
    assert catalog.list_tables("staged") == catalog.list_tables(("staged", "literal")) == []


def test_the_start_of_a_job_names_the_right_that_is_missing(proxy: Proxy, tmp_path: Path) -> None:
    start(proxy.url, tmp_path, databases=["started"])
    proxy.own = lambda asked: (403, FORBIDDEN) if asked.endswith("/tables") else None
    assert "[M817] the Iceberg catalog" in refused_start(proxy.url, tmp_path, "denied")
    assert refused_start(proxy.url, tmp_path, "denied", "started") == (
        "[M822] the job cannot use its Iceberg catalog: [M817] the Iceberg catalog "
        f"{proxy.url} does not permit POST /namespaces/denied/tables: no right "
        "(ForbiddenException); and it has no table of the mirror; correct "
        "[iceberg] in the configuration, or the rights of the account; without iceberg.catalog, "
        "the Iceberg tables are found by their paths alone"
    )
    # Nor does it let anybody look.
    proxy.own = lambda asked: (403, FORBIDDEN) if "/tables" in asked else None
    assert "no right (ForbiddenException); correct [iceberg]" in (
        refused_start(proxy.url, tmp_path, "denied")
    )
    proxy.own = lambda asked: (
        (403, FORBIDDEN) if asked.startswith("POST") and asked.endswith("/namespaces") else None
    )
    assert "does not permit POST /namespaces: no right" in (
        refused_start(proxy.url, tmp_path, "missing")
    )
    # A table of another database goes on.
    start(proxy.url, tmp_path, databases=["missing", "started"])


def test_the_start_of_a_job_names_a_catalog_that_knows_no_version_3(
    proxy: Proxy, tmp_path: Path
) -> None:
    said = {"error": {"message": "unsupported format", "type": "BadRequestException"}}
    proxy.refuses = lambda _, body: (400, said) if b'"format-version":"3"' in body else None
    assert refused_start(proxy.url, tmp_path, "started").startswith(
        f"[M822] the job cannot use its Iceberg catalog: [M818] the Iceberg catalog {proxy.url} "
        "refuses POST /namespaces/started/tables: it makes tables of format version 2, and does "
        "not accept those of version 3; correct [iceberg]"
    )
    # One that stages no table at all says nothing of version 3.
    proxy.refuses = lambda _, body: (400, said) if b'"stage-create":true' in body else None
    start(proxy.url, tmp_path, databases=["started"])


@pytest.mark.parametrize(("status", "count"), [(409, 1), (403, 17)])
def test_the_start_of_a_job_goes_on_where_tables_may_be_made(
    proxy: Proxy, tmp_path: Path, status: int, count: int
) -> None:
    # Another process stages the same; or the namespaces that are not tried may be others.
    said = {"error": {"message": "not this one", "type": "Other"}}
    proxy.own = lambda asked: (status, said) if asked.startswith("POST /v1/ware") else None
    databases = [f"d{number}" for number in range(count)]
    start(proxy.url, tmp_path, databases=databases)
    if status == 403:
        assert "[M817]" in refused_start(proxy.url, tmp_path, *databases[:16])
