"""Clients of buckets and containers: their credentials, retries and timeouts.

obstore reads accounts, keys, tokens, endpoints and regions from the environment, by the names of
each cloud: AWS_ACCESS_KEY_ID, AZURE_STORAGE_ACCOUNT_KEY, GOOGLE_APPLICATION_CREDENTIALS and others.
Without any, it asks the machine or pod for its identity. It does not know the files in ~/.aws, with
their profiles, roles and programs that print credentials; those are left to boto3.

https://developmentseed.org/obstore/latest/authentication/
https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
"""

import os
from datetime import timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

Client = S3Store | AzureStore | GCSStore


class CredentialsError(ValueError):
    """What the environment says of accounts and endpoints is not enough, or wrong."""


# Of a request, with the first attempt.
ATTEMPTS = 5
# What says that credentials come from elsewhere than from files of AWS.
_OWN_CREDENTIALS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


@cache
def client(scheme: str, host: str) -> Client:
    """Return the client of this process for a bucket or container; threads share it.

    Raises CredentialsError.
    """
    try:
        return _client(scheme, host)
    except (BaseError, OSError, ValueError) as error:
        raise CredentialsError(str(error).partition("\n")[0]) from error


def _client(scheme: str, host: str) -> Client:
    options: Any = {"timeout": "5min", "read_timeout": "60s", "allow_http": True}
    attempts = int(os.environ.get("AWS_MAX_ATTEMPTS", ATTEMPTS))
    retries: Any = {"max_retries": attempts - 1, "retry_timeout": timedelta(seconds=60)}
    if scheme == "gs":
        return GCSStore(host, client_options=options, retry_config=retries)
    if scheme == "az":
        return AzureStore(host, client_options=options, retry_config=retries)
    if scheme == "abfss":
        url = f"abfss://{host}"
        return AzureStore.from_url(url, client_options=options, retry_config=retries)
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        options["root_certificate"] = Path(bundle).read_bytes()
    config, provider = _amazon(host)
    return S3Store(
        host,
        config=config,
        client_options=options,
        retry_config=retries,
        credential_provider=provider,
    )


def _amazon(bucket: str) -> tuple[Any, Any]:
    """Return the configuration of a bucket of S3, and who gives its credentials."""
    # Many servers do not know requests that delete many objects.
    config: Any = {"disable_bulk_delete": True}
    has_endpoint = any(name in os.environ for name in _ENDPOINTS)
    provider = None
    if not any(name in os.environ for name in _OWN_CREDENTIALS) and find_spec("boto3"):
        from stream_jobs.delta import aws_profile  # noqa: PLC0415  # it takes a third of a second

        provider, endpoint = aws_profile.provider_and_endpoint()
        if endpoint and not has_endpoint:
            config["endpoint"], has_endpoint = endpoint, True
    # Certificates of AWS are of one name below that of the region.
    config["virtual_hosted_style_request"] = not has_endpoint and "." not in bucket
    return config, provider
