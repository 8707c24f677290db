"""Catalogs of AWS: requests are signed, and tables are made at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from stream_jobs.iceberg.catalog_login import signer_of
from tests.stream_jobs.catalog_server import WAREHOUSE
from tests.stream_jobs.iceberg.lake import Lake, refused
from tests.stream_jobs.signature_verifier import SignatureVerifier
from verification.foreign.table_choice import read_choice

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler


def test_a_catalog_of_aws_gets_requests_that_are_signed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {
        "AWS_ACCESS_KEY_ID": "AKIA1",
        "AWS_SECRET_ACCESS_KEY": "s3cret",
        "AWS_SESSION_TOKEN": "t",
    }
    for name, value in key.items():
        monkeypatch.setenv(name, value)
    verifier = SignatureVerifier("glue", "eu-central-1", {"AKIA1": ("s3cret", "t")})
    lake.proxy.refuses, lake.proxy.token = verifier.refusal, lake.server.token()
    lake.restart(signer=signer_of("glue", "eu-central-1"))
    (sample,) = lake.samples
    assert lake.publish() == [None]
    file = sample.append(range(10))
    sample.kill(**{file.path: [0, 3]})
    assert lake.publish() == [None]
    assert lake.agree() == 8
    lake.catalog().drop_table(("lake", f"{lake.namespace}_shop", "t0"))
    assert lake.commit() == [None]
    assert lake.agree() == 8
    options = f"warehouse={WAREHOUSE}&sigv4_service=glue&sigv4_region=eu-central-1"
    place = f"iceberg-rest:{lake.proxy.url}?table=lake.{lake.namespace}_shop.t0&{options}"
    target = read_choice(f"shop.t0={place}").opened()
    assert target.refresh() == f"snapshot {sample.table.snapshot.version}"
    assert verifier.admitted == ["AKIA1"] * len(lake.proxy.asked)
    # A server that wants other signatures gets none of it.
    verifier.accounts = {"AKIA1": ("another", "t")}
    sample.append(range(10, 20))
    (problem,) = lake.publish()
    assert refused(problem).startswith("[M826]")
    assert len(lake.read().scan().to_arrow()) == 8


def like_glue(request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, Any] | None:
    """Answer as AWS Glue does to what it cannot; the answers were measured by others."""
    asked = f"{request.command} {request.path}"
    if asked.endswith("/transactions/commit"):
        kind = "com.amazon.coral.service#UnknownOperationException"
        return 200, {"Output": {"__type": kind}, "Version": "1.0"}
    why = ""
    if asked.startswith("POST") and asked.endswith("/tables"):
        wanted = orjson.loads(body)
        if wanted["stage-create"]:
            why = "Malformed request: Stage create is not supported"
        elif not wanted.get("location"):
            why = "Location information cannot be null while creating an iceberg table"
    return (400, {"error": {"message": why, "type": "InvalidInputException"}}) if why else None


def without_location(asked: str, body: bytes) -> bytes:
    """SeaweedFS takes no location outside of its buckets."""
    if not asked.endswith("/tables"):
        return body
    wanted = orjson.loads(body)
    assert wanted.pop("location").endswith("/catalog")
    return orjson.dumps(wanted)


def test_a_catalog_that_cannot_stage_tables_makes_them_at_once(pair: Lake) -> None:
    pair.proxy.refuses, pair.proxy.passes = like_glue, without_location
    for sample in pair.samples:
        sample.append(range(10))
    assert pair.publish() == [None, None]
    assert [pair.agree(0), pair.agree(1)] == [10, 10]
    for sample in pair.samples:
        sample.append(range(10, 20))
    assert pair.publish(cut=1, cuts={1: 2_000_000_000_000}) == [None, None]
    assert [pair.agree(0), pair.agree(1)] == [20, 20]
    assert all("cut_1" in pair.read(number).metadata.refs for number in (0, 1))


def test_a_table_that_was_made_at_once_and_no_further_is_none(lake: Lake) -> None:
    lake.samples[0].append(range(10))
    lake.proxy.refuses, lake.proxy.passes = like_glue, without_location
    said = {"error": {"message": "version 3 is not supported", "type": "BadRequest"}}
    is_commit = re.compile("POST .*/tables/t0").fullmatch
    lake.proxy.own = lambda asked: (400, said) if is_commit(asked) else None
    assert "version 3 is not supported (BadRequest)" in refused(lake.publish()[0])
    assert any(asked.startswith("DELETE") for asked in lake.proxy.asked)
    assert not lake.catalog().list_tables(("lake", f"{lake.namespace}_shop"))
    # A process that died there leaves one, which the next one replaces.
    lake.proxy.own = lambda _: None
    lake.proxy.reaches = lambda asked: not is_commit(asked)
    assert refused(lake.publish()[0]).startswith("[M815]")
    assert len(lake.catalog().list_tables(("lake", f"{lake.namespace}_shop"))) == 1
    lake.proxy.reaches = lambda _: True
    lake.restart()
    assert lake.commit() == [None]
    assert lake.agree() == 10
