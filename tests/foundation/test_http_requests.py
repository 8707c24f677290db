"""Requests that reach no server."""

from __future__ import annotations

from urllib.request import Request, build_opener

import pytest

from connector.foundation.http_requests import NoAnswer, ask


@pytest.mark.parametrize("host", ["registry..example", "r" * 64])
def test_a_host_that_can_be_no_name_gives_no_answer(host: str) -> None:
    with pytest.raises(NoAnswer, match="label"):
        ask(build_opener(), Request(f"http://{host}/"), {}, 1.0, 10)
